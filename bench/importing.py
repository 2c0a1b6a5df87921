"""Benchmarks of importing TIFF files with all levels, against programs that write OME-Zarr from TIFF."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
from figures import Row, Table
from measuring import HERE, Group, as_process, in_worker, remove, take_turns
from versions import find_program

# Peers that take a minute or more are measured once.
_MOST_ROUNDS = 3
_ROUNDS = "; 3 rounds, bioio-convert and ngff-zarr once"


def _ozx(source: Path, out: Path) -> Callable[[Row], None]:
    command = (sys.executable, "-m", "ozx", "import", str(source), str(out), "--no-sync", "--quiet", "--force")
    return as_process(*command, with_memory=True)


def _peer(program: str, *arguments: str) -> dict[str, Callable[[Row], None]]:
    """Return the name of a program with the function that measures it; nothing if the program is not installed."""
    found = find_program(program)
    return {} if found is None else {program: as_process(found, *arguments, with_memory=True)}


def _measure(
    fast: dict[str, Callable[[Row], None]], slow: dict[str, Callable[[Row], None]], out: str, rounds: int
) -> list[Row]:
    rows = take_turns(fast, out, min(rounds, _MOST_ROUNDS))
    for name, measure in slow.items():
        remove(out)
        os.sync()
        row = Row(name)
        measure(row)
        rows.append(row)
    remove(out)
    return rows


def _memory(sources: list[Path], out: Path) -> Table:
    """Return a table of the time and peak memory of importing files of different sizes."""
    rows = []
    for source in sources:
        row = Row(f"ozx import of {datasets.decoded_size(source) / (1 << 20):,.0f} MiB")
        _ozx(source, out)(row)
        rows.append(row)
    remove(str(out))
    return Table("peak memory of an import, by the size of the image", rows, "≤ 1 GiB, whatever the size", peers=False)


def bench_plane(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Measure the import of one large plane."""
    sides = (1000, 2000) if quick else (10_000, 20_000)
    small, source = (datasets.make_plane_tiff(folder, side) for side in sides)
    out, other = folder / "imported.ozx", str(folder / "imported.ome.zarr")
    fast = {
        "ozx import --no-sync": _ozx(source, out),
        "dask + zarr": as_process(sys.executable, str(HERE / "dask_import.py"), str(source), other, with_memory=True),
    }
    _verify(source, out)
    rows = _measure(fast, _peer("ngff-zarr", "-q", "-i", str(source), "-o", other), other, rounds)
    title = f"import a plane of {sides[1]:,} × {sides[1]:,} (uint16, zlib, tiles of 512 × 512, BigTIFF){_ROUNDS}"
    goal = "≥ 2.5 × faster than dask + zarr, ≥ 7 × faster than ngff-zarr; memory ≤ 1 GiB"
    size, ratios = datasets.decoded_size(source), {"dask + zarr": 2.5, "ngff-zarr": 7}
    return [
        Table(title, rows, goal, bytes=size, wanted_ratios=ratios, note=_missing(rows)),
        _memory([small, source], out),
    ]


def bench_stack(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Measure the import of an image of five dimensions."""
    times = (1, 2) if quick else (1, 4)
    shape = (2, 3, 300, 400) if quick else (2, 32, 2048, 2048)
    small, source = (datasets.make_stack_tiff(folder, (count, *shape)) for count in times)
    out, other = folder / "imported.ozx", str(folder / "imported.ome.zarr")
    _verify(source, out)
    slow = _peer("bioio-convert", str(source), "--destination", other) | _peer(
        "ngff-zarr", "-q", "-i", str(source), "-o", other
    )
    rows = _measure({"ozx import --no-sync": _ozx(source, out)}, slow, other, rounds)
    lengths = " × ".join(map(str, (times[1], *shape)))
    title = f"import an OME-TIFF of t, c, z, y, x = {lengths} (uint16, uncompressed){_ROUNDS}"
    goal = "≥ 3 × faster than bioio-conversion, ≥ 10 × faster than ngff-zarr; memory ≤ 1 GiB"
    size, ratios = datasets.decoded_size(source), {"bioio-convert": 3, "ngff-zarr": 10}
    note = _missing(rows, "bioio-convert")
    return [Table(title, rows, goal, bytes=size, wanted_ratios=ratios, note=note), _memory([small, source], out)]


def bench_czi(folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Measure the import of a CZI file against reading it whole with its library and writing the array."""
    source = datasets.make_czi(folder, (2, 2, 3, 300, 400) if quick else (4, 2, 16, 2048, 2048))
    out, other = folder / "imported.ozx", folder / "library.ozx"
    library = as_process(sys.executable, str(HERE / "library_import.py"), str(source), str(other), with_memory=True)
    both = {"ozx import --no-sync": _ozx(source, out), "openreadout + write_image": library}
    for measure in both.values():
        measure(Row(""))
    in_worker("import_tasks.compare_images", str(out), str(other))(Row(""))
    rows = take_turns(both, str(out), min(rounds, _MOST_ROUNDS))
    remove(str(other))
    size = source.stat().st_size
    title = f"import a CZI file of {size / (1 << 20):,.0f} MiB (uint16, uncompressed); 3 rounds"
    goal = "≤ 1.3 × the time of reading it with its library and writing the array; memory ≤ 600 MB"
    return [Table(title, rows, goal, bytes=size, wanted_ratios={"openreadout + write_image": 1 / 1.3})]


def _missing(rows: list[Row], *others: str) -> str:
    """Return a note about the peers that are not installed; empty if all are installed."""
    missing = [name for name in ("ngff-zarr", *others) if name not in {row.name for row in rows}]
    return f"Not installed, so not measured: {', '.join(missing)}." if missing else ""


def _verify(source: Path, out: Path) -> None:
    """Import once, and compare all pixels of the first two levels with the TIFF."""
    remove(str(out))
    _ozx(source, out)(Row(""))
    in_worker("import_tasks.compare", str(out), str(source))(Row(""))


GROUPS = {
    "import-plane": Group(bench_plane, ("dask", "zarr", "tifffile", "ngff-zarr")),
    "import-stack": Group(bench_stack, ("bioio-conversion", "ngff-zarr")),
    "import-czi": Group(bench_czi, ("openreadout", "pylibCZIrw")),
}
