"""The memory that Python gives out while a block runs."""

import contextlib
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace


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
