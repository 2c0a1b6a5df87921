"""Hold values until they are written: in memory up to a limit, beyond that limit in a temporary file."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

from ozx.flow.entry import BytesPart, LazyPart, Part
from ozx.places.positional_reading import READ, divided

_IN_MEMORY = 128 << 20


def open_spool() -> Callable[[bytes], Part]:
    """Return a function that keeps a value and returns a `Part`, by which the value can be read as long as it exists.

    The first values stay in memory; those beyond a limit are written to a temporary file.
    """
    lock, file, room, size = threading.Lock(), None, _IN_MEMORY, 0

    def iter_blocks(kept: IO[bytes], offset: int, length: int) -> Iterator[bytes]:
        for start, count in divided(offset, length, READ):
            with lock:
                kept.seek(start)
                block = kept.read(count)
            yield block

    def keep(data: bytes) -> Part:
        nonlocal file, room, size
        if len(data) <= room:
            room -= len(data)
            return BytesPart(data)
        with lock:
            if file is None:
                file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the last part)
                weakref.finalize(iter_blocks, file.close)
            file.seek(size)
            file.write(data)
            part = LazyPart(len(data), partial(iter_blocks, file, size, len(data)))
            size += len(data)
            return part

    return keep
