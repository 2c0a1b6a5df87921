"""Benchmark of validating all metadata of a plate, against opening the plate by ome-zarr-models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import datasets
from figures import Table
from measuring import Group, in_worker, remove, take_turns


def bench_validate(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Measure the validation of a plate in a file and in a directory, and ome-zarr-models."""
    root, documents = datasets.make_plate(folder, quick=quick)
    packed = f"{root}.ozx"
    remove(packed)
    subprocess.run([sys.executable, "-m", "ozx", "pack", str(root), packed, "--no-sync", "-q"], check=True)
    measures = {
        "ozx.validate, .ozx": in_worker("validating_tasks.ozx_validate", packed, "twice"),
        "ozx.validate, .ozx, without the second opinion": in_worker("validating_tasks.ozx_validate", packed, "once"),
        "ozx.validate, directory": in_worker("validating_tasks.ozx_validate", str(root), "twice"),
        "ome-zarr-models open_ome_zarr, directory": in_worker("validating_tasks.open_by_models", str(root)),
    }
    # The peer takes half a minute; a few rounds are enough to show a factor of ten.
    rows = take_turns(measures, None, min(rounds, 3))
    title = f"validate a plate of 384 wells × 4 fields, {documents:,} metadata documents"
    goal = "≥ 10 × faster than ome-zarr-models, ≥ 20 × without the second opinion (a check by ome-zarr-models)"
    ratios = {"ome-zarr-models open_ome_zarr, directory": 10}
    return [Table(title, rows, goal, entries=documents, show_memory=True, wanted_ratios=ratios)]


GROUPS = {"validate": Group(bench_validate, ("ome-zarr-models", "zarr", "pydantic"))}
