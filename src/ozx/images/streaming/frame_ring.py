"""The memory in which frames wait until they are encoded: a fixed number of frames, used again and again."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import BufferFull

__all__ = ["FrameRing"]


class FrameRing:
    """A fixed number of frames in memory; any number of threads may use it.

    Parameters
    ----------
    count
        How many.
    shape, dtype
        Of one frame.
    is_waiting
        Whether `acquire` waits for a free frame; else it raises `BufferFull`.

    Attributes
    ----------
    waits, waited
        How often `acquire` had to wait, and for how many seconds in all.
    fullest
        The largest number of frames in use at a time.

    Examples
    --------
    >>> ring = FrameRing(2, (4, 4), np.dtype("uint8"), is_waiting=False)
    >>> frame = ring.acquire()
    >>> ring.used
    1
    >>> ring.release(frame)
    >>> ring.used
    0
    """

    def __init__(self, count: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, is_waiting: bool = True) -> None:
        self.count = count
        self._shape, self._dtype, self._is_waiting = shape, dtype, is_waiting
        self._free: list[NDArray[Any]] = []
        self._changed = threading.Condition()
        self.used = self.waits = self.fullest = 0
        self.waited = 0.0
        self._is_stopped = False

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame."""
        return math.prod(self._shape) * self._dtype.itemsize

    def acquire(self) -> NDArray[Any]:
        """Return a frame to fill; wait until one is free.

        Raises
        ------
        BufferFull
            None is free, and this ring does not wait.
        """
        with self._changed:
            if self.used >= self.count and not self._is_stopped:
                self._wait_for_room()
            self.used += 1
            self.fullest = max(self.fullest, self.used)
            if self._free:
                return self._free.pop()
        return np.empty(self._shape, self._dtype)

    def _wait_for_room(self) -> None:
        if not self._is_waiting:
            raise BufferFull(
                f"all {self.count:,} frames that may wait are in use: encoding or the disk is slower than the camera",
                hint='Drop the frame, try again later, or give when_full="wait". More memory holds more frames.',
            )
        self.waits += 1
        start = time.perf_counter()
        try:
            self._changed.wait_for(lambda: self.used < self.count or self._is_stopped)
        finally:
            self.waited += time.perf_counter() - start

    def release(self, frame: NDArray[Any]) -> None:
        """Give a frame back."""
        with self._changed:
            self.used -= 1
            self._free.append(frame)
            self._changed.notify_all()

    def wait_until_empty(self) -> None:
        """Wait until no frame is in use."""
        with self._changed:
            self._changed.wait_for(lambda: self.used == 0)

    def stop(self) -> None:
        """Let waiting threads continue, after an error."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
