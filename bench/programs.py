"""Benchmark of reading whole images of many small chunks from an .ozx file or a directory, by several programs."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import datasets
import program_tasks
from figures import Table
from measuring import Group, in_worker, take_turns

#: Name of a row: the argument `way` of the task, and whether the task reads the directory.
WAYS = {
    "zarr-python, ozx.open": ("open", False),
    "zarr-python, ozx://, ozx.use_pipeline()": ("fsspec", False),
    "zarr-python, OzxStore, its own pipeline": ("store", False),
    "zarr-python, directory": ("directory", True),
    "xarray": ("xarray", False),
    "dask, threads, blocks of 1024 × 1024": ("dask", False),
    "napari's layers": ("napari", False),
    "tensorstore, .ozx": ("tensorstore zip", False),
    "tensorstore, directory": ("tensorstore", True),
    "zarr-python with the zarrs pipeline, directory": ("zarrs", True),
    "zarrista, .ozx": ("zarrista zip", False),
    "zarrista, directory": ("zarrista", True),
    "newest zarr-python, fused pipeline, directory": ("fused", True),
    "newest zarr-python, ozx.open": ("open", False),
}
#: This environment variable names a Python with ozx and the newest zarr-python, whose fused pipeline needs Python 3.12.
NEWEST = "OZX_NEWEST_ZARR"
LAYOUTS = {
    "c64": "chunks of 64 × 64",
    "c256": "chunks of 256 × 256",
    "s1024": "chunks of 64 × 64 in shards of 1024 × 1024",
}


def bench_programs(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    newest = os.environ.get(NEWEST)
    missing = [name for name in ("zarrs", "zarrista") if not find_spec(name)] + [NEWEST] * (newest is None)
    ways = {
        name: way
        for name, way in WAYS.items()
        if way[0].split()[0] not in missing and (newest or not name.startswith("newest"))
    }
    note = f"Not installed, so not measured: {', '.join(missing)}." if missing else ""
    tables = []
    for layout, words in list(LAYOUTS.items())[-1 if quick else 0 :]:
        root = datasets.make_small_chunks(folder, layout, quick=quick)
        packed = datasets.archive_of(root)
        measures = {
            name: in_worker(
                "program_tasks.whole_image",
                way,
                str(root if is_directory else packed),
                str(root),
                python=newest if name.startswith("newest") else None,
            )
            for name, (way, is_directory) in ways.items()
        }
        shape = program_tasks.shape_of(str(root))
        # The slow programs take ten seconds a round.
        rows = take_turns(measures, None, min(rounds, 3))
        size = 2 * shape[0] * shape[1] * shape[2]
        title = f"read {' × '.join(map(str, shape))} (uint16, zstd) whole, {words}; up to 3 rounds"
        goal, ratios = "≤ 1.2 × tensorstore's time on a directory", {"tensorstore, directory": 1 / 1.2}
        tables.append(Table(title, rows, goal, bytes=size, wanted_ratios=ratios, note=note))
    return tables


GROUPS = {"programs": Group(bench_programs, ("zarr", "fsspec", "xarray", "dask", "tensorstore", "zarrs", "zarrista"))}
