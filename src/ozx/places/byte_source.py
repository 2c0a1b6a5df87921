"""Sources of an archive's bytes, which can be read at any offset."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, Protocol

from ozx.atomic.locks import has_locks
from ozx.errors import FormatError, UsageError
from ozx.file_changes import OPEN_AGAIN, changed, identity_of
from ozx.places.positional_reading import READ, PositionalFile, divided, has_pread, pread


class ByteSource(Protocol):
    """Interface of a source: bytes of known length that any thread can read at any offset."""

    @property
    def name(self) -> str:
        """Name of the source in messages, usually its path."""

    def size(self) -> int:
        """Return the length in bytes, as it was at the first read."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the source."""

    def check_unchanged(self) -> None:
        """Raise `FormatError` (``zip/changed``) if the source changed after the first read."""


class FileSource:
    """A local file, opened at the first read; safe to use with threads, fork and pickle."""

    def __init__(self, path: str, name: str | None = None) -> None:
        self._file = PositionalFile(path)
        #: For messages: the path of the file, or the URL of which the file is a copy.
        self.name = path if name is None else name
        self._identity: tuple[int, ...] | None = None

    def size(self) -> int:
        """Return the length of the file in bytes, as it was at the first read."""
        if self._identity is None:
            self._identity = identity_of(self._file.fstat())
        return self._identity[0]

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the file."""
        return self._file.read_at(offset, length)

    def read_into_at(self, buffer: memoryview, offset: int) -> int:
        """Fill `buffer` with bytes from `offset`, except at the end of the file; return their number."""
        return self._file.read_into_at(buffer, offset)

    def read_vectors_at(self, buffers: Sequence[memoryview], offset: int) -> int:
        """Fill `buffers`, at most 1,024, one after the other; see `read_into_at`."""
        return self._file.read_vectors_at(buffers, offset)

    def check_unchanged(self, path: str | None = None) -> None:
        """Check that the file, possibly renamed to `path`, was not changed or replaced after the first read.

        If the source was unpickled, the first read may have been made by the original source in another process.
        """
        if self._identity is None:
            return
        try:
            status = os.stat(path or self._file.path)
        except FileNotFoundError:  # the open file can still be read without its name
            status = self._file.fstat()
        if self._identity != identity_of(status):
            raise changed(self.name, OPEN_AGAIN)

    def check_before_replacing(self, path: str) -> None:
        """Check right before another file replaces this one, whose name is `path`, that this file was not changed.

        On Windows, where an open file cannot be replaced, close it first.
        """
        if not has_locks():
            self.close()
        self.check_unchanged(path)

    def descriptor(self) -> int:
        """Return the descriptor of the open file, which the operating system needs to copy bytes; do not close it."""
        return self._file.descriptor()

    def close(self) -> None:
        """Close the file after all running reads; a later read reopens it."""
        self._file = PositionalFile(self._file.path)


class OpenFileSource:
    """A binary file that the caller has opened, or a `BytesIO`; it stays open, and its position is restored."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()
        name = getattr(file, "name", None)
        self.name = name if isinstance(name, str) else f"<{type(file).__name__}>"
        self._check_open()
        if not all(getattr(file, able, lambda: True)() for able in ("readable", "seekable")):
            raise UsageError(
                "expected an open file that can be read at any place",
                path=self.name,
                hint='Open it with open(path, "rb"), or wrap what a pipe or server sends in io.BytesIO.',
            )
        # Of a file that was opened plainly; that of an object that decodes a file is another one.
        is_plain = type(file) in (io.BufferedReader, io.FileIO) and has_pread()
        self._descriptor = file.fileno() if is_plain else None

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "an open file cannot go to another process", path=self.name, hint="Open the image by its path."
        )

    def size(self) -> int:
        """Return the length of the file in bytes."""
        self._check_open()
        with self._lock, _kept_position(self._file):
            return self._file.seek(0, os.SEEK_END)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the file."""
        self._check_open()
        if self._descriptor is not None:  # unlike a seek, it is also right after a fork, which shares the position
            return pread(self._descriptor, length, offset)
        with self._lock, _kept_position(self._file):
            self._file.seek(offset)
            data = self._file.read(length)
            while len(data) < length and (more := self._file.read(length - len(data))):  # an unbuffered file
                data += more
            return data

    def _check_open(self) -> None:
        if getattr(self._file, "closed", False):
            raise UsageError("the file was closed", path=self.name, hint="Close it after the last use of the image.")

    def check_unchanged(self) -> None:
        """Do nothing: the caller has the file."""


@contextmanager
def _kept_position(file: BinaryIO) -> Iterator[None]:
    position = file.tell()
    try:
        yield
    finally:
        file.seek(position)


class MemorySource:
    """A source of bytes in memory: a whole file, or the part of a file that begins at `start`."""

    def __init__(self, data: bytes | memoryview, name: str = "<memory>", start: int = 0) -> None:
        self.data = data
        self.name = name
        self.start = start

    def size(self) -> int:
        """Return the length of the file up to the end of the bytes in memory."""
        return self.start + len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from the offset in the file, or fewer bytes at the end of those in memory."""
        return bytes(self.data[offset - self.start : offset - self.start + length])

    def check_unchanged(self) -> None:
        """Do nothing: bytes in memory do not change."""


@dataclass(frozen=True, slots=True)
class Run:
    """A range of bytes in a new file: either new bytes, or `length` bytes that start at `offset` in an old file."""

    offset: int
    length: int
    data: bytes | None = None  # None: bytes of the old file

    @classmethod
    def of(cls, data: bytes) -> Run:
        """Return a range with the bytes `data`."""
        return cls(0, len(data), data)


def read_exactly(source: ByteSource, offset: int, length: int, what: str) -> bytes:
    """Return exactly `length` bytes at `offset`, or raise an error; `what` names these bytes in the message."""
    available = source.size() - offset
    if length > available or offset < 0:
        raise FormatError(
            f"{what} needs bytes {offset:,} to {offset + length:,}, but the file ends at {source.size():,}",
            path=source.name,
            rule="zip/truncated",
            hint="The file is incomplete: copy or download it again.",
        )
    data = source.read_at(offset, length)
    if len(data) != length:
        raise FormatError(
            f"{what}: expected {length:,} bytes at {offset:,}, got {len(data):,}; the file shrank while it was read",
            path=source.name,
            rule="zip/changed",
        )
    return data


def iter_exactly(source: ByteSource, offset: int, length: int, what: str) -> Iterator[bytes]:
    """Yield exactly `length` bytes in blocks (of 1 MiB, of a remote file more), or raise errors as `read_exactly`."""
    block = getattr(source, "block", READ)
    for start, count in divided(offset, length, block):
        yield read_exactly(source, start, count, what)


def read_in_runs(source: object) -> None:
    """Let a remote source combine later short reads into long requests, because most of the file will be read."""
    begin = getattr(source, "read_in_runs", None)
    if begin is not None:
        begin()


def read_head_early(source: object) -> None:
    """Let the first use of a remote source also request the beginning of the file, where an archive's metadata is."""
    begin = getattr(source, "read_head_early", None)
    if begin is not None:
        begin()


def keep_span(source: ByteSource, offset: int, data: bytes, *, is_directory: bool = False) -> None:
    """Let a remote source cache bytes of metadata, so that a later run of ozx need not request them again."""
    keep = getattr(source, "keep", None)
    if keep is not None:
        keep(offset, data, is_directory=is_directory)
