"""Entry names as spans of one buffer, which needs little memory for a million names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

_NAMES = 1 << 16
_MATRIX = 1 << 19  # bytes of names at a time


@dataclass(frozen=True, slots=True)
class NameTable:
    """A table of names in order; row i is name i."""

    name_offset: ClassVar[int] = 0

    buffer: bytes  # holds the names, and may hold other bytes
    # start of each name's record in `buffer`; the name itself begins `name_offset` bytes later
    starts: NDArray[np.int64]
    name_lengths: NDArray[np.uint16]  # length of each name in bytes

    def __len__(self) -> int:
        return len(self.starts)

    def raw_name(self, index: int) -> bytes:
        """Return the bytes of the name with this index."""
        start = int(self.starts[index]) + self.name_offset
        return self.buffer[start : start + int(self.name_lengths[index])]

    def raw_names(self, rows: NDArray[np.int64]) -> list[bytes]:
        """Return the bytes of the names with the indices `rows`."""
        starts = self.starts[rows] + self.name_offset
        ends, buffer = (starts + self.name_lengths[rows]).tolist(), self.buffer
        return [buffer[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]

    def iter_name_blocks(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the names as bytes in blocks of some thousands, with the index of each block's first name."""
        for first in range(0, len(self), _NAMES):
            yield first, self.raw_names(np.arange(first, min(first + _NAMES, len(self))))

    def iter_name_matrices(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        """Yield all non-empty names grouped by length: their indices, and a matrix with one name per row."""
        for length in np.flatnonzero(np.bincount(self.name_lengths[self.name_lengths > 0])).tolist():
            rows = np.flatnonzero(self.name_lengths == length)
            everywhere: NDArray[np.uint8] = np.ndarray(
                (len(self.buffer) - length + 1, length), np.uint8, self.buffer, 0, (1, 1)
            )
            block = max(1, _MATRIX // length)
            for start in range(0, len(rows), block):
                part = rows[start : start + block]
                yield part, everywhere[self.starts[part] + self.name_offset]

    def iter_raw_names(self) -> Iterator[bytes]:
        """Yield the bytes of all names in order, with few names in memory at a time."""
        for _, raw_names in self.iter_name_blocks():
            yield from raw_names

    def take(self, rows: NDArray[np.int64], renamed: Mapping[int, bytes] | None = None) -> NameTable:
        """Return the names at the sorted indices `rows`; `renamed` maps an index to a replacement name.

        Examples
        --------
        >>> table = NameTable(b"a.b.c", np.array([0, 2, 4]), np.array([1, 1, 1], np.uint16))
        >>> list(table.take(np.array([0, 2]), {2: b"other"}).iter_raw_names())
        [b'a', b'other']
        """
        buffer, starts, lengths = self.buffer, self.starts[rows] + self.name_offset, self.name_lengths[rows]
        if renamed:
            places = np.searchsorted(rows, np.array(list(renamed), np.int64))
            new_lengths = np.array([len(name) for name in renamed.values()], np.int64)
            starts[places] = len(buffer) + np.cumsum(new_lengths) - new_lengths
            lengths[places] = new_lengths
            buffer = b"".join((buffer, *renamed.values()))
        return NameTable(buffer, starts, lengths)

    def below(self, prefix: bytes) -> NDArray[np.bool_]:
        """Return for each name whether it begins with `prefix`.

        Examples
        --------
        >>> NameTable(b"0/ca/c", np.array([0, 3]), np.array([3, 3], np.uint16)).below(b"0/").tolist()
        [True, False]
        """
        found = np.zeros(len(self), bool)
        expected = np.frombuffer(prefix, np.uint8)
        for rows, names in self.iter_name_matrices():
            if names.shape[1] >= len(prefix):
                found[rows] = (names[:, : len(prefix)] == expected).all(1)
        return found

    def without_prefix(self, length: int) -> NameTable:
        """Return the names without their common prefix of `length` bytes; no bytes are copied."""
        return NameTable(self.buffer, self.starts + (self.name_offset + length), self.name_lengths - np.uint16(length))
