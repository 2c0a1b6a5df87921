"""Benchmarks of the store: reading, opening and writing by zarr, against ZipStore, LocalStore and tensorstore."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import Group, in_worker, remove, take_turns

WAYS = {
    "ozx.open": "ozx",
    "OzxStore, zarr's own pipeline": "store",
    "zarr ZipStore": "zip",
    "zarr LocalStore": "local",
    "tensorstore, zip": "tensorstore zip",  # 0.1.86 never returns from reading a shard in a ZIP file of any program
    "tensorstore, directory": "tensorstore",
    "no store: values at hand": "instant",
}
_TENSORSTORE = "≤ 1.2 × tensorstore's time on a directory"
_AS_TENSORSTORE = {"tensorstore, directory": 1 / 1.2}
_WRITE_ROUNDS = 3


def bench_read(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    plain = datasets.make_images(folder, quick=quick)
    archive = datasets.archive_of(plain)
    paths = {name: str(plain if way in ("local", "tensorstore") else archive) for name, way in WAYS.items()}
    # ZipStore reads the whole shard for each chunk, so it gets fewer reads.
    count = {"zip": 4}
    inner = {
        name: in_worker("store_tasks.inner_chunks", way, paths[name], str(plain), str(count.get(way, 200)))
        for name, way in WAYS.items()
        if way != "tensorstore zip"
    }
    goal = "≥ 150 × faster than ZipStore, ≥ 2 × faster than LocalStore; "
    goal += "bytes read ≤ 1.05 × (chunk of 131,072 bytes) + index"
    length = (8 if quick else 256) << 20
    tables = [
        Table(
            f"a random inner chunk of 128 KiB out of a shard of {length >> 20} MiB",
            take_turns(inner, None, rounds),
            goal,
            show_read=True,
            wanted_ratios={"zarr ZipStore": 150, "zarr LocalStore": 2},
        )
    ]
    kinds = {
        "raw": "chunks of 128 KiB, uncompressed",
        "packed": "chunks of 128 KiB, zstd",
        "sharded": "shards of 8 MiB, zstd",
    }
    for name, title in kinds.items():
        measures = {
            peer: in_worker("store_tasks.slices", way, paths[peer], str(plain), name)
            for peer, way in WAYS.items()
            if way != "tensorstore zip" or name != "sharded"
        }
        rows = take_turns(measures, None, rounds)
        goal = "≥ 1.3 × faster than ZipStore, ≥ 1.8 × faster than LocalStore"
        ratios = {"zarr ZipStore": 1.3, "zarr LocalStore": 1.8}
        tables.append(Table(f"a plane of 8 MiB, {title}", rows, goal, bytes=8 << 20, wanted_ratios=ratios))
    return tables


def bench_store_open(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    entries = 20_000 if quick else 1_000_000
    path, small = (str(datasets.make_many_entries(folder, number)) for number in (entries, 1_000))
    measures = {
        name: in_worker("store_tasks.open_group", way, path, small)
        for name, way in (("ozx.open", "ozx"), ("zarr ZipStore", "zip"))
    }
    rows = take_turns(measures, None, rounds)
    title, ratios = f"open a group and an array among {entries:,} entries", {"zarr ZipStore": 10}
    return [Table(title, rows, "≥ 10 × faster", show_memory=True, wanted_ratios=ratios)]


def bench_cuts(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    plain = datasets.make_cuts(folder, quick=quick)
    archive = datasets.archive_of(plain)
    kinds = {
        "lz4": ("a plane of 8 MiB, chunks of 128 KiB, blosc-lz4", 16),
        "volume 0": ("a plane of 512³ across z, chunks of 64³, zstd", 16),
        "volume 1": ("a plane of 512³ across y, chunks of 64³, zstd", 16),
        "volume 2": ("a plane of 512³ across x, chunks of 64³, zstd", 16),
        "windows": ("a random window of 64², chunks of 256², zstd", 1000),
    }
    tables = []
    for name, (title, count) in kinds.items():
        measures = {
            peer: in_worker(
                "store_tasks.cuts",
                way,
                str(plain if way in ("local", "tensorstore") else archive),
                str(plain),
                name,
                str(count),
            )
            for peer, way in WAYS.items()
            if way not in ("instant", "zip")
        }
        rows = take_turns(measures, None, min(rounds, 5))
        tables.append(Table(title, rows, _TENSORSTORE, wanted_ratios=_AS_TENSORSTORE))
    return tables


def bench_write(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    planes, out = (1 if quick else 32), str(folder / "written")
    ways = {
        "OzxStore, ozx.use_pipeline()": "ozx",
        "OzxStore, zarr's own pipeline": "store",
        "zarr LocalStore": "local",
        "tensorstore, directory": "tensorstore",
    }
    tables = []
    for kind in ("shards", "chunks"):
        for codec, pixels in (("none", "random"), ("zstd", "random"), ("zstd", "camera")):
            measures = {
                name: in_worker("store_tasks.write", way, out, str(planes), kind, codec, pixels)
                for name, way in ways.items()
            }
            rows = take_turns(measures, out, min(rounds, _WRITE_ROUNDS))
            data = planes << 26
            goal = _TENSORSTORE
            if codec == "none":
                remove(out)
                next(iter(measures.values()))(Row(""))
                extra = os.stat(out).st_blocks * 512 / data - 1
                assert extra <= 0.02, extra
                goal += f"; disk space at most 2 % above the bytes of the pixels (measured: {extra:.2%})"
            what = f"{'64' if kind == 'shards' else '2'} MiB, {'uncompressed' if codec == 'none' else 'zstd'}"
            title = (
                f"write {data / (1 << 30):.4g} GiB in {kind} of {what}, {pixels} pixels; up to {_WRITE_ROUNDS} rounds"
            )
            tables.append(Table(title, rows, goal, bytes=data, wanted_ratios=_AS_TENSORSTORE))
            remove(out)
    return tables


def bench_append(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    original = datasets.archive_of(datasets.make_images(folder, quick=quick))
    work, small, copy = (str(folder / name) for name in ("work.ozx", "small.ozx", "copy.ozx"))

    def append(row: Row) -> None:
        shutil.copyfile(original, work)
        shutil.copyfile(datasets.make_many_entries(folder, 1_000), small)
        os.sync()
        in_worker("store_tasks.append", work, small)(row)

    def copying(row: Row) -> None:
        remove(copy)
        os.sync()
        in_worker("store_tasks.copy", str(original), copy)(row)

    rows = take_turns({"OzxStore, mode a": append, "cp of the file": copying}, None, rounds)
    for path in (work, small, copy):
        remove(path)
    size = os.path.getsize(original)
    title, ratios = f"add a label image to a file of {size / 1e6:.0f} MB", {"cp of the file": 1 / 1.3}
    return [Table(title, rows, "≤ 1.3 × cp (neither ozx nor cp syncs the disk)", bytes=size, wanted_ratios=ratios)]


GROUPS = {
    "read": Group(bench_read, ("zarr", "tensorstore", "numpy")),
    "cuts": Group(bench_cuts, ("zarr", "tensorstore", "numpy")),
    "store-open": Group(bench_store_open, ("zarr",)),
    "write": Group(bench_write, ("zarr", "tensorstore", "numpy")),
    "append": Group(bench_append, ("zarr", "cp")),
}
