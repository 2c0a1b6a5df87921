"""Benchmark of training: crops per second of a `DataLoader`, and a soak: ``python bench/training.py --soak 100000``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import datasets
from figures import Table
from measuring import Group, in_worker, take_turns
from remote import serving
from training_tasks import soak

WAYS = {
    "ozx.torch": "ozx",
    "tensorstore, directory": "tensorstore",
    "zarr LocalStore": "local",
    "zarr ZipStore": "zip",
}
REMOTE_WAYS = {
    "ozx.torch": "ozx",
    "tensorstore, directory": "tensorstore",
    "zarr ObjectStore (obstore), directory": "obstore",
}
_ROUNDS = 3


def bench_training(folder: Path, *, quick: bool, rounds: int) -> Iterator[Table]:
    if find_spec("torch") is None:
        return
    plain = datasets.make_training(folder, quick=quick)
    archive, rounds = datasets.archive_of(plain), min(rounds, _ROUNDS)
    counts = (1,) if quick else (1, 2, 8)
    for workers in counts:
        measures = {
            name: in_worker(
                "training_tasks.crops",
                way,
                str(plain if way in ("local", "tensorstore") else archive),
                str(plain),
                str(workers),
            )
            for name, way in WAYS.items()
        }
        yield Table(
            f"a crop of 2 × 256² for training, shards of 32 MiB, {workers} worker{'s' * (workers > 1)}",
            take_turns(measures, None, rounds),
            "≥ 20 × faster than ZipStore, not slower than tensorstore on a directory",
            wanted_ratios={"zarr ZipStore": 20, "tensorstore, directory": 1},
        )
    with serving(folder, 0.0 if quick else 0.02) as address:
        for workers in counts:
            measures = {
                name: in_worker(
                    "training_tasks.crops",
                    way,
                    f"{address}/{(archive if way == 'ozx' else plain).name}",
                    str(plain),
                    str(workers),
                )
                for name, way in REMOTE_WAYS.items()
            }
            title = f"a crop of 2 × 256² for training over HTTP, 20 ms a request, {workers} worker{'s' * (workers > 1)}"
            yield Table(title, take_turns(measures, None, rounds), "not slower than tensorstore on a directory")


GROUPS = {"training": Group(bench_training, ("torch", "zarr", "tensorstore", "obstore"))}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ozx-training-") as name:
        soak(int(sys.argv[sys.argv.index("--soak") + 1]), Path(name))
