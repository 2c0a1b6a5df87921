"""Hold values until they are written: in memory up to a limit, beyond that limit in a temporary file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from ozx.archive.positional_reading import READ, divided
from ozx.flow.entry import BytesPart, Part

_IN_MEMORY = 128 << 20


class Spool:
    """A buffer of values: in memory up to a limit, beyond that limit in a temporary file.

    `add` returns a `Part` for each value. The value can be read as long as this `Part` exists.
    """

    def __init__(self) -> None:
        self._room = _IN_MEMORY
        self._file: _SpoolFile | None = None

    def add(self, data: bytes) -> Part:
        """Add a value to the buffer; return a `Part` to read the value later."""
        if len(data) <= self._room:
            self._room -= len(data)
            return BytesPart(data)
        if self._file is None:
            self._file = _SpoolFile()
        return self._file.add(data)


class _SpoolFile:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        self._size = 0

    def __del__(self) -> None:
        self._file.close()

    def add(self, data: bytes) -> Part:
        with self._lock:
            self._file.seek(self._size)
            self._file.write(data)
            part = _SpooledPart(self, self._size, len(data))
            self._size += len(data)
            return part

    def read(self, offset: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length)


@dataclass(frozen=True, slots=True)
class _SpooledPart:
    file: _SpoolFile
    offset: int
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        for offset, length in divided(self.offset, self.length, READ):
            yield self.file.read(offset, length)
