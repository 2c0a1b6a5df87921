"""What flows from sources to sinks: a store key, and a value that nobody has read yet."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ozx.archive.positional_reading import open_for_reading
from ozx.errors import FormatError

__all__ = ["BytesPart", "Entry", "FilePart", "Part", "changed", "not_regular", "status_of"]

_BLOCK = 1 << 20


class Part(Protocol):
    """One piece of a value: bytes at hand, or a place to read them from."""

    @property
    def length(self) -> int:
        """The number of bytes."""

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes, in blocks of at most about 1 MiB where they are read from somewhere."""


@dataclass(frozen=True, slots=True)
class BytesPart:
    """Bytes at hand."""

    data: bytes

    @property
    def length(self) -> int:
        """The number of bytes."""
        return len(self.data)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes."""
        yield self.data


@dataclass(frozen=True, slots=True)
class FilePart:
    """A whole file, which is checked not to change while it is read."""

    path: str
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the file's bytes; `FormatError` (``zip/changed``) when they are not `length` unchanging ones."""
        descriptor = open_for_reading(self.path)
        try:
            before = status_of(descriptor, self.path)
            remaining = self.length
            while data := os.read(descriptor, _BLOCK):
                remaining -= len(data)
                if remaining < 0:
                    break
                yield data
            if remaining or before != status_of(descriptor, self.path):
                raise changed(self.path)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Entry:
    """A store key and its value, in one or more parts that follow each other."""

    key: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """The value's number of bytes."""
        return sum(part.length for part in self.parts)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the value in blocks."""
        for part in self.parts:
            yield from part.iter_blocks()


def status_of(descriptor: int, path: str) -> tuple[int, int]:
    """Return size and modification time of an open file; `FormatError` (``zip/special-file``) when it is none."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise not_regular(path)
    return status.st_size, status.st_mtime_ns


def changed(path: str) -> FormatError:
    """Return the error for a file that was written to while it was read."""
    return FormatError(
        "the file changed while it was read",
        path=path,
        rule="zip/changed",
        hint="Wait until whatever writes to it has finished, then try again.",
    )


def not_regular(path: str) -> FormatError:
    """Return the error for a file whose place something else has taken."""
    return FormatError("expected a regular file; something else took its name", path=path, rule="zip/special-file")
