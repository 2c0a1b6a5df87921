"""Measure the cost of log, manifest and a cluster when packing many small images: ``python bench/batches.py --help``.

The images are copies of the small fixture. The commands take turns, each in a fresh process and a fresh folder, and
must write equal files. `sha256sum` of the finished files shows the cost of the hashes alone. Prints a table.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

IMAGE = Path(__file__).parent.parent / "fixtures" / "image.ome.zarr"


def make_images(folder: Path, count: int) -> list[str]:
    """Copy the image `count` times, and return the paths; copies that exist already are kept."""
    paths = [folder / f"image-{number:05}.ome.zarr" for number in range(count)]
    for path in paths:
        if not path.exists():
            shutil.copytree(IMAGE, path)
    return list(map(str, paths))


def seconds(arguments: list[str]) -> float:
    """Run a command and return its time."""
    begin = time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Measure all commands, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-dask", action="store_true")
    given = parser.parse_args()
    images = make_images(given.folder / "raw", given.images)
    pack = [sys.executable, "-m", "ozx", "pack", *images, "--quiet", "--out-dir"]
    ways = {
        "pack": [],
        "pack --log": ["--log", "LOG"],
        "pack --log --manifest": ["--log", "LOG", "--manifest"],
        "pack --jobs 2": ["--jobs", "2"],
        "pack --jobs 2 --log --manifest": ["--jobs", "2", "--log", "LOG", "--manifest"],
    }
    times: dict[str, list[float]] = {}
    scheduler = None
    if not given.no_dask:
        from distributed import Client, LocalCluster

        scheduler = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0")
        Client(scheduler).run(__import__, "ozx.operations.pack")
        ways["pack --dask, two workers"] = ["--dask", scheduler.scheduler_address]
    expected = None
    for turn in range(given.rounds):
        for way, options in ways.items():
            out = (
                given.folder / f"out-{turn}-{list(ways).index(way)}"
            )  # never an old name: ext4 would search for unused inodes
            os.sync()
            arguments = [*pack, str(out), *(f"{out}.jsonl" if each == "LOG" else each for each in options)]
            times.setdefault(way, []).append(seconds(arguments))
            files = [f"image-{number:05}.ozx" for number in range(given.images)]
            if expected is None:
                expected = out
            _, mismatch, errors = filecmp.cmpfiles(expected, out, files[:: max(1, given.images // 100)], shallow=False)
            if mismatch or errors or len(list(out.glob("*.ozx"))) != given.images:
                raise SystemExit(f"{way}: wrong files: {mismatch[:3]} {errors[:3]}")
        hashed = [str(path) for path in sorted((given.folder / f"out-{turn}-0").glob("*.ozx"))]
        times.setdefault("sha256sum of the files", []).append(seconds(["sha256sum", *hashed]))
    if scheduler is not None:
        scheduler.close()
    print(f"{given.images:,} images, medians of {given.rounds}\n\n| command | seconds | to pack |\n|---|--:|--:|")
    base = statistics.median(times["pack"])
    for way, measured in times.items():
        print(f"| {way} | {statistics.median(measured):.1f} | {statistics.median(measured) / base:.2f} |")


if __name__ == "__main__":
    main()
