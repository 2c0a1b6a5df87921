"""Benchmarks of recovering a truncated file, and of upgrading OME-Zarr 0.4 in a ZIP file to 0.5, against copying."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import Group, as_process, in_worker, remove, take_turns

_ROUNDS = 3


def bench_recover(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    source, _ = datasets.make_chunked_image(folder, 2 if quick else 100)
    whole, broken, out = (str(folder / name) for name in ("whole.ozx", "broken.zip", "recovered.zip"))
    remove(whole)
    in_worker("container_tasks.ozx_pack", str(source), whole)(Row(""))
    with zipfile.ZipFile(whole) as archive:
        entries = archive.infolist()
    os.rename(whole, broken)
    os.truncate(broken, entries[-1].header_offset + 1000)
    measures = {
        "ozx recover --no-sync": in_worker("repair_tasks.ozx_recover", broken, out),
        "cp of the file": as_process("cp", broken, out),
    }
    note = ""
    if shutil.which("zip"):
        # zip -FF uses local headers, as ozx recover does, and asks whether the archive has one part. With -q, the new
        # archive would be empty.
        measures["zip -FF"] = as_process("zip", "-FF", broken, "--out", out, said="y\n")
    else:
        note = "Not installed, so not measured: zip."
    for name, measure in measures.items():
        remove(out)
        measure(Row(""))
        if name.startswith("ozx"):
            with zipfile.ZipFile(out) as archive:
                assert [info.filename for info in archive.infolist()] == [info.filename for info in entries[:-1]]
                assert archive.testzip() is None
        assert os.path.getsize(out) > entries[-1].header_offset
    size = os.path.getsize(broken)
    title = f"recover a file cut off at {size / (1 << 30):.2f} GiB, {len(entries) - 1:,} entries"
    rows = take_turns(measures, out, min(rounds, _ROUNDS))
    for path in (broken, out):
        remove(path)
    return [Table(title, rows, entries=len(entries) - 1, bytes=size, note=note)]


def bench_upgrade(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    source, old = datasets.make_chunked_image(folder, 2 if quick else 100)
    packed, out, opened = (str(folder / name) for name in ("old.zip", "upgraded.ozx", "upgraded-folder"))
    remove(packed)
    in_worker("container_tasks.zipfile_pack", str(old), packed)(Row(""))
    ozx = [sys.executable, "-m", "ozx"]
    steps = [[*ozx, "unpack", packed, opened], [*ozx, "pack", opened, out]]
    both = " && ".join(" ".join([*step, "--no-sync", "-q"]) for step in steps)
    measures = {
        "ozx repack --no-sync, whole process": as_process(*ozx, "repack", packed, out, "--no-sync", "-q"),
        "cp of the file": as_process("cp", packed, out),
        "ozx unpack, then ozx pack": as_process("sh", "-c", f"rm -rf {opened}; {both}"),
        "unzip, then ozx pack": as_process(
            "sh", "-c", f"rm -rf {opened}; unzip -qq {packed} -d {opened} && {' '.join(steps[1])} --no-sync -q"
        ),
    }
    remove(out)
    measures["ozx repack --no-sync, whole process"](Row(""))
    in_worker("repair_tasks.compare", out, str(source))(Row(""))
    rows = take_turns(measures, out, min(rounds, _ROUNDS))
    size = os.path.getsize(packed)
    for path in (packed, out, opened):
        remove(path)
    return [Table(f"OME-Zarr 0.4 in a ZIP file as 0.5, {size / (1 << 30):.2f} GiB", rows, bytes=size)]


GROUPS = {
    "recover": Group(bench_recover, ("zip", "cp")),
    "upgrade": Group(bench_upgrade, ("unzip", "cp")),
}
