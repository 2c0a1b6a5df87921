"""Ring buffer of fixed size in which frames wait until they are encoded."""

from __future__ import annotations

import threading
import time
from collections import deque
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import BufferFull

__all__ = ["FrameRing"]

_Kind = tuple[tuple[int, ...], np.dtype[Any]]


class FrameRing:
    """Ring buffer with a fixed number of bytes for frames of any shape and type; thread-safe.

    Parameters
    ----------
    size
        The number of bytes; a single frame fits even if it is larger.
    is_waiting
        Whether `acquire` waits for free memory; else it raises `BufferFull`.

    Attributes
    ----------
    used
        The number of frames in use.
    waits, waited
        How often `acquire` had to wait, and for how many seconds in all.
    fullest
        The largest number of frames in use at a time.

    Examples
    --------
    >>> ring = FrameRing(32, is_waiting=False)
    >>> frame = ring.acquire((4, 4), np.dtype("uint8"))
    >>> ring.used
    1
    >>> ring.release(frame)
    >>> ring.used
    0
    """

    def __init__(self, size: int, *, is_waiting: bool = True) -> None:
        self.size = size
        self._is_waiting = is_waiting
        self._free: dict[_Kind, list[NDArray[Any]]] = {}
        # Entering a Condition takes several steps of Python, between which Ctrl-C would leave its lock locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # The waiting calls, in order, so that small frames do not overtake a large frame for ever.
        self._queue: deque[object] = deque()
        self.used = self.waits = self.fullest = 0
        self._used_bytes = self._free_bytes = 0
        self.waited = 0.0
        self._is_stopped = False

    def acquire(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array for the pixels of one frame; wait until enough memory is free.

        Raises
        ------
        BufferFull
            Too little memory is free, and this ring does not wait.
        """
        length = prod(shape) * dtype.itemsize
        with self._lock:
            if (self._queue or not self._has_room(length)) and not self._is_stopped:
                self._wait_for_room(length)
            self.used += 1
            self._used_bytes += length
            self.fullest = max(self.fullest, self.used)
            free = self._free.get((shape, dtype))
            if free:
                self._free_bytes -= length
                return free.pop()
            if self._used_bytes + self._free_bytes > self.size:
                # Free arrays of other shapes or types occupy the memory.
                self._free.clear()
                self._free_bytes = 0
        return np.empty(shape, dtype)

    def release(self, frame: NDArray[Any]) -> None:
        """Free the array of a frame, so that its memory can be reused."""
        with self._lock:
            self.used -= 1
            self._used_bytes -= frame.nbytes
            self._free_bytes += frame.nbytes
            self._free.setdefault((frame.shape, frame.dtype), []).append(frame)
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake all waiting threads after an error; from now on, `acquire` does not wait."""
        with self._lock:
            self._is_stopped = True
            self._changed.notify_all()

    def _has_room(self, length: int) -> bool:
        return self._used_bytes + length <= self.size or not self.used

    def _wait_for_room(self, length: int) -> None:
        if not self._is_waiting:
            raise BufferFull(
                f"the memory is full with {self.used:,} frames: encoding or the disk is slower than the camera",
                hint='Drop the frame, try again later, or give when_full="wait". More memory holds more frames.',
            )
        self.waits += 1
        start = time.perf_counter()
        turn = object()
        try:
            self._queue.append(turn)
            self._changed.wait_for(lambda: (self._queue[0] is turn and self._has_room(length)) or self._is_stopped)
        finally:
            if turn in self._queue:  # Ctrl-C may come just before it
                self._queue.remove(turn)
            self._changed.notify_all()
            self.waited += time.perf_counter() - start
