"""Entry names in one buffer, which needs little memory for a million names, and their look-up by hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

_NAMES = 1 << 16
_MATRIX = 1 << 19  # bytes of names at a time
# Backslash, colon (of a drive letter), an empty component, and the first dot of a component such as '.' or '..'.
_SIGNS_OF_FAULTS = (b"\\", b":", b"\0/", b"//", b"\0.", b"/.")


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

    def suspects(self) -> NDArray[np.int64]:
        """Return the sorted indices of all names that are not ASCII or that `name_fault` refuses, and of others."""
        found = [np.flatnonzero(self.name_lengths == 0)]
        for rows, names in self.iter_name_matrices():
            framed = np.pad(names, ((0, 0), (1, 0))).tobytes()  # a NUL before each
            is_plain = framed.isascii() and framed.count(b"\0") == len(rows)
            if not is_plain or any(sign in framed for sign in _SIGNS_OF_FAULTS):
                found.append(rows)
        return np.sort(np.concatenate(found))

    def iter_raw_names(self) -> Iterator[bytes]:
        """Yield the bytes of all names in order, with few names in memory at a time."""
        for _, raw_names in self.iter_name_blocks():
            yield from raw_names

    def take(self, rows: NDArray[np.int64], renamed: Mapping[int, bytes] | None = None) -> NameTable:
        """Return the names at the sorted indices `rows`; `renamed` maps an index to a replacement name."""
        buffer, starts, lengths = self.buffer, self.starts[rows] + self.name_offset, self.name_lengths[rows]
        if renamed:
            places = np.searchsorted(rows, np.array(list(renamed), np.int64))
            new_lengths = np.array([len(name) for name in renamed.values()], np.int64)
            starts[places] = len(buffer) + np.cumsum(new_lengths) - new_lengths
            lengths[places] = new_lengths
            buffer = b"".join((buffer, *renamed.values()))
        return NameTable(buffer, starts, lengths)

    def below(self, prefix: bytes) -> NDArray[np.bool_]:
        """Return for each name whether it begins with `prefix`."""
        found = np.zeros(len(self), bool)
        expected = np.frombuffer(prefix, np.uint8)
        for rows, names in self.iter_name_matrices():
            if names.shape[1] >= len(prefix):
                found[rows] = (names[:, : len(prefix)] == expected).all(1)
        return found

    def without_prefix(self, length: int) -> NameTable:
        """Return the names without their common prefix of `length` bytes; no bytes are copied."""
        return NameTable(self.buffer, self.starts + (self.name_offset + length), self.name_lengths - np.uint16(length))


# Look-up of entries by name with little memory, for archives with a million entries.
#
# Names are hashed as bytes: a polynomial modulo 2**64 with a fixed odd base, computed for all names of one length at
# once. If two hashes are equal, the bytes of the names are compared. Forged collisions make look-ups slow, not wrong.

_BASE = 0x9E3779B97F4A7C15
_MODULUS = 1 << 64
_INVERSE = pow(_BASE, -1, _MODULUS)


class NameIndex:
    """Index of entries by raw name."""

    def __init__(self, names: NameTable) -> None:
        self._names = names
        hashes = np.zeros(len(names), np.uint64)
        for rows, matrix in names.iter_name_matrices():
            hashes[rows] = _hash_rows(matrix)
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def find(self, name: bytes) -> int | None:
        """Return the index of the last entry with this name, or None if there is no such entry."""
        hashed = np.uint64(_hash_name(name))
        first, last = np.searchsorted(self._sorted, hashed, "left"), np.searchsorted(self._sorted, hashed, "right")
        for index in self._order[first:last][::-1].tolist():
            if self._names.raw_name(index) == name:
                return int(index)
        return None

    def find_all(self, names: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the result of `find` for each of many names, with -1 for missing names."""
        rows = np.full(len(names), -1, np.int64)
        if len(self._sorted) == 0:
            return rows
        by_length: dict[int, list[int]] = {}
        for position, name in enumerate(names):
            by_length.setdefault(len(name), []).append(position)
        for length, positions in by_length.items():
            joined = np.frombuffer(b"".join([names[position] for position in positions]), np.uint8)
            hashes = _hash_rows(joined.reshape(len(positions), length))
            last = np.maximum(np.searchsorted(self._sorted, hashes, "right") - 1, 0)
            rows[positions] = self._order[last]
        for position, found in enumerate(self._names.raw_names(rows)):
            if found != names[position]:  # the name is missing, or another name has the same hash
                index = self.find(names[position])
                rows[position] = -1 if index is None else index
        return rows

    def duplicates(self) -> list[tuple[bytes, list[int]]]:
        """Return each repeated name with the indices of its entries, in directory order."""
        repeated = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(repeated) == 0:
            return []
        candidates = np.unique(np.concatenate([self._order[repeated], self._order[repeated + 1]]))
        groups: dict[bytes, list[int]] = {}
        for index in candidates.tolist():
            groups.setdefault(self._names.raw_name(index), []).append(int(index))
        return [(name, indices) for name, indices in groups.items() if len(indices) > 1]

    def values_and_folders(self) -> list[tuple[int, int]]:
        """Return pairs of entries such as ``a`` and ``a/b``: the first name is also a folder in the second name."""
        below = np.full(len(self._names), -1, np.int64)
        for rows, lengths, hashes in _iter_folders(self._names):
            positions = np.searchsorted(self._sorted, hashes, "right") - 1
            hits = np.flatnonzero((positions >= 0) & (self._sorted[positions] == hashes))
            values, first = np.unique(self._order[positions[hits]], return_index=True)
            is_new = below[values] < 0
            for value, hit in zip(values[is_new].tolist(), hits[first[is_new]].tolist(), strict=True):
                folder = self._names.raw_name(rows[hit])[: lengths[hit]]
                found = value if self._names.raw_name(value) == folder else self.find(folder)
                if found is not None:
                    below[found] = rows[hit]
        return [(value, int(below[value])) for value in np.flatnonzero(below >= 0).tolist()]


def _iter_folders(table: NameTable) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]]:
    """Yield three arrays: indices of names that lie in a folder, and the lengths and hashes of the folders' names."""
    for rows, names in table.iter_name_matrices():
        slashes = names == ord("/")
        slashes[:, 0] = False  # an empty name is no folder
        lengths, places = np.nonzero(slashes.T)
        if len(places) == 0:
            continue
        # The term of one byte in the hash of a name of n bytes, divided by base ** n, is the same for every n.
        count = int(lengths.max())
        sums = np.cumsum((names[:, :count] + np.uint64(1)) * _powers(_INVERSE, count), 1, np.uint64)
        hashes = sums[places, lengths - 1] * _powers(_BASE, count)[lengths - 1]
        # Adjacent names often lie in the same folder: yield it once.
        is_new = np.append(True, hashes[1:] != hashes[:-1])
        yield rows[places[is_new]], lengths[is_new], hashes[is_new]


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    """Return the powers of `base` with exponents from 0 to `count` - 1, modulo 2**64."""
    factors = np.full(count, base, np.uint64)
    factors[:1] = 1
    return np.multiply.accumulate(factors)


def _hash_name(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value * _BASE + byte + 1) % _MODULUS
    return value


def _hash_rows(names: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the hashes of names of equal length, given as one name per row."""
    hashes: NDArray[np.uint64] = (names.astype(np.uint64) + np.uint64(1)) @ _powers(_BASE, names.shape[1])[::-1]
    return hashes
