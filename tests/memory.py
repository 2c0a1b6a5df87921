"""The memory that Python gives out while a block runs, and pixels that are freed."""

import contextlib
import gc
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np


@contextlib.contextmanager
def traced_memory() -> Iterator[SimpleNamespace]:
    """Yield what has, after the block, the bytes that are `held` then and those of the `peak`."""
    memory = SimpleNamespace()
    tracemalloc.start()
    try:
        yield memory
        memory.held, memory.peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def assert_freed(read: Callable[[], np.ndarray], seconds: float = 0) -> None:
    """Assert that the pixels which `read` returns are freed without the collector, at once or after some seconds."""
    gc.disable()
    try:
        pixels = read()
        is_alive = weakref.ref(pixels if pixels.base is None else pixels.base)
        del pixels
        deadline = time.monotonic() + seconds
        while is_alive() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_alive() is None
    finally:
        gc.enable()
