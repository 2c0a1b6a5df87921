"""Which inputs a corpus keeps: the shortest ones that together reach all the code that any of them reaches."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["keep_smallest", "steps_of"]

Step = tuple[str, int, int]


def steps_of(target: Callable[[bytes], None], data: bytes) -> set[Step]:
    """Return the steps, from line to line of a function of ozx, that `target` takes with `data`."""
    steps: set[Step] = set()

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if "/ozx/" not in name:
            return None
        last = frame.f_lineno

        def trace_lines(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            if event == "line":
                steps.add((name, last, frame.f_lineno))
                last = frame.f_lineno
            return trace_lines

        return trace_lines

    sys.settrace(trace)
    try:
        target(data)
    finally:
        sys.settrace(None)
    return steps


def keep_smallest(target: Callable[[bytes], None], seeds: Iterable[bytes], found: Iterable[bytes], folder: Path) -> int:
    """Have `folder` hold those of its files and of `found` that reach what the seeds do not; return how many."""
    reached: set[Step] = set()
    for seed in seeds:
        reached |= steps_of(target, seed)
    candidates = {*found, *(path.read_bytes() for path in folder.iterdir())}
    kept = {}
    for data in sorted(candidates, key=lambda data: (len(data), data)):
        steps = steps_of(target, data)
        if not steps <= reached:
            reached |= steps
            kept[hashlib.sha256(data).hexdigest()[:12]] = data
    for path in folder.iterdir():
        path.unlink()
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    return len(kept)
