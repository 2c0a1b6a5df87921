"""Choose the inputs of a corpus: short inputs that together reach all code that the candidates reach."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["keep_smallest", "steps_of"]

Step = tuple[str, int, int]


def steps_of(target: Callable[[bytes], None], data: bytes) -> set[Step]:
    """Return the steps that `target` takes with `data`; a step is two consecutive lines of a function of ozx."""
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

    target(data)  # fills caches, which take steps of their own the first time
    was_collecting = gc.isenabled()
    gc.disable()  # finalizers of other objects take steps, too
    sys.settrace(trace)
    try:
        target(data)
    finally:
        sys.settrace(None)
        if was_collecting:
            gc.enable()
    return steps


def keep_smallest(target: Callable[[bytes], None], seeds: Iterable[bytes], found: Iterable[bytes], folder: Path) -> int:
    """Replace the files of `folder` by inputs that reach more code than the seeds, and return the number of inputs.

    The candidates are the files of `folder` and `found`. A candidate is kept if it takes a step that neither the seeds
    nor shorter kept candidates take.
    """
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
