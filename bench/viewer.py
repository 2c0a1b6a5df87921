"""Benchmark of the viewer: the first picture; tiles, bytes and memory during zooms and moves.

Chromium shows the page of `ozx view` without a graphics card. The first picture is complete when the pixels in the
middle of the window no longer change. Without Chromium or its driver, nothing is measured. A message names the missing
programs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from figures import Facts, Row, Table
from measuring import HERE, Group, take_turns

sys.path.append(str(HERE.parent / "tests" / "desktop" / "viewer"))
from chromium import Browser, driver, missing_programs

# The middle of the window, where the page shows only the image.
MIDDLE = (slice(180, 420), slice(180, 460))
STEADY = 1.5  # seconds without a change: the picture is complete
CHANGE = 1.0  # mean difference in grey levels; rounding differences are smaller


def bench_view(folder: Path, *, quick: bool, rounds: int) -> Iterator[Any]:
    missing = missing_programs()
    if missing:
        print(f"view: not measured, because these are not installed: {', '.join(missing)}")
        return
    path = datasets.make_wide_image(folder, quick=quick)
    side = int(path.stem.partition("-")[2])
    what = f"{side:,} × {side:,} pixels (uint16, zstd, sharded)"
    with driver() as address:
        browser = Browser(address, loading="eager", listens=False)
        try:
            rows = take_turns({"ozx view": first_picture(browser, path)}, None, rounds)
            goal = "at most 1 s; the peak memory is that of the server"
            yield Table(f"from the address to the picture: {what}", rows, goal, peers=False)
        finally:
            browser.close()
        browser = Browser(address, listens=False)
        try:
            yield look_around(browser, path, what, zooms=2 if quick else 9, moves=2 if quick else 24)
        finally:
            browser.close()


def first_picture(browser: Browser, path: Path) -> Callable[[Row], None]:
    def measure(row: Row) -> None:
        with page_of(path) as (url, process):
            start = time.perf_counter()
            browser.open(url)
            row.seconds.append(wait_for_picture(browser, start) - start)
            row.peak = max(row.peak, peak(process.pid))
            browser.open("about:blank")

    return measure


def wait_for_picture(browser: Browser, start: float) -> float:
    """Return the time at which the final picture was first seen; an empty page does not count as a picture."""
    seen, last = time.perf_counter(), None
    while time.perf_counter() < start + 60:
        asked = time.perf_counter()
        picture = browser.screenshot()[MIDDLE].astype(np.int16)
        if last is None or np.abs(picture - last).mean() > CHANGE:
            seen, last = asked, picture
        is_image = last.min() > 8 and last.std() > 8
        if is_image and asked - seen > STEADY:
            return seen
    raise AssertionError("the picture never came")


def look_around(browser: Browser, path: Path, what: str, *, zooms: int, moves: int) -> Facts:
    """Zoom in, move and zoom out, wait after each step until all is drawn, and return times, bytes and memory."""
    with page_of(path) as (url, process):
        browser.show(url)
        browser.run("performance.setResourceTimingBufferSize(100000)")
        starts = []
        for key in [*["+"] * zooms, *["move"] * moves, *["-"] * zooms]:
            starts.append(time.perf_counter())
            if key == "move":
                drag(browser, len(starts))
                browser.settle()
            else:
                browser.press(key)
        steps = np.diff([*starts, time.perf_counter()])
        entries = browser.run(
            "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('api/tile?'))"
            ".map(({ duration, encodedBodySize }) => [duration, encodedBodySize])"
        )
        times, sizes = np.array(entries).T
        pages = sum(resident(pid) for pid in descendants(os.getpid()) if is_page(pid))
        rows = [
            ("tiles asked for", f"{len(times):,}"),
            ("a tile, median and 95th percentile", f"{np.median(times):.0f} ms, {np.percentile(times, 95):.0f} ms"),
            ("a step until all is drawn, median", f"{statistics.median(steps) * 1000:.0f} ms"),
            ("bytes of tiles sent", f"{sizes.sum() / 1e6:.0f} MB of {os.path.getsize(path) / 1e6:,.0f} MB in the file"),
            ("server, peak", f"{peak(process.pid) / 1e6:.0f} MB"),
            ("page and its drawing process, resident", f"{pages / 1e6:.0f} MB"),
        ]
        browser.open("about:blank")
    title = f"looking around in {what}: {zooms} zooms in, {moves} moves, {zooms} zooms out"
    return Facts(title, rows, "memory bounded: 256 MiB of decoded chunks, 256 MiB of textures")


def drag(browser: Browser, number: int) -> None:
    """Move the picture by most of the window; `number` determines the direction."""
    right, down = [(-350, 0), (0, -300), (-350, 0), (0, 300)][number % 4]
    browser.pointer(
        {"type": "pointerMove", "duration": 0, "x": 300 - right // 2, "y": 280 - down // 2},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerMove", "duration": 50, "x": 300 + right // 2, "y": 280 + down // 2},
        {"type": "pointerUp", "button": 0},
    )


@contextmanager
def page_of(path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yield the address of a page that a fresh process serves, and the process."""
    command = [sys.executable, "-m", "ozx", "view", str(path), "--no-browser"]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, **options) as process:
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()


def peak(pid: int) -> int:
    """Return the peak memory of a process, in bytes."""
    return _kilobytes(f"/proc/{pid}/status", "VmHWM:")


def resident(pid: int) -> int:
    """Return the memory of a process in bytes, including its share of memory that several processes use."""
    return _kilobytes(f"/proc/{pid}/smaps_rollup", "Pss:")


def _kilobytes(path: str, name: str) -> int:
    with open(path, encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith(name)), 0)


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes that a process has started, directly or through other processes."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                children.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(name))
        except OSError:
            pass  # the process has ended meanwhile
    found = list(children.get(pid, []))
    for child in found:
        found.extend(children.get(child, []))
    return found


def is_page(pid: int) -> bool:
    """Return whether a process of the browser runs a page, or draws for a page."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        command = file.read()
    return b"--type=renderer" in command or b"--type=gpu-process" in command


GROUPS = {"view": Group(bench_view, ("chromium",))}
