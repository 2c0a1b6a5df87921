"""Measure ozx against its peers in one run: ``python bench/run.py [--quick] [--only GROUP] [--write]``.

Every figure is the median of several rounds in which the peers take turns, each in a fresh process, with a warm
cache; what was timed is verified afterwards. ``--write`` puts the tables into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import datasets
from worker import remove

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
MARKER = "<!-- the tables below are written by bench/run.py -->"


@dataclass
class Row:
    """One measured thing."""

    name: str
    seconds: list[float] = field(default_factory=list)
    growth: int = 0
    peak: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Table:
    """Peers measured in turns; the first row is ozx."""

    title: str
    rows: list[Row]
    wanted: str
    entries: int = 0
    bytes: int = 0
    show_memory: bool = False

    def to_markdown(self) -> str:
        own = self.rows[0].median
        lines = [f"### {self.title}", "", f"Wanted: {self.wanted}", ""]
        head = ["", "median s", "min–max s", "ozx is"]
        head += ["µs per entry"] if self.entries else []
        head += ["GB/s"] if self.bytes else []
        head += ["RSS growth MB", "peak MB"] if self.show_memory else ["peak MB"]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in self.rows:
            ratio = row.median / own
            word = (
                "" if row is self.rows[0] else (f"{ratio:.2f} × faster" if ratio >= 1 else f"{1 / ratio:.2f} × slower")
            )
            cells = [row.name, f"{row.median:.4f}", f"{min(row.seconds):.4f}–{max(row.seconds):.4f}", word]
            cells += [f"{row.median / self.entries * 1e6:.1f}"] if self.entries else []
            cells += [f"{self.bytes / row.median / 1e9:.2f}"] if self.bytes else []
            cells += [f"{row.growth / 1e6:.0f}"] if self.show_memory else []
            cells += [f"{row.peak / 1e6:.0f}" if row.peak else "–"]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"


def in_worker(task: str, *arguments: str) -> Callable[[Row], None]:
    def measure(row: Row) -> None:
        command = [sys.executable, str(HERE / "worker.py"), task, *arguments]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row.seconds.append(answer["seconds"])
        row.growth, row.peak = max(row.growth, answer["growth"]), max(row.peak, answer["peak"])

    return measure


def as_process(*command: str) -> Callable[[Row], None]:
    def measure(row: Row) -> None:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        row.seconds.append(time.perf_counter() - start)

    return measure


def take_turns(measures: dict[str, Callable[[Row], None]], output: str | None, rounds: int) -> list[Row]:
    rows = [Row(name) for name in measures]
    pairs = list(zip(rows, measures.values(), strict=True))
    for turn in range(rounds + 1):
        # Each round begins with another peer: nobody always follows the same one.
        for row, measure in pairs[turn % len(pairs) :] + pairs[: turn % len(pairs)]:
            if output:
                remove(output)
            os.sync()  # so that nobody pays for what the one before left to be written
            measure(row)
            if turn == 0:  # warms the cache, is not counted
                row.seconds.clear()
    return rows


def bench_pack(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    tables = []
    wanted = {
        "many": "≤ 1.1 × cp, ≥ 3 × faster than zipfile, ≥ 8 × faster than ngff-zarr's writer",
        "large": "≤ 1.1 × cp, ≥ 3 × faster than zipfile, ≥ 8 × faster than ngff-zarr's writer",
        "small": "≤ 10 µs per entry, ≥ 4 × faster than zipfile",
    }
    for name, wish in wanted.items():
        source = str(datasets.make(folder, name, quick=quick))
        made, out = str(folder / f"{name}.ozx"), str(folder / "out.ozx")
        remove(made)
        in_worker("ozx_pack", source, made)(Row(""))
        verify_archive(made, source)
        measures = {
            "ozx pack --no-sync": in_worker("ozx_pack", source, out),
            "cp of the archive": as_process("cp", made, out),
            "zipfile, stored": in_worker("zipfile_pack", source, out),
            "ngff-zarr write_store_to_zip": in_worker("ngff_zarr_pack", source, out),
            "ozx pack (with sync)": in_worker("ozx_pack_sync", source, out),
            "ozx pack --no-sync, whole process": as_process(
                sys.executable, "-m", "ozx", "pack", source, out, "--no-sync", "-q"
            ),
        }
        rows = take_turns(measures, out, rounds)
        with zipfile.ZipFile(made) as archive:
            entries = len(archive.namelist())
        tables.append(Table(f"pack, {title(source)}", rows, wish, entries, os.path.getsize(made)))
        remove(out)
    return tables


def bench_unpack(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    tables = []
    memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else folder
    wanted = {
        "large": ("≤ 1.2 × cp -r, ≥ 5 × faster than unzip", folder),
        "small": ("≥ 3 × faster than unzip and 7z, on tmpfs", memory),
        "many": ("(no figure asked for)", memory),
    }
    for name, (wish, place) in wanted.items():
        source = str(datasets.make(folder, name, quick=quick))
        archive, out = str(folder / f"{name}.ozx"), str(place / "ozx-bench-out")
        remove(archive)
        in_worker("ozx_pack", source, archive)(Row(""))
        remove(out)
        in_worker("ozx_unpack", archive, out)(Row(""))
        subprocess.run(["diff", "-rq", source, out], check=True)
        measures = {
            "ozx unpack --no-sync": in_worker("ozx_unpack", archive, out),
            "cp -r of the directory": as_process("cp", "-r", source, out),
            "unzip": as_process("unzip", "-qq", archive, "-d", out),
            "7z x": as_process("7z", "x", "-bso0", "-bsp0", f"-o{out}", archive),
            "ozx unpack (with sync)": in_worker("ozx_unpack_sync", archive, out),
            "ozx unpack --no-sync, whole process": as_process(
                sys.executable, "-m", "ozx", "unpack", archive, out, "--no-sync", "-q"
            ),
        }
        rows = take_turns(measures, out, rounds)
        tables.append(Table(f"unpack, {title(source)}", rows, wish, count_files(source), os.path.getsize(archive)))
        remove(out)
        remove(archive)
    return tables


def bench_open(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    entries = 20_000 if quick else 1_000_000
    archive = str(datasets.make_many_entries(folder, entries))
    few = str(datasets.make_many_entries(folder, 1_000))
    opened = take_turns(
        {
            "ozx (open, and find a key)": in_worker("ozx_open", archive),
            "zipfile.ZipFile": in_worker("zipfile_open", archive),
        },
        None,
        rounds,
    )
    head = take_turns(
        {
            f"ozx.inspect, {entries:,} entries": in_worker("ozx_info", archive),
            "ozx.inspect, 1,000 entries": in_worker("ozx_info", few),
            f"ozx.list_entries(nodes=True), {entries:,} entries": in_worker("ozx_ls_nodes", archive),
            "ozx.list_entries(nodes=True), 1,000 entries": in_worker("ozx_ls_nodes", few),
        },
        None,
        rounds,
    )
    return [
        Table(
            f"open {entries:,} entries", opened, "≥ 10 × faster than zipfile in ≤ 1/3 of its memory", show_memory=True
        ),
        Table("info and ls --nodes of a jsonFirst archive", head, "time independent of the number of entries"),
    ]


def bench_start(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    del folder, quick
    rows = take_turns(
        {
            "ozx --help": as_process(sys.executable, "-m", "ozx", "--help"),
            "python -c pass": as_process(sys.executable, "-c", "pass"),
            "python -c 'import click'": as_process(sys.executable, "-c", "import click"),
        },
        None,
        max(rounds, 9),
    )
    return [Table("start", rows, "ozx --help ≤ 8 × python's own start")]


GROUPS = {"start": bench_start, "open": bench_open, "pack": bench_pack, "unpack": bench_unpack}


def verify_archive(path: str, source: str) -> None:
    """Compare an archive with the directory it was made of, by the standard library's zipfile."""
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


def machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown CPU")
    import ozx

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE).stdout
    versions = f"Python {platform.python_version()}, ozx {ozx.__version__} at {commit.strip() or 'no commit'}"
    return f"{os.cpu_count()} cores ({cpu}), {platform.system()} {platform.release()}, {versions}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: proves that everything runs")
    parser.add_argument("--only", choices=list(GROUPS), action="append", help="run one group only")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--folder", help="where the data goes (several GB; a temporary folder by default)")
    options = parser.parse_args()
    rounds = 1 if options.quick else 7
    tables = []
    with tempfile.TemporaryDirectory(prefix="ozx-bench-") as temporary:
        folder = Path(options.folder or temporary)
        folder.mkdir(exist_ok=True)
        for name in options.only or GROUPS:
            for table in GROUPS[name](folder, quick=options.quick, rounds=rounds):
                tables.append(table)
                print(table.to_markdown(), flush=True)
    if options.write:
        intro = DOCUMENT.read_text(encoding="utf-8").partition(MARKER)[0]
        body = "\n".join(table.to_markdown() for table in tables)
        DOCUMENT.write_text(f"{intro}{MARKER}\n\nMeasured on {machine()}; {rounds} rounds.\n\n{body}", encoding="utf-8")
    else:
        print(f"measured on {machine()}; {rounds} rounds")


if __name__ == "__main__":
    main()
