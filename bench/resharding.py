"""Benchmarks of moving chunks into shards, and of crops, against programs that decode and encode the chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import Group, as_process, in_worker, remove, take_turns


def bench_reshard(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    source, old = datasets.make_chunked_image(folder, 2 if quick else 100)
    out = str(folder / "resharded")
    measures = {
        "ozx repack --shards y=4096,x=4096 --no-sync": in_worker("resharding_tasks.ozx_repack", str(source), out),
        "the same with --chunk-checksums keep": in_worker("resharding_tasks.ozx_repack", str(source), out, "keep"),
        "cp -r of the source": as_process("cp", "-r", str(source), out),
        "ozx repack of the same as OME-Zarr 0.4": in_worker("resharding_tasks.ozx_repack", str(old), out),
        "tensorstore": in_worker("resharding_tasks.tensorstore_reshard", str(source), out),
        "zarr-python": in_worker("resharding_tasks.zarr_reshard", str(source), out),
    }
    for name, measure in measures.items():
        if name.startswith("cp"):
            continue
        remove(out)
        measure(Row(""))
        in_worker("resharding_tasks.compare", out, str(source))(Row(""))
    rows = take_turns(measures, out, rounds)
    remove(out)
    files = [path for path in source.rglob("*") if path.is_file()]
    size = sum(os.path.getsize(path) for path in files)
    goal = "≥ 35 × faster than zarr-python, ≥ 20 × faster than tensorstore, ≤ 1.0 × cp -r; memory ≤ 100 MiB"
    title = f"reshard {len(files) - 2:,} chunks (uint16, 512 × 512, blosc-zstd), {size / (1 << 30):.2f} GiB"
    ratios = {"zarr-python": 35, "tensorstore": 20, "cp -r of the source": 1}
    return [Table(title, rows, goal, bytes=size, show_memory=True, wanted_ratios=ratios)]


def bench_crop(folder: Path, *, quick: bool, rounds: int) -> Iterator[Table]:
    """Measure a crop whose edges lie within chunks, against reading the region and writing the array."""
    side = 1024 if quick else 8192
    region = f"y={side // 80}:{side - side // 40},x={side // 27}:{side - side // 40}"
    out, other = str(folder / "crop.ozx"), str(folder / "written.ozx")
    for chunk in (512, 2048):
        chunks = f"y={chunk},x={chunk}"
        source = str(datasets.make_crop_source(folder, side, chunks))
        measures = {
            "ozx extract --region": in_worker("resharding_tasks.ozx_crop", source, out, region),
            "ozx.read, then write_image": in_worker("resharding_tasks.read_and_write", source, other, region, chunks),
        }
        for measure in measures.values():
            measure(Row(""))
        in_worker("resharding_tasks.compare_crops", out, other)(Row(""))
        remove(out)
        remove(other)
        rows = [Row(name) for name in measures]
        for _ in range(rounds):
            for row, measure, made in zip(rows, measures.values(), (out, other), strict=True):
                measure(row)
                remove(made)
        title = f"cut {region} out of 4 × {side:,} × {side:,} (uint16, chunks of {chunk}², levels computed anew)"
        ratios = {"ozx.read, then write_image": 1 / 1.3}
        yield Table(title, rows, "≤ 1.3 × the time of the other way", bytes=8 * side * side, wanted_ratios=ratios)


GROUPS = {
    "reshard": Group(bench_reshard, ("zarr", "tensorstore", "numpy", "cp")),
    "crop": Group(bench_crop, ("zarr", "numpy")),
}
