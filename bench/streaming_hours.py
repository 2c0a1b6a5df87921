"""Long streams of ``ozx.stream``: ``python bench/streaming_hours.py FOLDER [--seconds 600] [--gigabytes 100]``.

First, the script measures the sustained rate with 2,048 frames. Then it measures the duration of `append` at 80 % of
this rate for some minutes; the frames go to several files in turn, because the disk has room for only one file at a
time (33 GB at 220 MB/s). Last, it samples the memory of a stream of many frames whose encoded size is small. Prints a
line for each stream.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import ozx
from streaming_tasks import CHUNK, DEPTH, SIDE, make_frames

_SUSTAINED = 2048  # frames
_SHARE = 0.8
_SAMPLES = 100
_PART = 150  # approximate seconds for each file


def open_stream(out: Path, codec: str, *, sync: bool = False) -> Any:
    """Return a stream of frames with a pyramid, in the layout of the other benchmarks of streams."""
    return ozx.stream(
        out,
        axes="tyx",
        shape=(None, SIDE, SIDE),
        dtype="uint16",
        codec=codec,
        chunks={"t": 1, "y": CHUNK, "x": CHUNK},
        shards={"t": DEPTH, "y": SIDE, "x": SIDE},
        downsample="y,x",
        force=True,
        sync=sync,
    )


def sustained_rate(out: Path, codec: str) -> float:
    """Return the rate in frames per second, including closing the file and syncing it to the disk."""
    frames = make_frames()
    with open_stream(out, codec, sync=True) as stream:
        for number in range(_SUSTAINED):
            stream.append(frames[number % len(frames)])
    return float(stream.result.frames / stream.result.seconds)


def measure_latency(out: Path, codec: str, seconds: float) -> None:
    """Print the duration of `append` at 80 % of the sustained rate: for several files, the longest durations."""
    rate = sustained_rate(out, codec)
    frames, period = make_frames(), 1 / (_SHARE * rate)
    parts = max(1, round(seconds / _PART))
    results = []
    for _ in range(parts):
        out.unlink(missing_ok=True)
        with open_stream(out, codec) as stream:
            begun = time.perf_counter()
            for number in range(int(seconds / parts / period)):
                time.sleep(max(0.0, begun + number * period - time.perf_counter()))
                stream.append(frames[number % len(frames)])
        results.append(stream.result)
    usual = max(result.append_p999 for result in results)
    longest = max(result.longest_append for result in results)
    print(
        f"{codec}: sustained {rate:,.0f} frames/s; at {_SHARE * rate:,.0f} frames/s for {seconds:,.0f} s in {parts} "
        f"files, calls of append took at most {usual * 1000:.2f} ms ({usual / period:.2f} frame times) in 99.9 % of "
        f"{sum(result.frames for result in results):,}, {longest * 1000:.1f} ms at most; "
        f"{sum(result.waits for result in results):,} waits; "
        f"{max(result.fullest for result in results)} of {results[0].buffer} frames in memory at most",
        flush=True,
    )


def measure_memory(out: Path, gigabytes: float) -> None:
    """Print the memory of a long stream; each frame has only one value, so that the file is small."""
    count = int(gigabytes * 1e9 / (SIDE * SIDE * 2))
    frames = [np.full((SIDE, SIDE), value, "uint16") for value in (1, 2, 3)]
    resident: list[int] = []
    with open_stream(out, "zstd:1") as stream:
        for number in range(count):
            stream.append(frames[number % 3])
            if number % max(1, count // _SAMPLES) == 0:
                resident.append(_resident())
    result, first = stream.result, resident[_SAMPLES // 10 :]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{result.frames:,} frames, {gigabytes:,.0f} GB, at {result.rate / 1e6:,.0f} MB/s: resident "
        f"{first[0] >> 20} MiB after a tenth, {resident[-1] >> 20} MiB at the end, {peak:,.0f} MiB at most; "
        f"the file has {result.bytes:,} bytes",
        flush=True,
    )
    array = ozx.open(out)["0"]
    assert array.shape == (count, SIDE, SIDE)
    for number in range(0, count, max(1, count // 50)):
        assert (array[number] == number % 3 + 1).all(), number


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    """Measure the streams, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--gigabytes", type=float, default=100)
    given = parser.parse_args()
    out = given.folder / "ozx-bench-hours.ozx"
    for codec in ("none", "blosc-lz4:1") if given.seconds else ():
        measure_latency(out, codec, given.seconds)
    if given.gigabytes:
        measure_memory(out, given.gigabytes)
    out.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
