"""Benchmarks of the container: start, open, pack and unpack, against cp, zipfile, unzip, 7z and ngff-zarr."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import Group, as_process, in_worker, remove, take_turns


def bench_pack(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    tables = []
    wanted = {
        "many": "≤ 1.1 × cp, ≥ 3 × faster than zipfile, ≥ 8 × faster than ngff-zarr's writer",
        "large": "≤ 1.1 × cp, ≥ 3 × faster than zipfile, ≥ 8 × faster than ngff-zarr's writer",
        "small": "≤ 10 µs per entry, ≥ 4 × faster than zipfile",
    }
    copied = {"cp of the archive": 1 / 1.1, "zipfile, stored": 3, "ngff-zarr write_store_to_zip": 8}
    ratios = {"many": copied, "large": copied, "small": {"zipfile, stored": 4}}
    for name, goal in wanted.items():
        source = str(datasets.make(folder, name, quick=quick))
        made, out = str(folder / f"{name}.ozx"), str(folder / "out.ozx")
        remove(made)
        in_worker("container_tasks.ozx_pack", source, made)(Row(""))
        verify_archive(made, source)
        measures = {
            "ozx pack --no-sync": in_worker("container_tasks.ozx_pack", source, out),
            "cp of the archive": as_process("cp", made, out),
            "zipfile, stored": in_worker("container_tasks.zipfile_pack", source, out),
            "ngff-zarr write_store_to_zip": in_worker("container_tasks.ngff_zarr_pack", source, out),
            "ozx pack (with sync)": in_worker("container_tasks.ozx_pack_sync", source, out),
            "ozx pack --no-sync, whole process": as_process(
                sys.executable, "-m", "ozx", "pack", source, out, "--no-sync", "-q"
            ),
        }
        rows = take_turns(measures, out, rounds)
        with zipfile.ZipFile(made) as archive:
            entries = len(archive.namelist())
        table = Table(f"pack, {title(source)}", rows, goal, entries, os.path.getsize(made), wanted_ratios=ratios[name])
        tables.append(table)
        remove(out)
    return tables


def bench_unpack(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    tables = []
    memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else folder
    wanted = {
        "large": ("≤ 1.2 × cp -r, ≥ 5 × faster than unzip", folder, {"cp -r of the directory": 1 / 1.2, "unzip": 5}),
        "small": ("≥ 3 × faster than unzip and 7z, on tmpfs", memory, {"unzip": 3, "7z x": 3}),
        "many": ("", memory, {}),
    }
    for name, (goal, place, ratios) in wanted.items():
        source = str(datasets.make(folder, name, quick=quick))
        archive, out = str(folder / f"{name}.ozx"), str(place / "ozx-bench-out")
        remove(archive)
        in_worker("container_tasks.ozx_pack", source, archive)(Row(""))
        remove(out)
        in_worker("container_tasks.ozx_unpack", archive, out)(Row(""))
        subprocess.run(["diff", "-rq", source, out], check=True)
        measures = {
            "ozx unpack --no-sync": in_worker("container_tasks.ozx_unpack", archive, out),
            "cp -r of the directory": as_process("cp", "-r", source, out),
            "unzip": as_process("unzip", "-qq", archive, "-d", out),
            "7z x": as_process("7z", "x", "-bso0", "-bsp0", f"-o{out}", archive),
            "ozx unpack (with sync)": in_worker("container_tasks.ozx_unpack_sync", archive, out),
            "ozx unpack --no-sync, whole process": as_process(
                sys.executable, "-m", "ozx", "unpack", archive, out, "--no-sync", "-q"
            ),
        }
        rows = take_turns(measures, out, rounds)
        size = os.path.getsize(archive)
        tables.append(Table(f"unpack, {title(source)}", rows, goal, count_files(source), size, wanted_ratios=ratios))
        remove(out)
        remove(archive)
    return tables


def bench_open(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    entries = 20_000 if quick else 1_000_000
    archive = str(datasets.make_many_entries(folder, entries))
    few = str(datasets.make_many_entries(folder, 1_000))
    opened = take_turns(
        {
            "ozx (open, and find a key)": in_worker("container_tasks.ozx_open", archive),
            "zipfile.ZipFile": in_worker("container_tasks.zipfile_open", archive),
        },
        None,
        rounds,
    )
    head = take_turns(
        {
            f"ozx.inspect, {entries:,} entries": in_worker("container_tasks.ozx_info", archive),
            "ozx.inspect, 1,000 entries": in_worker("container_tasks.ozx_info", few),
            f"ozx.list_entries(nodes=True), {entries:,} entries": in_worker("container_tasks.ozx_ls_nodes", archive),
            "ozx.list_entries(nodes=True), 1,000 entries": in_worker("container_tasks.ozx_ls_nodes", few),
        },
        None,
        rounds,
    )
    return [
        Table(
            f"open {entries:,} entries",
            opened,
            "≥ 10 × faster than zipfile in ≤ 1/3 of its memory",
            show_memory=True,
            wanted_ratios={"zipfile.ZipFile": 10},
        ),
        Table("info and ls --nodes of a jsonFirst archive", head, "time independent of the number of entries"),
    ]


def bench_start(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    del folder
    rows = take_turns(
        {
            "ozx --help": as_process(sys.executable, "-m", "ozx", "--help"),
            "python -c pass": as_process(sys.executable, "-c", "pass"),
            "python -c 'import click'": as_process(sys.executable, "-c", "import click"),
        },
        None,
        max(rounds, 9) if not quick else 1,
    )
    return [Table("start", rows, "ozx --help ≤ 8 × python's own start", wanted_ratios={"python -c pass": 1 / 8})]


def verify_archive(path: str, source: str) -> None:
    """Compare an archive, as the standard library's zipfile reads it, with the directory that was packed."""
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == count_files(source)
        for name in archive.namelist():
            with open(os.path.join(source, name), "rb") as file:
                assert archive.read(name) == file.read(), name


def count_files(folder: str) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def title(source: str) -> str:
    count, _, size = Path(source).name.removesuffix(".ome.zarr").partition("-")[2].partition("x")
    length = f"{int(size) // (1 << 20)} MiB" if int(size) >= 1 << 20 else f"{int(size) // 1000} KB"
    return f"{int(count):,} × {length}"


GROUPS = {
    "start": Group(bench_start, ("click",)),
    "open": Group(bench_open, ()),
    "pack": Group(bench_pack, ("ngff-zarr", "cp")),
    "unpack": Group(bench_unpack, ("unzip", "7z", "cp")),
}
