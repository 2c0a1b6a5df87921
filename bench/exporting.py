"""Benchmark of exporting all levels of an image as a pyramidal OME-TIFF, against zarr-python with tifffile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import Group, in_worker, remove, take_turns

_ROUNDS = 3


def bench_export(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    shape = (2, 2, 3, 300, 400) if quick else (2, 2, 16, 2048, 2048)
    tiff = datasets.make_stack_tiff(folder, shape)
    source, plain, out = folder / "exported.ozx", folder / "exported.ome.zarr", str(folder / "exported.ome.tif")
    for path in (source, plain):
        remove(str(path))
    # The levels of an OME-TIFF are smaller only in y and x; the peer writes the levels of its source unchanged.
    imported = ("import", str(tiff), str(source), "--downsample", "y,x")
    for command in (imported, ("unpack", str(source), str(plain))):
        subprocess.run([sys.executable, "-m", "ozx", *command, "--no-sync", "-q"], check=True)
    tables = []
    for compression in ("zlib", "none"):
        measures = {
            "ozx.export": in_worker("exporting_tasks.ozx_export", str(source), out, compression),
            "zarr (directory) + tifffile": in_worker("exporting_tasks.by_tifffile", str(plain), out, compression),
        }
        for measure in measures.values():
            remove(out)
            measure(Row(""))
            in_worker("exporting_tasks.compare", out, str(plain))(Row(""))
        rows = take_turns(measures, out, min(rounds, _ROUNDS))
        size = datasets.decoded_size(tiff)
        lengths = " × ".join(map(str, shape))
        title = f"export t, c, z, y, x = {lengths} (uint16) with all levels, {compression}; up to {_ROUNDS} rounds"
        tables.append(Table(title, rows, bytes=size, note=f"{os.cpu_count()} threads each."))
    for path in (out, str(source), str(plain)):
        remove(path)
    return tables


GROUPS = {"export": Group(bench_export, ("zarr", "tifffile", "imagecodecs"))}
