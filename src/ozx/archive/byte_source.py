"""Where an archive's bytes come from: anything with `read_at(offset, length)`."""

from __future__ import annotations

import os
from typing import Protocol

from ozx.archive.positional_reading import PositionalFile
from ozx.errors import FormatError

__all__ = ["ByteSource", "FileSource", "MemorySource", "read_exactly"]


class ByteSource(Protocol):
    """Bytes of known length that can be read at any offset, from any thread."""

    @property
    def name(self) -> str:
        """What messages call the source: usually its path."""

    def size(self) -> int:
        """Return the length in bytes, as it was when the source was first used."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only where the source ends."""

    def check_unchanged(self) -> None:
        """Raise `FormatError` (``zip/changed``) when the bytes are no longer those of the first use."""


class FileSource:
    """A local file; opened at the first use, safe with threads, fork and pickle.

    Parameters
    ----------
    path
        The file. What has its name at the first use is what is read from then on.

    Examples
    --------
    >>> import pickle
    >>> source = FileSource(__file__)
    >>> source.read_at(0, 3) == pickle.loads(pickle.dumps(source)).read_at(0, 3)
    True
    """

    def __init__(self, path: str) -> None:
        self._file = PositionalFile(path)
        self._identity: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return self._file.path

    def size(self) -> int:
        """Return the file's length in bytes, as it was when first asked for."""
        if self._identity is None:
            self._identity = _identity(self._file.fstat())
        return self._identity[0]

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only where the file ends."""
        return self._file.read_at(offset, length)

    def read_into_at(self, buffer: memoryview, offset: int) -> int:
        """Fill `buffer` from `offset`; returns the number of bytes, fewer only where the file ends."""
        return self._file.read_into_at(buffer, offset)

    def check_unchanged(self, path: str | None = None) -> None:
        """Make sure that the file is what it was at its first use: not written to, not replaced.

        The first use may have been another process's: what a pickled source was is what its copy has to find.

        Parameters
        ----------
        path
            Where the file lies, if it has been renamed since.

        Raises
        ------
        FormatError
            It is not.
        """
        if self._identity is None:
            return
        try:
            status = os.stat(path or self._file.path)
        except FileNotFoundError:  # its name is gone; what is open can still be read
            status = self._file.fstat()
        if self._identity != _identity(status):
            raise FormatError(
                "the file changed while it was read",
                path=self.name,
                rule="zip/changed",
                hint="Open it again to read what has its name now.",
            )

    def descriptor(self) -> int:
        """Return the open file's descriptor, for copies that the system makes; it stays the source's."""
        return self._file.descriptor()

    def close(self) -> None:
        """Close the file, once the reads that are under way have ended; a later read opens it again."""
        self._file = PositionalFile(self._file.path)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


class MemorySource:
    """Bytes that are in memory already.

    Examples
    --------
    >>> MemorySource(b"PK..").read_at(2, 10)
    b'..'
    """

    def __init__(self, data: bytes, name: str = "<memory>") -> None:
        self._data = data
        self.name = name

    def size(self) -> int:
        """Return the length in bytes."""
        return len(self._data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`."""
        return self._data[offset : offset + length]

    def check_unchanged(self) -> None:
        """Do nothing: bytes in memory do not change."""


def read_exactly(source: ByteSource, offset: int, length: int, what: str) -> bytes:
    """Return exactly `length` bytes, which are compared with those present before memory is taken for them.

    Parameters
    ----------
    source
        What is read from.
    offset, length
        Where they stand, in bytes from its beginning, and how many they are.
    what
        What is read, for the message.

    Raises
    ------
    FormatError
        The source ends before (``zip/truncated``), or became shorter meanwhile (``zip/changed``).
    """
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
