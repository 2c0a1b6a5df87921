"""Memory for chunks that is used again, because new memory pages cost as much time as copying or decoding."""

from __future__ import annotations

import threading
import weakref
from collections import deque

import numpy as np
from numpy.typing import NDArray

# A larger buffer is given back to the system after its use.
_LARGEST_KEPT = 4 << 20
# The least length of a buffer of encoded chunks that is used again, and the most bytes that wait for it, by length.
_SMALLEST_KEPT, _MOST_FREE = 1 << 16, 32 << 20

_kept = threading.local()
_free: dict[int, deque[NDArray[np.uint8]]] = {
    1 << bits: deque(maxlen=_MOST_FREE >> bits)
    for bits in range(_SMALLEST_KEPT.bit_length() - 1, _LARGEST_KEPT.bit_length())
}


def scratch(size: int) -> NDArray[np.uint8]:
    """Return a buffer that this thread reuses for each chunk."""
    buffer: NDArray[np.uint8] | None = getattr(_kept, "buffer", None)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size, np.uint8)
        _kept.buffer = buffer if size <= _LARGEST_KEPT else None
    return buffer[:size]


def take_buffer(size: int) -> NDArray[np.uint8]:
    """Return a buffer that is used again once nothing refers to it; memory views of it keep it."""
    length = max(_SMALLEST_KEPT, 1 << (size - 1).bit_length())
    free = _free.get(length)
    if free is None:
        return np.empty(size, np.uint8)
    try:
        buffer = free.pop()
    except IndexError:
        buffer = np.empty(length, np.uint8)
    part = buffer[:size]
    weakref.finalize(part, free.append, buffer).atexit = False
    return part
