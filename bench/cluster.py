"""Compare a Dask cluster of two workers with ``--jobs 2`` on small images: ``python bench/cluster.py --help``.

The two ways take turns, each in a fresh process and a fresh folder, and must write equal files. Prints a table.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import tifffile
from batches import make_images, seconds
from distributed import Client, LocalCluster


def make_tiffs(folder: Path, count: int) -> list[str]:
    """Write TIFF files of 256 pixels, and return the paths; files that exist already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"image-{number:05}.tif" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            tifffile.imwrite(path, np.full((16, 16), number % 200, "uint8"))
    return list(map(str, paths))


def check_equal(first: Path, second: Path, count: int) -> None:
    """Raise an error unless two folders have `count` equal files."""
    names = sorted(os.listdir(first))
    _, mismatch, errors = filecmp.cmpfiles(first, second, names, shallow=False)
    if len(names) != count or sorted(os.listdir(second)) != names or mismatch or errors:
        raise SystemExit(f"{first} and {second} differ: {mismatch[:3]} {errors[:3]}")


def main() -> None:
    """Measure all commands, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    images = make_images(given.folder / "raw", given.images)
    work = {"pack": images, "import": make_tiffs(given.folder / "tiffs", given.images)}
    ozx = [sys.executable, "-m", "ozx"]
    packed = given.folder / "packed"
    subprocess.run([*ozx, "pack", *images, "--out-dir", str(packed), "--resume", "--quiet"], check=True)
    work["validate"] = [str(packed / f"image-{number:05}.ozx") for number in range(given.images)]
    print(f"{given.images:,} images, medians of {given.rounds}, load {os.getloadavg()[0]:.1f}\n")
    print("| command | --jobs 2 | --dask | ratio |\n|---|--:|--:|--:|")
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        with Client(cluster) as client:
            client.run(__import__, "ozx.operations.pack")
        ways = {"jobs": ["--jobs", "2"], "dask": ["--dask", cluster.scheduler_address]}
        for verb, sources in work.items():
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(given.rounds):
                for way, options in ways.items():
                    out = given.folder / f"out-{way}"
                    shutil.rmtree(out, ignore_errors=True)
                    os.sync()
                    target = [] if verb == "validate" else ["--out-dir", str(out)]
                    times[way].append(seconds([*ozx, verb, *sources, "--quiet", *target, *options]))
                if verb != "validate":
                    check_equal(given.folder / "out-jobs", given.folder / "out-dask", given.images)
            jobs, dask = (statistics.median(times[way]) for way in ("jobs", "dask"))
            spread = [f"{min(times[way]):.1f}–{max(times[way]):.1f}" for way in ("jobs", "dask")]
            print(
                f"| {verb} | {jobs:.1f} s ({spread[0]}) | {dask:.1f} s ({spread[1]}) | {dask / jobs:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
