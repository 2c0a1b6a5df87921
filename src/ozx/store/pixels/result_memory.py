"""Memory for the pixels of a result, in huge pages where the system has them."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The length of a huge page of Linux on most processors; elsewhere the advice has less effect, but no harm.
_HUGE_PAGE = 2 << 20


def empty_pixels(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array without values, as `numpy.empty` does.

    Fresh memory of 2 MiB has 512 pages of the usual size, and to get these takes longer than to read their bytes from
    the system's cache. numpy asks for huge pages, too, but only from 4 MiB on, and its memory begins between two pages.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _HUGE_PAGE or dtype.hasobject or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    octets = np.frombuffer(memory, np.uint8)
    start = -octets.ctypes.data % _HUGE_PAGE
    with suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE, start, size // _HUGE_PAGE * _HUGE_PAGE)
    return octets[start : start + size].view(dtype).reshape(shape)
