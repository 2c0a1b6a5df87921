"""Ring buffer of fixed size in which frames wait until they are encoded; while it is full, ``append`` waits.

Ctrl-C may interrupt `FrameRing.acquire` at any step. The caller therefore names the frame for which it acquires an
array: by this name, it can release the array even if the interrupt came before `acquire` returned.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import BufferFull

_Kind = tuple[tuple[int, ...], np.dtype[Any]]


class FrameRing:
    """Ring buffer with a fixed number of bytes for frames of any shape and type; thread-safe."""

    def __init__(self, size: int, *, is_waiting: bool = True) -> None:
        self.size = size
        self._is_waiting = is_waiting
        # The arrays in use, by frame; the free arrays, by shape and type.
        self._taken: dict[object, NDArray[Any]] = {}
        self._free: dict[_Kind, list[NDArray[Any]]] = {}
        # Entering a Condition takes several steps of Python, between which Ctrl-C would leave its lock locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # The waiting calls, in order, so that small frames do not overtake a large frame for ever.
        self._queue: deque[object] = deque()
        self.waits = self.fullest = 0
        self._taken_bytes = self._free_bytes = 0
        # False while a call changes the arrays; an interrupted call leaves it False.
        self._are_bytes_right = True
        self.waited = 0.0
        self._is_stopped = False

    @property
    def used(self) -> int:
        """The number of frames in use."""
        return len(self._taken)

    def acquire(self, frame: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array for the pixels of `frame`; wait until enough memory is free."""
        length = prod(shape) * dtype.itemsize
        with self._lock:
            self._count_bytes()
            if (self._queue or not self._has_room(length)) and not self._is_stopped:
                self._wait_for_room(length)
            self._are_bytes_right = False
            if free := self._free.get((shape, dtype)):
                array = free.pop()
                self._free_bytes -= length
            else:
                array = np.empty(shape, dtype)
            self._taken[frame] = array
            self._taken_bytes += length
            if self._taken_bytes + self._free_bytes > self.size:
                # Free arrays of other shapes or types occupy the memory.
                self._free.clear()
                self._free_bytes = 0
            self._are_bytes_right = True
            self.fullest = max(self.fullest, self.used)
            return array

    def release(self, frame: object) -> None:
        """Free the array of `frame`, so that its memory can be reused; do nothing if the frame has no array."""
        with self._lock:
            self._count_bytes()
            self._are_bytes_right = False
            array = self._taken.pop(frame, None)
            if array is not None:
                self._taken_bytes -= array.nbytes
                self._free_bytes += array.nbytes
                self._free.setdefault((array.shape, array.dtype), []).append(array)
            self._are_bytes_right = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake all waiting threads after an error; from now on, `acquire` does not wait."""
        with self._lock:
            self._is_stopped = True
            self._changed.notify_all()

    def _has_room(self, length: int) -> bool:
        return self._taken_bytes + length <= self.size or not self._taken

    def _count_bytes(self) -> None:
        """Count the bytes of all arrays again if a call was interrupted while it changed them."""
        if not self._are_bytes_right:
            self._taken_bytes = sum(array.nbytes for array in self._taken.values())
            self._free_bytes = sum(array.nbytes for arrays in self._free.values() for array in arrays)
            self._are_bytes_right = True

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
