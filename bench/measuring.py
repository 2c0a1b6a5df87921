"""How things are measured: peers take turns, each in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Row

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Group:
    """What is measured together: a function that yields figures, and the peers whose versions stand beside them."""

    measure: Callable[..., Iterable[Figure]]
    peers: tuple[str, ...]


def in_worker(task: str, *arguments: str) -> Callable[[Row], None]:
    def measure(row: Row) -> None:
        command = [sys.executable, str(HERE / "worker.py"), task, *arguments]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row.seconds.append(answer["seconds"])
        row.growth, row.peak = max(row.growth, answer["growth"]), max(row.peak, answer["peak"])
        row.read, row.requests = answer["read"], answer["requests"]

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
