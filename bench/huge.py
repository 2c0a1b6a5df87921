"""Take one well out of huge files behind nginx: ``python bench/huge.py FOLDER``.

One file has a million entries; the other has a terabyte, mostly a hole. The table compares the requests that
`--dry-run` predicts with the requests of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from buckets import serving

from ozx.archive.writer import ArchiveWriter, local_header
from ozx.ome.comment import make_comment
from ozx.zarr.entry_order import hierarchy_order

_ROWS, _COLUMNS, _FIELDS = "ABCDEFGHIJKLMNOP", 24, 4
_GROUP = {"zarr_format": 3, "node_type": "group"}


def document(**ome: object) -> bytes:
    """Return the metadata of a group."""
    return json.dumps({**_GROUP, "attributes": {"ome": {"version": "0.5", **ome}}}).encode()


def image_documents(chunks: int, size: int) -> dict[str, bytes]:
    """Return the metadata of an image of `chunks` chunks of `size` bytes."""
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [chunks, size],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, size]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "dimension_names": ["y", "x"],
        "attributes": {},
    }
    return {
        "zarr.json": document(multiscales=[{"axes": axes, "datasets": datasets}]),
        "0/zarr.json": json.dumps(array).encode(),
    }


def make_plate(path: Path, wells: list[str], chunks: dict[str, tuple[int, int]], *, holes: bool = False) -> int:
    """Write a plate; return its number of entries.

    For each well, `chunks` gives the number of chunks in each field, and their length. Chunks of more than a MiB are
    holes in the file. With `holes`, each well has only one field.
    """
    rows = [{"name": name} for name in _ROWS]
    columns = [{"name": str(number + 1)} for number in range(_COLUMNS)]
    listed = [{"path": well, "rowIndex": _ROWS.index(well[0]), "columnIndex": int(well[2:]) - 1} for well in wells]
    documents = {"zarr.json": document(plate={"rows": rows, "columns": columns, "wells": listed, "name": "huge"})}
    documents |= {
        f"{row}/zarr.json": json.dumps({**_GROUP, "attributes": {}}).encode()
        for row in sorted({well[0] for well in wells})
    }
    fields = {well: [f"{well}/{number}" for number in range(1 if holes else _FIELDS)] for well in wells}
    for well in wells:
        images = [{"path": field.rpartition("/")[2]} for field in fields[well]]
        documents[f"{well}/zarr.json"] = document(well={"images": images})
    for part in ("zarr.json", "0/zarr.json"):
        for well in wells:
            for field in fields[well]:
                documents[f"{field}/{part}"] = image_documents(*chunks[well])[part]
    with path.open("wb") as file:
        writer = ArchiveWriter(file.fileno())
        for key, value in documents.items():
            writer.add(key, value)
        for well in wells:
            count, size = chunks[well]
            value = os.urandom(size) if size <= 1 << 20 else None
            for field in fields[well]:
                for name in sorted((f"{field}/0/c/{number}/0" for number in range(count)), key=hierarchy_order):
                    if value is not None:
                        writer.add(name, value)
                        continue
                    header, offset = local_header(name.encode(), 0, 0, size), writer.flush()
                    file.seek(offset)
                    file.write(header)
                    file.flush()
                    writer.directory.add(name.encode(), 0, 0, size, offset)
                    writer.skip_to(offset + len(header) + size)
        writer.finish(make_comment("0.5", json_first=True))
    return len(documents) + sum(chunks[well][0] * len(fields[well]) for well in wells)


class Measured(NamedTuple):
    """Results for one file: the first and the second extraction, the prediction, and the peak memory in MiB."""

    first: float
    again: float
    predicted: dict[str, int]
    made: dict[str, int]
    made_again: dict[str, int]
    memory: int


def measure(url: str, out: Path, rounds: int) -> Measured:
    """Extract well B/3, first without and then with a cached central directory; return medians and prediction."""
    command = [sys.executable, "-m", "ozx", "extract", url, str(out), "--path", "B/3", "--json", "--force"]
    times: tuple[list[float], list[float]] = [], []
    answers, memory = [], 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "OZX_CACHE": cache}
            if not number:
                planned = subprocess.run(
                    [*command, "--dry-run", "--no-cache"], check=True, capture_output=True, text=True
                )
                answers.append(facts(planned.stdout))
            for seconds in times:
                begin = time.perf_counter()
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
                    answers.append(facts(process.stdout.read()))
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = status
                seconds.append(time.perf_counter() - begin)
                memory = max(memory, usage.ru_maxrss >> 10)
    subprocess.run([sys.executable, "-m", "ozx", "validate", str(out), "--level", "data", "-q"], check=True)
    return Measured(*map(statistics.median, times), *answers[:3], memory)


def facts(answer: str) -> dict[str, int]:
    """Return how many requests and bytes an extraction took, by the JSON answer of ``ozx extract``."""
    found = json.loads(answer)
    return {name: found[name] for name in ("requests", "bytes_read")}


def main() -> None:
    """Make the files, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rclone", default="rclone", help="version 1.65 or newer")
    given = parser.parse_args()
    files = given.folder.resolve() / "files"
    (given.folder / "buckets").mkdir(parents=True, exist_ok=True)
    files.mkdir(exist_ok=True)
    wells = [f"{row}/{number + 1}" for row in _ROWS for number in range(_COLUMNS)]
    many, large = files / "many.ozx", files / "large.ozx"
    entries = make_plate(many, wells, dict.fromkeys(wells, (650, 1000)))
    few = make_plate(large, ["A/1", "B/3"], {"A/1": (500, 2_000_000_000), "B/3": (100, 80_000)}, holes=True)
    print("| file | bytes | entries | seconds | again | requests, predicted | again | bytes, predicted | again | MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    with serving(given.folder / "buckets", files, given.delay, given.rclone) as address:
        for path, count in ((many, entries), (large, few)):
            found = measure(f"{address}/files/{path.name}", given.folder / "well.ozx", given.rounds)
            requests = f"{found.made['requests']}, {found.predicted['requests']} | {found.made_again['requests']}"
            read = (
                f"{found.made['bytes_read']:,}, {found.predicted['bytes_read']:,} | {found.made_again['bytes_read']:,}"
            )
            print(
                f"| {path.stem} | {path.stat().st_size:,} | {count:,} | {found.first:.2f} | {found.again:.2f} "
                f"| {requests} | {read} | {found.memory} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
