"""Hold values until they are written: in memory up to a limit, beyond that limit in a temporary file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from typing import IO

from ozx.flow.entry import BytesPart, LazyPart, Part
from ozx.places.positional_reading import READ, divided

_IN_MEMORY = 128 << 20


class Spool:
    """A buffer of values: in memory up to a limit, beyond that limit in a temporary file.

    `add` returns a `Part` for each value. The value can be read as long as this `Part` exists.
    """

    def __init__(self) -> None:
        self._room = _IN_MEMORY
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._size = 0  # of the file

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, data: bytes) -> Part:
        """Add a value to the buffer; return a `Part` to read the value later."""
        if len(data) <= self._room:
            self._room -= len(data)
            return BytesPart(data)
        with self._lock:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
            self._file.seek(self._size)
            self._file.write(data)
            part = LazyPart(len(data), partial(self._iter_blocks, self._file, self._size, len(data)))
            self._size += len(data)
            return part

    def _iter_blocks(self, file: IO[bytes], offset: int, length: int) -> Iterator[bytes]:
        for start, count in divided(offset, length, READ):
            with self._lock:
                file.seek(start)
                block = file.read(count)
            yield block
