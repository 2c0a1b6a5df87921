"""Memory for encoded chunks that is used again."""

from __future__ import annotations

import weakref
from collections import deque

import numpy as np
from numpy.typing import NDArray

# The least and the largest length of a buffer that is used again, and the most bytes that wait for it, by length.
_SMALLEST_KEPT, _LARGEST_KEPT, _MOST_FREE = 1 << 16, 4 << 20, 32 << 20


class _Buffers:
    """Buffers that are used again once nothing refers to them, because new memory pages cost as much as copying."""

    def __init__(self) -> None:
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}
        length = _SMALLEST_KEPT
        while length <= _LARGEST_KEPT:
            self._free[length] = deque(maxlen=_MOST_FREE // length)
            length *= 2

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return a buffer; memory views of it keep it."""
        length = max(_SMALLEST_KEPT, 1 << (size - 1).bit_length())
        free = self._free.get(length)
        if free is None:
            return np.empty(size, np.uint8)
        try:
            buffer = free.pop()
        except IndexError:
            buffer = np.empty(length, np.uint8)
        part = buffer[:size]
        weakref.finalize(part, free.append, buffer).atexit = False
        return part


BUFFERS = _Buffers()
