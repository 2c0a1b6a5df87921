"""Measuring: the peers take turns, each in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Row

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Group:
    """A group of benchmarks: a function that yields figures, and the peers whose versions are recorded with them."""

    measure: Callable[..., Iterable[Figure]]
    peers: tuple[str, ...]


def in_worker(task: str, *arguments: str, python: str | None = None) -> Callable[[Row], None]:
    """Return a function that runs a task in a fresh process of this or another Python, and adds results to a row."""

    def measure(row: Row) -> None:
        command = [python or sys.executable, str(HERE / "worker.py"), task, *arguments]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row.seconds.append(answer["seconds"])
        row.growth, row.peak = max(row.growth, answer["growth"]), max(row.peak, answer["peak"])
        row.read, row.requests = answer["read"], answer["requests"]

    return measure


def as_process(*command: str, with_memory: bool = False, said: str = "") -> Callable[[Row], None]:
    """Return a function that runs a command, and adds its time to a row.

    Parameters
    ----------
    with_memory
        Whether to record the peak memory of the largest process, too.
    said
        The standard input of the command.
    """
    launcher = [sys.executable, "-S", "-E", str(HERE / "launch.py")]

    def measure(row: Row) -> None:
        answer = subprocess.run([*launcher, *command], capture_output=True, text=True, input=said)
        if answer.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {answer.stderr}")
        figures = json.loads(answer.stdout)
        row.seconds.append(figures["seconds"])
        if with_memory:
            row.peak = max(row.peak, figures["peak"])

    return measure


def take_turns(measures: dict[str, Callable[[Row], None]], output: str | None, rounds: int) -> list[Row]:
    """Run all measures in turns, for `rounds` rounds; before several rounds, one round runs that does not count."""
    rows = [Row(name) for name in measures]
    pairs = list(zip(rows, measures.values(), strict=True))
    for turn in range(rounds + 1 if rounds > 1 else 1):
        # Each round begins with another peer, so that no peer always comes first.
        for row, measure in pairs[turn % len(pairs) :] + pairs[: turn % len(pairs)]:
            if output:
                remove(output)
            if rounds > 1:
                os.sync()  # so that no peer waits for data of the previous peer that are not yet on the disk
            measure(row)
            if turn == 0 and rounds > 1:  # this round only warms the cache
                row.seconds.clear()
    return rows


def remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
