"""Benchmark of HTTP: ozx and fsspec's ZIP file system read a file; tensorstore, obstore and fsspec a directory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets
from figures import Table
from measuring import HERE, Group, in_worker, take_turns

_TENSORSTORE = "tensorstore, directory"
_PEER = "zarr ObjectStore (obstore), directory"
WAYS = {
    "ozx.open": "ozx",
    "OzxStore, zarr's own pipeline": "store",
    _TENSORSTORE: "tensorstore",
    _PEER: "obstore",
    "zarr FsspecStore (aiohttp), directory": "fsspec",
    "fsspec ZipFileSystem": "zip",
}
_ROUNDS = 5
_DELAYS = {0.0: "no delay", 0.02: "20 ms a request", 0.1: "100 ms a request"}


def bench_remote(folder: Path, *, quick: bool, rounds: int) -> Iterator[Table]:
    images, wells = datasets.make_images(folder, quick=quick), datasets.make_wells(folder, quick=quick)
    for delay, words in list(_DELAYS.items())[: 1 if quick else None]:
        with serving(folder, delay) as address:
            for name, what in {
                "first": "open, read one chunk of 128 KiB",
                "first chunks": "open, read 8 MiB in 64 chunks, zstd",
                "first shard": "open, read 8 MiB in one shard, zstd",
                "first inner": "open, read an inner chunk of 128 KiB",
                "well": "open a well of a plate, read 2 MiB in 4 chunks, zstd",
                "chunks": "8 MiB in 64 chunks, zstd",
                "shards": "8 MiB in one shard, zstd",
                "inner": "a random inner chunk of 128 KiB",
            }.items():
                plain = wells if name == "well" else images
                archive = datasets.archive_of(plain)
                measures = {
                    peer: in_worker(
                        "remote_tasks.read",
                        way,
                        f"{address}/{(archive if way in ('ozx', 'store', 'zip') else plain).name}",
                        str(plain),
                        name,
                    )
                    for peer, way in WAYS.items()
                    # fsspec's ZIP file system can only read forward: in a large shard, it reads all bytes before the
                    # chunk.
                    if not (name in ("inner", "first inner") and way == "zip")
                }
                rows = take_turns(measures, None, min(rounds, _ROUNDS))
                note = "" if "inner" in name else "fsspec's ZIP file system reads ahead, and keeps what it has read."
                ratios, goal = _wanted(name, is_far=delay > 0)
                yield Table(f"HTTP, {words}: {what}", rows, goal, show_requests=True, wanted_ratios=ratios, note=note)


@contextmanager
def serving(folder: Path, delay: float) -> Iterator[str]:
    """Serve a folder by a separate process; yield the address."""
    command = [sys.executable, str(HERE / "range_server.py"), str(folder), str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def _wanted(task: str, *, is_far: bool) -> tuple[dict[str, float], str]:
    """Return the least ratios of other programs' times to that of ozx, and the same in words."""
    if task in ("chunks", "shards"):
        if is_far and task == "chunks":
            return {_PEER: 2}, "twice as fast as obstore reading a directory"
        return {_PEER: 1}, "not slower than obstore reading a directory"
    if is_far and task != "inner":
        return {_TENSORSTORE: 1 / 1.1}, "≤ 1.1 × tensorstore's time on a directory"
    return {}, ""


GROUPS = {"remote": Group(bench_remote, ("zarr", "tensorstore", "obstore", "fsspec", "aiohttp"))}
