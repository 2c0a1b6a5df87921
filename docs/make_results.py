"""Write the table of results in docs/benchmarks.md from docs/benchmarks.json: ``python -m docs.make_results``."""

from __future__ import annotations

import json
import statistics
from typing import Any

from docs.made_parts import DOCS, with_parts, write_files

PAGE = "benchmarks.md"
#: Task, group, and a unique beginning of the figure's title. The first row of a figure is about ozx.
TASKS = (
    ("pack 10,000 chunks of 80 KB", "pack", "pack, 10,000"),
    ("pack 20,000 chunks of 5 KB", "pack", "pack, 20,000"),
    ("pack 3 shards of 256 MiB", "pack", "pack, 3"),
    ("unpack 20,000 chunks of 5 KB", "unpack", "unpack, 20,000"),
    ("unpack 3 shards of 256 MiB", "unpack", "unpack, 3"),
    ("open 1,000,000 entries", "open", "open 1,000,000"),
    ("one chunk of 128 KiB in a shard", "read", "a random inner chunk"),
    ("a plane of 8 MiB, zstd chunks", "read", "a plane of 8 MiB, chunks of 128 KiB, zstd"),
    ("a plane of 8 MiB, zstd, in one shard", "read", "a plane of 8 MiB, shards"),
    ("write 2 GiB in shards, zstd", "write", "write 2 GiB in shards of 64 MiB, zstd, camera"),
    ("put 2 GiB of chunks into shards", "reshard", "reshard"),
    ("OME-Zarr 0.4 in a ZIP file to 0.5, 2 GiB", "upgrade", "OME-Zarr 0.4"),
    ("import a TIFF of 20,000 × 20,000", "import-plane", "import a plane"),
    ("import an OME-TIFF of 2 GiB", "import-stack", "import an OME-TIFF"),
    ("export an OME-TIFF, zlib", "export", "export t, c, z, y, x"),
    ("validate a plate of 1,536 fields", "validate", "validate a plate"),
    ("recover a cut file of 2 GiB", "recover", "recover a file"),
    ("by HTTP: open, read one chunk", "remote", "HTTP, no delay: open"),
    ("by HTTP, 20 ms a request: 64 chunks", "remote", "HTTP, 20 ms a request: 8 MiB in 64 chunks"),
)
#: Beginnings of rows about no other program: another use of ozx, a plain copy, zarr-python without a store.
_NOT_OTHERS = ("ozx", "OzxStore", "cp", "no store")


def made_files() -> dict[str, str]:
    """Return the files that this script writes: texts by their paths below ``docs/``."""
    return {PAGE: with_parts(PAGE, {"results": results_markdown()})}


def results_markdown() -> str:
    """Return a table of the tasks: time of ozx, time of the fastest other program, ratio of the two times."""
    groups = json.loads(DOCS.joinpath("benchmarks.json").read_text("utf-8"))["groups"]
    lines = ["| task | ozx | fastest other | ozx is |", "|---|--:|---|--:|"]
    for task, group, title in TASKS:
        figure = next(figure for figure in groups[group]["figures"] if figure["title"].startswith(title))
        lines.append(_line(task, figure["rows"]))
    return "\n".join(lines)


def _line(task: str, rows: list[dict[str, Any]]) -> str:
    times = {row["name"]: statistics.median(row["seconds"]) for row in rows}
    ours = next(iter(times.values()))
    others = {name: time for name, time in times.items() if not name.startswith(_NOT_OTHERS)}
    name, theirs = min(others.items(), key=lambda other: other[1])
    ratio = f"{theirs / ours:.1f}× faster" if theirs >= ours else f"{ours / theirs:.1f}× slower"
    return f"| {task} | {_time(ours)} | {name}: {_time(theirs)} | {ratio} |"


def _time(seconds: float) -> str:
    """Return a time with two or three digits.

    Examples
    --------
    >>> [_time(seconds) for seconds in (0.000917, 0.0228, 0.2421, 16.629, 230.88)]
    ['0.92 ms', '22.8 ms', '0.24 s', '16.6 s', '231 s']
    """
    if seconds < 0.1:
        return f"{seconds * 1e3:.2f} ms" if seconds < 0.001 else f"{seconds * 1e3:.3g} ms".replace(".0 ", " ")
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.3g} s"


if __name__ == "__main__":
    write_files(made_files())
