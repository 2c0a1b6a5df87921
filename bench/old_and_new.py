"""Time this code against an older commit, in turns: ``python bench/old_and_new.py COMMIT [--rounds 9] [--quick]``.

Two processes, one with the code of COMMIT and one with the code here, do the same tasks on the same files by the
public functions. Prints the medians; marks what takes more than 10 % and 1 ms longer, and ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ozx
from outputs import ROOT, checkout

HERE = Path(__file__).resolve()


def make_files(folder: Path, length: int) -> None:
    """Write the files that the tasks read."""
    import tifffile

    noise = np.random.default_rng(0).integers(0, 60, (length, length))
    pixels = (noise + np.hypot(*np.mgrid[:length, :length]) / 4).astype("u2")
    images: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("small", pixels[:64, :64], {}),
        ("many", pixels, {"chunks": "y=64,x=64", "shards": "none"}),
        ("chunked", pixels, {"chunks": "y=512,x=512", "shards": "none"}),
        ("sharded", pixels, {"chunks": "y=256,x=256"}),
    )
    for name, part, options in images:
        ozx.write_image(folder / f"{name}.ozx", part, **options)
        ozx.unpack(folder / f"{name}.ozx", folder / f"{name}.zarr")
    np.save(folder / "pixels.npy", pixels)
    tifffile.imwrite(folder / "image.tif", pixels, tile=(256, 256), compression="zlib")


def tasks_of(files: Path, own: Path) -> dict[str, Callable[[], Any]]:
    """Return the tasks; each returns what must be equal in both processes."""
    pixels = np.load(files / "pixels.npy")
    written: dict[str, Any] = {"force": True, "sync": False}
    sharded = ozx.open(files / "sharded.ozx")["0"]
    corners = np.random.default_rng(1).integers(0, len(pixels) - 256, (200, 2))

    def making(verb: str, source: Any, name: str, **options: Any) -> Callable[[], int]:
        def make() -> int:
            getattr(ozx, verb)(source, own / name, **written, **options)
            return (own / name).stat().st_size

        return make

    def unpack() -> int:
        shutil.rmtree(own / "unpacked.zarr", ignore_errors=True)
        return ozx.unpack(files / "many.ozx", own / "unpacked.zarr", sync=False).entries

    def edit() -> int:
        shutil.copy(files / "small.ozx", own / "edited.ozx")
        ozx.edit(own / "edited.ozx", name="cells", sync=False)
        return (own / "edited.ozx").stat().st_size

    def write() -> int:
        ozx.write_image(own / "written.ozx", pixels, **written)
        return (own / "written.ozx").stat().st_size

    return {
        "pack many chunks": making("pack", files / "many.zarr", "packed.ozx"),
        "pack a small image": making("pack", files / "small.zarr", "packed.ozx"),
        "pack into shards": making("pack", files / "many.zarr", "packed.ozx", shards="auto"),
        "unpack": unpack,
        "open, one chunk": lambda: int(np.asarray(ozx.open(files / "small.ozx")["0"][:8, :8]).sum()),
        "read chunks": lambda: int(np.asarray(ozx.open(files / "chunked.ozx")["0"][:]).sum()),
        "read shards": lambda: int(np.asarray(ozx.open(files / "sharded.ozx")["0"][:]).sum()),
        "200 windows": lambda: sum(int(np.asarray(sharded[y : y + 256, x : x + 256]).sum()) for y, x in corners),
        "validate": lambda: len(ozx.validate(files / "many.ozx").findings),
        "validate a small image": lambda: len(ozx.validate(files / "small.ozx").findings),
        "inspect": lambda: ozx.inspect(files / "many.ozx").entries,
        "repack, another codec": making("repack", files / "chunked.ozx", "repacked.ozx", codec="zstd:3"),
        "write an image": write,
        "import a TIFF": making("import_image", files / "image.tif", "imported.ozx"),
        "export a TIFF": making("export", files / "chunked.ozx", "exported.ome.tif"),
        "extract a plane": making("extract", files / "chunked.ozx", "extracted.ozx", levels="0"),
        "edit": edit,
    }


def work(files: Path, own: Path) -> None:
    """Do each task that a line of the input names, as often as it says; print its shortest time and its answer."""
    warnings.simplefilter("ignore")
    own.mkdir()
    tasks = tasks_of(files, own)
    print(json.dumps([ozx.__file__, list(tasks)]), flush=True)
    for line in sys.stdin:
        name, repeats = json.loads(line)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            try:
                answer = tasks[name]()
            except AttributeError as error:  # a verb that this commit does not have
                answer = error
            times.append(time.perf_counter() - start)
        print(json.dumps([min(times), zlib.crc32(str(answer).encode())]), flush=True)


def worker(tree: Path, files: Path, name: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a process with the code of a tree; return it, and the names of its tasks."""
    process = subprocess.Popen(
        [sys.executable, str(HERE), "--work", str(files), str(files / name)],
        env=os.environ | {"PYTHONPATH": str(tree / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    package, tasks = json.loads(process.stdout.readline())
    if not package.startswith(str(tree)):
        sys.exit(f"{package} was measured, and not {tree}")
    return process, tasks


def measure(process: subprocess.Popen[str], task: str, repeats: int) -> tuple[float, int]:
    """Let a process do a task; return its shortest time in seconds, and the digest of its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([task, repeats]) + "\n")
    process.stdin.flush()
    seconds, answer = json.loads(process.stdout.readline())
    return seconds, answer


def compare(commit: str, rounds: int, length: int) -> int:
    """Print the medians of both; return the exit code."""
    with tempfile.TemporaryDirectory() as temporary, checkout(commit) as tree, contextlib.ExitStack() as stack:
        files = Path(temporary)
        make_files(files, length)
        (old, names), (new, _) = worker(tree, files, "old"), worker(ROOT, files, "new")
        stack.enter_context(old), stack.enter_context(new)
        slower = []
        for task in names:
            once, _ = measure(old, task, 1)
            repeats = max(1, min(20, int(0.02 / once)))
            turns = [(old, new) if number % 2 else (new, old) for number in range(rounds + 1)]
            results = [{process: measure(process, task, repeats) for process in turn} for turn in turns][1:]
            if any(result[old][1] != result[new][1] for result in results):
                print(f"{task:24} the answers differ")
                continue
            before, after = (statistics.median(result[process][0] for result in results) for process in (old, new))
            is_slower = after > 1.1 * before and after - before > 1e-3
            slower += [task] * is_slower
            print(
                f"{task:24} {before * 1e3:9.2f} ms {after * 1e3:9.2f} ms {after / before:5.2f} {'slower' * is_slower}"
            )
    return 1 if slower else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a small image and one round: checks that everything runs")
    parser.add_argument("--work", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work)
        return 0
    return compare(given.commit, 1 if given.quick else given.rounds, 512 if given.quick else 4096)


if __name__ == "__main__":
    sys.exit(main())
