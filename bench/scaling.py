"""Benchmarks of scaling: seconds and memory by the number of entries, of bytes and of jobs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import containers
import datasets
from figures import Curves, Row
from measuring import Group, as_process, in_worker, remove, take_turns

_ROUNDS = 3
_CHUNK = 1_000  # bytes of a chunk where chunks are counted
_PLANES = {64: 3, 256: 12, 1024: 50, 4096: 200}  # approximate size in MiB: number of planes of 21 MB
_SLOW_PEER = 256  # MiB: up to here, zarr-python takes some seconds


def bench_scaling(folder: Path, *, quick: bool, rounds: int) -> Iterator[Curves]:
    rounds = min(rounds, _ROUNDS)
    yield opened(folder, [1_000, 10_000] if quick else [1_000, 10_000, 100_000, 1_000_000], rounds)
    yield from moved(folder, [200, 400] if quick else [1_000, 10_000, 100_000], rounds)
    sizes = {1: 1, 2: 2} if quick else _PLANES
    yield from sized(folder, sizes, rounds)
    yield imported(folder, [1, 2] if quick else [8, 32, 128, 512], rounds, small=quick)
    yield from shared(folder, rounds, quick=quick)


def _at(place: float, rows: list[Row]) -> list[Row]:
    for row in rows:
        row.at = place
    return rows


def opened(folder: Path, counts: list[int], rounds: int) -> Curves:
    """Measure operations that read the whole central directory, and operations that read only the first entries."""
    rows = []
    for count in counts:
        archive = str(datasets.make_many_entries(folder, count))
        measures = {
            "ozx, open": in_worker("container_tasks.ozx_open", archive),
            "ozx.inspect": in_worker("container_tasks.ozx_info", archive),
            "ozx.list_entries(nodes=True)": in_worker("container_tasks.ozx_ls_nodes", archive),
            "ozx.validate(level='archive')": in_worker("scaling_tasks.validate_archive", archive),
            "zipfile.ZipFile": in_worker("container_tasks.zipfile_open", archive),
        }
        rows += _at(count, take_turns(measures, None, rounds))
    return Curves("open, info, ls --nodes and validate, by entries", rows, "entries")


def moved(folder: Path, counts: list[int], rounds: int) -> Iterator[Curves]:
    """Measure packing and unpacking of growing numbers of small chunks."""
    packed, unpacked = [], []
    out, archive, opened = (str(folder / name) for name in ("scaled.ozx", "scaled-kept.ozx", "scaled-out"))
    for count in counts:
        source = str(datasets.make_chunks(folder, "scaled", count, _CHUNK))
        in_worker("container_tasks.ozx_pack", source, archive)(Row(""))
        containers.verify_archive(archive, source)
        measures = {
            "ozx pack --no-sync": in_worker("container_tasks.ozx_pack", source, out),
            "zipfile, stored": in_worker("container_tasks.zipfile_pack", source, out),
        }
        packed += _at(count, take_turns(measures, out, rounds))
        remove(source)
        measures = {
            "ozx unpack --no-sync": in_worker("container_tasks.ozx_unpack", archive, opened),
            "unzip": as_process("unzip", "-qq", archive, "-d", opened),
        }
        unpacked += _at(count, take_turns(measures, opened, rounds))
        for path in (out, archive, opened):
            remove(path)
    yield Curves(f"pack, by entries of {_CHUNK // 1000} KB", packed, "entries")
    yield Curves(f"unpack, by entries of {_CHUNK // 1000} KB", unpacked, "entries")


def sized(folder: Path, sizes: dict[int, int], rounds: int) -> Iterator[Curves]:
    """Measure packing, resharding and unpacking of growing images; at most two copies are on the disk at a time."""
    packed, unpacked, resharded = [], [], []
    out, archive, opened = (str(folder / name) for name in ("scaled.ozx", "scaled-kept.ozx", "scaled-out"))
    for size, planes in sizes.items():
        turns = rounds if size < 4096 else min(rounds, 2)
        root, old = datasets.make_chunked_image(folder, planes)
        source = str(root)
        measures = {
            "ozx pack --no-sync": in_worker("container_tasks.ozx_pack", source, out),
            "zipfile, stored": in_worker("container_tasks.zipfile_pack", source, out),
        }
        packed += _at(size, take_turns(measures, out, turns))
        measures = {"ozx repack --shards --no-sync": in_worker("resharding_tasks.ozx_repack", source, out)}
        if size <= _SLOW_PEER:
            measures["zarr-python"] = in_worker("resharding_tasks.zarr_reshard", source, out)
        resharded += _at(size, take_turns(measures, out, turns))
        remove(out)
        in_worker("container_tasks.ozx_pack", source, archive)(Row(""))
        if size <= _SLOW_PEER:
            containers.verify_archive(archive, source)
        # The group `reshard` needs the images of 2 and of 100 planes; the other images are removed to save space.
        for path in (root, old) if planes not in (2, 100) else ():
            remove(str(path))
        measures = {
            "ozx unpack --no-sync": in_worker("container_tasks.ozx_unpack", archive, opened),
            "7z x": as_process("7z", "x", "-bso0", "-bsp0", f"-o{opened}", archive),
        }
        unpacked += _at(size, take_turns(measures, opened, turns))
        for path in (archive, opened):
            remove(path)
    yield Curves("pack, by bytes (chunks of 340 KB)", packed, "MiB")
    yield Curves("unpack, by bytes (chunks of 340 KB)", unpacked, "MiB")
    note = f"zarr-python was measured only up to {_SLOW_PEER} MiB, because it is slow."
    yield Curves("reshard, by bytes (chunks of 340 KB into shards of 21 MB)", resharded, "MiB", note=note)


def imported(folder: Path, counts: list[int], rounds: int, *, small: bool) -> Curves:
    """Measure imports of growing numbers of planes."""
    rows, out = [], str(folder / "scaled.ozx")
    for count in counts:
        shape = (1, 1, count, *((256, 256) if small else (2048, 2048)))
        source = datasets.make_stack_tiff(folder, shape)
        command = (sys.executable, "-m", "ozx", "import", str(source), out, "--no-sync", "--quiet", "--force")
        turns = rounds if count < 512 else min(rounds, 2)
        measures = {"ozx import --no-sync": as_process(*command, with_memory=True)}
        rows += _at(datasets.decoded_size(source) / (1 << 20), take_turns(measures, out, turns))
        remove(out)
        remove(str(source))
    return Curves("import of an OME-TIFF, by bytes", rows, "MiB")


def shared(folder: Path, rounds: int, *, quick: bool) -> Iterator[Curves]:
    """Measure --jobs 1, 2 and 4, with several files and with a single file."""
    root, old = datasets.make_chunked_image(folder, 1 if quick else 12)
    remove(str(old))
    tiff = datasets.make_stack_tiff(folder, (1, 1, 2, 256, 256) if quick else (1, 1, 16, 2048, 2048))
    out, several = folder / "scaled-out", folder / "several"
    remove(str(several))
    several.mkdir()
    images, tiffs, packed = ([str(several / f"{n}{end}") for n in range(4)] for end in (".zarr", ".ome.tif", ".ozx"))
    for image, copy, archive in zip(images, tiffs, packed, strict=True):
        shutil.copytree(root, image, copy_function=os.link)
        os.link(tiff, copy)
        in_worker("container_tasks.ozx_pack", str(root), archive)(Row(""))
    rows = []
    for jobs in (1, 2, 4):
        measures = {
            "ozx pack of 4": _command("pack", *images, "--out-dir", str(out), "--no-sync", "-q", jobs=jobs),
            "ozx import of 4": _command("import", *tiffs, "--out-dir", str(out), "--no-sync", "-q", jobs=jobs),
            "ozx repack --shards": _command(
                "repack", str(root), str(out), "--shards", "y=4096,x=4096", "--no-sync", "-q", jobs=jobs
            ),
            "ozx validate --level data of 4": _command("validate", *packed, "--level", "data", jobs=jobs),
        }
        rows += _at(jobs, take_turns(measures, str(out), rounds))
    for path in (out, several, root, tiff):
        remove(str(path))
    note = f"This machine has {os.cpu_count()} cores. Peak memory is that of the largest process, not of all together."
    yield Curves("--jobs 1, 2 and 4", rows, "jobs", note=note)


def _command(*arguments: str, jobs: int) -> Callable[[Row], None]:
    return as_process(sys.executable, "-m", "ozx", *arguments, "--jobs", str(jobs), with_memory=True)


GROUPS = {"scaling": Group(bench_scaling, ("zarr", "unzip", "7z"))}
