"""Benchmark of HTTP: ozx and fsspec's ZIP file system read a file; obstore and fsspec read a directory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets
from figures import Table
from measuring import HERE, Group, in_worker, take_turns

_PEER = "zarr ObjectStore (obstore), directory"
WAYS = {
    "ozx.open": "ozx",
    "OzxStore, zarr's own pipeline": "store",
    _PEER: "obstore",
    "zarr FsspecStore (aiohttp), directory": "fsspec",
    "fsspec ZipFileSystem": "zip",
}
_ROUNDS = 5
_DELAYS = {0.0: "no delay", 0.02: "20 ms a request", 0.1: "100 ms a request"}


def bench_remote(folder: Path, *, quick: bool, rounds: int) -> Iterator[Table]:
    plain = datasets.make_images(folder, quick=quick)
    archive = datasets.archive_of(plain)
    for delay, words in list(_DELAYS.items())[: 1 if quick else None]:
        with serving(folder, delay) as address:
            for name, what in {
                "first": "open, read one chunk of 128 KiB",
                "chunks": "8 MiB in 64 chunks, zstd",
                "shards": "8 MiB in one shard, zstd",
                "inner": "a random inner chunk of 128 KiB",
            }.items():
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
                    if not (name == "inner" and way == "zip")
                }
                rows = take_turns(measures, None, min(rounds, _ROUNDS))
                note = "fsspec's ZIP file system reads ahead, and keeps what it has read." if name != "inner" else ""
                ratios = {_PEER: 2 if delay and name == "chunks" else 1} if name in ("chunks", "shards") else {}
                goal = {
                    1: "not slower than obstore reading a directory",
                    2: "twice as fast as obstore reading a directory",
                }.get(ratios.get(_PEER), "")
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


GROUPS = {"remote": Group(bench_remote, ("zarr", "obstore", "fsspec", "aiohttp"))}
