"""Measure opening and reading one random chunk: ``python bench/latency.py [--quick] [--write] [--folder FOLDER]``.

For each number and size of chunks, the .ozx file and the directory hold the same bytes. ``--write`` puts the table into
docs/upstream/latency-of-chunks.md. It needs 3 GB of disk.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import datasets
from figures import Row, markdown_table
from measuring import in_worker, remove, take_turns
from remote import serving
from remote_tasks import array_of, pixels_of
from versions import in_words, measured_on
from worker import Repeated

ROOT = Path(__file__).resolve().parent.parent
PAGE = "upstream/latency-of-chunks.md"
#: Numbers of chunks, and bytes of each chunk.
SHAPES = ((100, 4_096), (100_000, 4_096), (10_000, 1 << 17), (100, 1 << 21))
QUICK_SHAPES = ((100, 4_096), (400, 1 << 17))
#: Name of a program: its way in `array_of`, and whether it reads the .ozx file.
PROGRAMS = {
    "ozx": ("ozx", True),
    "zarr-python": ("zarr", False),
    "tensorstore": ("tensorstore", False),
}
DELAYS = {"HTTP, no delay": 0.0, "HTTP, 20 ms": 0.02, "HTTP, 100 ms": 0.1}
_ROUNDS = 5
_CHUNKS = 20  # chunks that one process reads of an open array


def read(way: str, place: str, plain: str, chunks: str, size: str, count: str, cold: str) -> Repeated:
    """Return the task of opening an array and reading one chunk (`count` 0), or of reading chunks of an open array."""
    length = int(size)
    numbers = random.sample(range(int(chunks)), 1 + (int(count) or 1))
    warm, *wanted = (Path(plain, "0", "c", *map(str, divmod(number, datasets.ROW))) for number in numbers)
    opened = _opened(way, place)  # so that all modules are imported before the timing
    pixels_of(opened[_region(warm, length)])
    if cold:
        _forget([place] if place.endswith(".ozx") else [*wanted, f"{plain}/zarr.json", f"{plain}/0/zarr.json"])

    def run() -> list[bytes]:
        array = opened if int(count) else _opened(way, place)
        return [pixels_of(array[_region(path, length)]).tobytes() for path in wanted]

    def verify(found: list[bytes]) -> None:
        assert found == [path.read_bytes() for path in wanted]

    if not place.startswith("http"):
        return Repeated(run, verify, len(wanted))
    asked = f"{place.rpartition('/')[0]}/-/bytes"
    return Repeated(run, verify, len(wanted), received=lambda: int(urllib.request.urlopen(asked).read()))


def _opened(way: str, place: str) -> object:
    if way == "zarr" and not place.startswith("http"):
        import zarr

        return zarr.open_array(place, path="0", mode="r")
    if way == "tensorstore" and not place.startswith("http"):
        place = f"file://{place}"
    return array_of("fsspec" if way == "zarr" else way, place, "0")


def _region(path: Path, size: int) -> tuple[slice, slice]:
    row, column = int(path.parent.name), int(path.name)
    return slice(row, row + 1), slice(column * size, (column + 1) * size)


def _forget(paths: list[str | Path]) -> None:
    """Take files out of the page cache; the kernel keeps what it knows of folders."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(folder: Path, *, quick: bool) -> Iterator[list[str]]:
    """Yield the lines of the table: for each number and size of chunks, one line per program."""
    import ozx

    rounds = 1 if quick else _ROUNDS
    for shape in QUICK_SHAPES if quick else SHAPES:
        plain = datasets.make_chunks(folder, "latency", *shape)
        archive = datasets.archive_of(plain)
        ozx.pack(plain, archive, force=True)
        columns = [_pairs(str(folder), plain, shape, cold, rounds) for cold in ("", "cold")]
        for delay in DELAYS.values():
            with serving(folder, delay) as address:
                columns.append(_pairs(address, plain, shape, "", rounds))
        for pairs in zip(*columns, strict=True):
            times = (f"{first.median * 1e3:.3g}/{more.median * 1e3:.3g}" for first, more in pairs)
            sizes = (f"{first.read / 1024:,.0f}/{more.read / 1024:,.0f}" for first, more in (pairs[0], pairs[2]))
            yield [f"{shape[0]:,}×{shape[1] >> 10:,}", pairs[0][0].name, *times, *sizes]
        remove(str(plain))
        remove(str(archive))


def _pairs(parent: str, plain: Path, shape: tuple[int, int], cold: str, rounds: int) -> list[tuple[Row, Row]]:
    """Return for each program how it opened and read one chunk, and how it read one more."""
    found = []
    for count in (0, _CHUNKS):
        measures = {}
        for name, (way, of_file) in PROGRAMS.items():
            place = f"{parent}/{(datasets.archive_of(plain) if of_file else plain).name}"
            measures[name] = in_worker("latency.read", way, place, str(plain), *map(str, (*shape, count)), cold)
        found.append(take_turns(measures, None, rounds))
    return list(zip(*found, strict=True))


def main() -> None:
    """Measure, print the table, and write it into the page on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few chunks and one round: checks that everything runs")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE}")
    parser.add_argument("--folder", help="folder for the data (by default a temporary folder)")
    options = parser.parse_args()
    sizes = ("KiB from disk", "KiB by HTTP")
    head = ["chunks×KiB", "program", "disk, cached", "disk, not cached", *DELAYS, *sizes]
    with tempfile.TemporaryDirectory(prefix="ozx-latency-") as temporary:
        lines = markdown_table(head, measure(Path(options.folder or temporary).resolve(), quick=options.quick))
    table = "\n".join([*lines, "", f"Measured on {in_words(measured_on(['zarr', 'tensorstore', 'aiohttp']))}."])
    print(table)
    if options.write:
        sys.path.insert(0, str(ROOT))
        from docs.made_parts import with_parts, write_files

        write_files({PAGE: with_parts(PAGE, {"latency": table})})


if __name__ == "__main__":
    main()
