"""Reading at a given offset with `os.pread` and `os.readv`, each with a portable fallback.

Without these calls (Windows), a descriptor has one position: threads take turns.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ozx.atomic.windows import open_shared
from ozx.errors import FormatError, name_error

# O_NONBLOCK avoids a hang on a named pipe that replaced the file; files ignore it. O_BINARY exists on Windows.
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

# No file is longer. ZIP64 offsets have 64 bits; the system's are signed, and offsets beyond their range are an error.
_FURTHEST = 1 << 60

_turns: dict[int, threading.Lock] = {}

#: The largest number of bytes of one read: macOS refuses 2 GiB and more.
MOST_AT_ONCE = 1 << 30
#: The most values that are read by one call: POSIX systems fill at most 1,024 buffers, and each value may come with a
#: header or a checksum.
MOST_IN_RUN = 512
#: The usual length of a block: of a file, of a file that goes to or comes from a server, and of an object.
READ, COPY, REQUEST = 1 << 20, 8 << 20, 16 << 20


def divided(offset: int, length: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the offset and length of each block of a byte range.

    Examples
    --------
    >>> list(divided(100, 25, 10))
    [(100, 10), (110, 10), (120, 5)]
    """
    for start in range(offset, offset + length, longest):
        yield start, min(longest, offset + length - start)


def open_for_reading(path: str) -> int:
    """Open the file at `path` for reading, and return its descriptor; the caller must close it."""
    return open_shared(path, READ_FLAGS)


def read_into_at(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Fill `buffer` with bytes from `offset`, except at the end of the file; return their number."""
    preadv, filled = getattr(os, "preadv", None), 0
    if preadv is not None:
        while filled < len(buffer):
            count = preadv(descriptor, [buffer[filled : filled + MOST_AT_ONCE]], offset + filled)
            if not count:
                break
            filled += count
        return filled
    while filled < len(buffer) and (data := pread(descriptor, len(buffer) - filled, offset + filled)):
        buffer[filled : filled + len(data)] = data
        filled += len(data)
    return filled


def read_vectors_at(descriptor: int, buffers: Sequence[memoryview], offset: int) -> int:
    """Fill `buffers`, at most 1,024, one after the other with bytes from `offset`, except at the end of the file."""
    preadv, end = getattr(os, "preadv", None), 0
    filled: int = 0 if preadv is None or len(buffers) == 1 else preadv(descriptor, buffers, offset)
    for buffer in buffers:
        end += len(buffer)
        if filled < end:  # a signal may end a read anywhere
            filled += read_into_at(descriptor, buffer[filled - end :], offset + filled)
            if filled < end:
                break
    return filled


def has_pread() -> bool:
    """Return whether the system reads at an offset without moving the position of the file."""
    return hasattr(os, "pread")


def pread(descriptor: int, length: int, offset: int) -> bytes:
    """Return at most `length` bytes from `offset`: by `os.pread` or, without it, when it is this thread's turn."""
    call = getattr(os, "pread", None)
    if call is not None:
        return bytes(call(descriptor, length, offset))
    with turn(descriptor):
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)


def turn(descriptor: int) -> threading.Lock:
    """Return the lock of a descriptor's own position, for those who move it and then read or write there."""
    return _turns.setdefault(descriptor, threading.Lock())


def forget_cache(descriptor: int) -> None:
    """Ask the operating system, if possible, to remove a file from the system's cache."""
    advise = getattr(os, "posix_fadvise", None)
    if advise is not None:
        advise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def vector_reader() -> Callable[[int, list[memoryview]], int]:
    """Return `os.readv`, or a replacement that reads only into the first buffer.

    Look it up once per run and not per read: one more call for each of a million small files takes a second.
    """
    readv = getattr(os, "readv", None)
    return _read_into_first if readv is None else readv


def _read_into_first(descriptor: int, buffers: list[memoryview]) -> int:
    data = os.read(descriptor, len(buffers[0]))
    buffers[0][: len(data)] = data
    return len(data)


class PositionalFile:
    """A file that many threads can read, and forked processes where there are any; the first read opens it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._opening = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    def __del__(self) -> None:
        self.close()

    def close(self, *, _close: Callable[[int], None] = os.close) -> None:
        """Close the descriptor; a later read reopens the file."""
        # When Python ends, the names of modules may be gone before the last files.
        descriptor, self._descriptor = getattr(self, "_descriptor", None), None
        if descriptor is not None:
            _close(descriptor)

    def descriptor(self) -> int:
        """Return the descriptor of the open file; do not close it."""
        return self._open()

    def fstat(self) -> os.stat_result:
        """Return the status of the open file, even if its name now belongs to another file."""
        return os.fstat(self._open())

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the file."""
        try:
            return self._read_at(offset, length)
        except OSError as error:
            name_error(error, self.path)
            raise

    def _read_at(self, offset: int, length: int) -> bytes:
        if offset > _FURTHEST:
            return b""
        descriptor = self._open()
        data = pread(descriptor, min(length, MOST_AT_ONCE), offset)
        if len(data) == length or not data:
            return data
        pieces, missing = [data], length - len(data)  # signals may end a read anywhere
        while missing and (data := pread(descriptor, min(missing, MOST_AT_ONCE), offset + length - missing)):
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)

    def read_into_at(self, buffer: memoryview, offset: int) -> int:
        """Fill `buffer` with bytes from `offset`, except at the end of the file; return their number."""
        return self.read_vectors_at([buffer], offset)

    def read_vectors_at(self, buffers: Sequence[memoryview], offset: int) -> int:
        """Fill `buffers` one after the other; see the function of this name."""
        if offset > _FURTHEST:
            return 0
        try:
            return read_vectors_at(self._open(), buffers, offset)
        except OSError as error:
            name_error(error, self.path)
            raise

    def _open(self) -> int:
        descriptor = self._descriptor  # read once: another thread may close the file
        if descriptor is None:
            with self._opening:  # only the first use waits here; reads take no lock
                descriptor = self._descriptor
                if descriptor is None:
                    descriptor = self._descriptor = self._open_file()
        return descriptor

    def _open_file(self) -> int:
        try:
            descriptor = open_for_reading(self.path)
        except PermissionError:
            if os.path.isdir(self.path):  # Windows opens none
                raise self._no_file(is_directory=True) from None
            raise
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            raise self._no_file(is_directory=stat.S_ISDIR(mode))
        return descriptor

    def _no_file(self, *, is_directory: bool) -> FormatError:
        found = "a directory" if is_directory else "a device, pipe or socket"
        hint = "Give the path of a file; ozx pack writes an OME-Zarr directory to an .ozx file."
        return FormatError(
            f"expected a regular file; found {found}",
            path=self.path,
            rule="zip/special-file",
            hint=hint if is_directory else None,
        )
