"""Entries: store keys with values that are read later."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ozx.archive.positional_reading import open_for_reading, read_into_at
from ozx.errors import FormatError, name_error

CHANGED_HINT = "Wait until the program that writes the file has finished, then try again."

_BLOCK = 1 << 20


class Part(Protocol):
    """A value, or a byte range of a value: in memory, or read later from a file or a server."""

    @property
    def length(self) -> int:
        """The number of bytes in the part."""

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes; blocks from a file have at most about 1 MiB."""


class Span(Part, Protocol):
    """A `Part` of which any byte range can be read separately."""

    def span(self, offset: int, length: int) -> Span:
        """Return the range of `length` bytes from `offset` in this span, without reading the bytes."""


class FillingSpan(Span, Protocol):
    """A `Span` that can read its bytes into a given buffer."""

    def span(self, offset: int, length: int) -> FillingSpan:
        """Return the range of `length` bytes from `offset` in this span, without reading the bytes."""

    def read_into(self, view: memoryview) -> None:
        """Fill `view` with the span's bytes; `view` must have the span's length."""


def iter_divided(span: FillingSpan) -> Iterator[bytes]:
    """Yield the bytes of a span in blocks, read through one reused buffer."""
    buffer = memoryview(bytearray(min(_BLOCK, span.length)))
    for offset in range(0, span.length, _BLOCK):
        length = min(_BLOCK, span.length - offset)
        span.span(offset, length).read_into(buffer[:length])
        yield bytes(buffer[:length])


@dataclass(frozen=True, slots=True)
class BytesPart:
    """A part whose bytes are in memory."""

    data: bytes | bytearray | memoryview

    @property
    def length(self) -> int:
        """The number of bytes."""
        return len(self.data)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes."""
        yield bytes(self.data)

    def span(self, offset: int, length: int) -> BytesPart:
        """Return the range of `length` bytes from `offset`."""
        return BytesPart(self.data[offset : offset + length])


@dataclass(frozen=True, slots=True)
class FilePart:
    """A whole file as a part; the file must not change while it is read."""

    path: str
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the file's bytes."""
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
        except OSError as error:
            name_error(error, self.path)
            raise
        finally:
            os.close(descriptor)


class FileSpan(NamedTuple):
    """A span of a file that must not change; spans are tuples, to save memory in lists of a million spans."""

    path: str  # the file
    offset: int  # the span in the file
    length: int
    status: tuple[int, int]  # the required size and modification time of the file

    @classmethod
    def of_file(cls, path: str) -> FileSpan:
        """Return a span of the whole file in its current state."""
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise not_regular(path)
        return cls(path, 0, status.st_size, (status.st_size, status.st_mtime_ns))

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes; raise `FormatError` (``zip/changed``) if the file changed."""
        return iter_divided(self)

    def span(self, offset: int, length: int) -> FileSpan:
        """Return the range of `length` bytes from `offset` in this span."""
        return FileSpan(self.path, self.offset + offset, length, self.status)

    def read_into(self, view: memoryview) -> None:
        """Fill `view` with the span's bytes, directly from the file; `view` must have the span's length."""
        descriptor = open_for_reading(self.path)
        try:
            before = os.fstat(descriptor)
            # Never read from a pipe that replaced the file.
            is_same = (before.st_size, before.st_mtime_ns) == self.status
            count = read_into_at(descriptor, view, self.offset) if is_same else 0
            after = os.fstat(descriptor)
        except OSError as error:
            name_error(error, self.path)
            raise
        finally:
            os.close(descriptor)
        if not is_same or count != self.length or (after.st_size, after.st_mtime_ns) != self.status:
            raise changed(self.path)


@dataclass(frozen=True, slots=True)
class Entry:
    """A store key with its value, which consists of one or more consecutive parts."""

    key: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """The length of the value in bytes."""
        return sum(part.length for part in self.parts)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the value in blocks."""
        for part in self.parts:
            yield from part.iter_blocks()


def read_part(part: Part) -> bytes:
    """Return all bytes of a part that fits into memory."""
    return b"".join(part.iter_blocks())


def read_into(part: Part, view: memoryview) -> None:
    """Fill `view` with the part's bytes, without a copy if the part supports it; `view` must have the part's length."""
    fill = getattr(part, "read_into", None)
    if fill is None:
        fill_from_blocks(part, view)
    else:
        fill(view)


def fill_from_blocks(part: Part, view: memoryview) -> None:
    """Fill `view` from the blocks that the part yields."""
    position = 0
    for block in part.iter_blocks():
        end = position + len(block)
        if end <= len(view):
            view[position:end] = block
        position = end
    if position != len(view):
        message = f"expected a value of {len(view):,} bytes, got {position:,}"
        raise FormatError(message, rule="zip/changed", hint=CHANGED_HINT)


def status_of(descriptor: int, path: str) -> tuple[int, int]:
    """Return the size in bytes and the modification time in nanoseconds of an open file."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise not_regular(path)
    return status.st_size, status.st_mtime_ns


def changed(path: str) -> FormatError:
    """Return the error for a file that changed while ozx read it."""
    return FormatError(
        "the file changed while it was read",
        path=path,
        rule="zip/changed",
        hint=CHANGED_HINT,
    )


def not_regular(path: str) -> FormatError:
    """Return the error for a path that is not, or no longer, a regular file."""
    return FormatError("expected a regular file; found another kind of file", path=path, rule="zip/special-file")
