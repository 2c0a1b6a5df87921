"""Entries of a damaged archive, right or lost, and tables of a million of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LocalHeader
from ozx.archive.recovery.values import Claim, FoundEntry


class EntryTable:
    """A compact table of scanned entries."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.starts = array("Q")
        self.stored_sizes = array("Q")
        self.sizes = array("Q")
        self.checksums = array("L" if array("L").itemsize == 4 else "I")
        self.stops = array("Q")
        # In the order of an entry's fields.
        data_offsets, methods = array("Q"), array("H")
        place = self.names, self.starts, data_offsets, methods
        self._columns: tuple[Any, ...] = (*place, self.stored_sizes, self.sizes, self.checksums, self.stops)
        self.searched: set[int] = set()

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> FoundEntry:
        return FoundEntry._make([*(column[index] for column in self._columns), index in self.searched])

    def values_by_name(self) -> dict[str, set[tuple[int, int]]]:
        """Return a map from each entry name to the sizes and CRC-32s of its values."""
        values: dict[str, set[tuple[int, int]]] = {}
        for row, name in enumerate(self.names):
            values.setdefault(name, set()).add(self.value(row))
        return values

    def value(self, row: int) -> tuple[int, int]:
        """Return the size and CRC-32 of a row's value."""
        return self.sizes[row], self.checksums[row]

    def append(self, entry: FoundEntry) -> None:
        """Append an entry to the table."""
        if entry.is_searched:
            self.searched.add(len(self.names))
        for column, value in zip(self._columns, entry, strict=False):
            column.append(value)


@dataclass(frozen=True, slots=True)
class LostEntry:
    """An entry of a damaged archive whose value is damaged or missing."""

    name: str  # or the known part of it
    reason: str  # as a phrase
    start: int  # its offset in the file
    end: int | None = None  # according to its sizes, if there is evidence for them
    is_cut_off: bool = False
    data_offset: int | None = None  # of the stored bytes, if they are located
    stored_size: int | None = None
    crc32: int | None = None  # according to the local header
    is_named_twice: bool = False  # whether both headers give its name
    has_one_checksum: bool = False  # whether both give the same CRC-32

    @property
    def stored(self) -> tuple[int, int] | None:
        """Offset and length of the stored bytes of an uncompressed value; None if they are unknown."""
        return None if self.data_offset is None or self.stored_size is None else (self.data_offset, self.stored_size)


def listed_claims(entry: FoundEntry, data_offset: int, local: LocalHeader | None) -> Iterator[Claim]:
    """Yield two descriptions of the value at `data_offset`: with the directory's CRC-32, and with the local header's.

    Without `local`, only the first description is yielded. The CRC-32 in the second description may be right if the
    CRC-32 of the directory is wrong. The second description has no CRC-32 if the local header announces a data
    descriptor: then the CRC-32 in the descriptor counts.
    """
    claim = Claim(data_offset, entry.method, entry.stored_size, entry.size, entry.crc32)
    yield claim
    if local is not None:
        yield claim._replace(crc32=None if local.flags & FLAG_DATA_DESCRIPTOR else local.crc32)


#: The certainty of an entry's name: only its local header is known; one of its two headers gives the name, and the
#: other is damaged or differs; both headers agree.
LOCAL, ONE, TWO = range(3)


def repeated_names(names: Sequence[str]) -> dict[str, list[int]]:
    """Return each repeated name with the indices of its entries."""
    hashes = np.fromiter(map(hash, names), np.int64, len(names))
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    several = np.zeros(len(names), bool)
    several[order[1:][same]] = several[order[:-1][same]] = True
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(several).tolist():
        places.setdefault(names[place], []).append(place)
    return {name: found for name, found in places.items() if len(found) > 1}
