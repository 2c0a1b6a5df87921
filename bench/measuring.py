"""How things are measured: peers take turns, each in a process of its own; rows and tables of what came out."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent


@dataclass
class Row:
    """One measured thing."""

    name: str
    seconds: list[float] = field(default_factory=list)
    growth: int = 0
    peak: int = 0
    read: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Table:
    """Peers measured in turns, the first row is ozx; or, without peers, ozx in several ways."""

    title: str
    rows: list[Row]
    wanted: str
    entries: int = 0
    bytes: int = 0
    show_memory: bool = False
    show_read: bool = False
    peers: bool = True

    def to_markdown(self) -> str:
        own = self.rows[0].median
        lines = [f"### {self.title}", "", f"Wanted: {self.wanted}", ""]
        head = ["", "median s", "min–max s"]
        head += ["ozx is"] if self.peers else []
        head += ["µs per entry"] if self.entries else []
        head += ["GB/s"] if self.bytes else []
        head += ["bytes read"] if self.show_read else []
        head += ["RSS growth MB", "peak MB"] if self.show_memory else ["peak MB"]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in self.rows:
            ratio = row.median / own
            word = (
                "" if row is self.rows[0] else (f"{ratio:.2f} × faster" if ratio >= 1 else f"{1 / ratio:.2f} × slower")
            )
            cells = [row.name, seconds(row.median), f"{seconds(min(row.seconds))}–{seconds(max(row.seconds))}"]
            cells += [word] if self.peers else []
            cells += [f"{row.median / self.entries * 1e6:.1f}"] if self.entries else []
            cells += [f"{self.bytes / row.median / 1e9:.2f}"] if self.bytes else []
            cells += [f"{row.read:,}"] if self.show_read else []
            cells += [f"{row.growth / 1e6:.0f}"] if self.show_memory else []
            cells += [f"{row.peak / 1e6:.0f}" if row.peak else "–"]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"


def seconds(value: float) -> str:
    """Return a time with as many digits as say something."""
    return f"{value:.4f}" if value >= 0.001 else f"{value:.6f}"


def in_worker(task: str, *arguments: str) -> Callable[[Row], None]:
    def measure(row: Row) -> None:
        command = [sys.executable, str(HERE / "worker.py"), task, *arguments]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row.seconds.append(answer["seconds"])
        row.growth, row.peak = max(row.growth, answer["growth"]), max(row.peak, answer["peak"])
        row.read = answer["read"]

    return measure


def as_process(*command: str, with_memory: bool = False) -> Callable[[Row], None]:
    """Return what runs a command and takes its time, and the memory of its largest process where that is asked for.

    Of small programs it would be the memory of this one: Linux takes over the parent's peak at fork.
    """

    def measure(row: Row) -> None:
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            seconds, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                raise RuntimeError(f"{' '.join(command)} failed: {said.read()}")
        row.seconds.append(seconds)
        if with_memory:
            row.peak = max(row.peak, usage.ru_maxrss * 1024)

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


def remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
