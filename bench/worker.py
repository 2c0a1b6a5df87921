"""Run one timed task in a separate process: ``worker.py MODULE.FUNCTION ARGUMENT…`` prints the figures as JSON.

The function prepares the task, including all imports, before the timing starts. The function returns the timed task: a
callable, or a `Repeated`.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Repeated:
    """A task that repeats the same work `count` times, with a check of its result."""

    run: Callable[[], Any]
    verify: Callable[[Any], None]
    count: int = 1
    requests: Callable[[], int] = lambda: 0
    received: Callable[[], int] = lambda: _status("/proc/self/io", "rchar")


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _status(path: str, name: str) -> int:
    with open(path, encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def main() -> None:
    module, _, function = sys.argv[1].partition(".")
    made = getattr(importlib.import_module(module), function)(*sys.argv[2:])
    task = made if isinstance(made, Repeated) else Repeated(made, lambda _: None)
    before, read, requests = _resident(), task.received(), task.requests()
    start = time.perf_counter()
    result = task.run()
    seconds = time.perf_counter() - start
    figures = {
        "seconds": seconds / task.count,
        "read": (task.received() - read) // task.count,
        "requests": (task.requests() - requests) // task.count,
        "growth": _resident() - before,
        # Under Linux, ru_maxrss includes the peak of the parent at fork; VmHWM is the peak of this program alone.
        "peak": _status("/proc/self/status", "VmHWM") * 1024,
    }
    task.verify(result)
    print(json.dumps(figures))


if __name__ == "__main__":
    # So that `from worker import Repeated` in the module of a task imports this class, not a copy.
    sys.modules["worker"] = sys.modules["__main__"]
    main()
