"""Entries of a damaged archive: what the scan found, and how certain their names and values are."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.archive.directory import EndOfDirectory
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


@dataclass(slots=True)
class Scan:
    """The result of scanning a damaged archive."""

    found: EntryTable = field(default_factory=EntryTable)  # entries with right values, in the file's order
    broken: list[LostEntry] = field(default_factory=list)  # headers without such a value
    # the central directory that the end records lead to, if it is complete; else all surviving headers in the file's
    # order; offsets are unchanged
    listed: EntryTable = field(default_factory=EntryTable)
    # headers of other directories, if the end records lead to a complete directory
    others: EntryTable = field(default_factory=EntryTable)
    # whether the end records lead to a directory with the headers and bytes that they declare
    is_listed_whole: bool = False
    # indices in `found` that lie inside the evident range of a broken entry: probably parts of its value
    inside_broken: set[int] = field(default_factory=set)
    end: EndOfDirectory | None = None  # the end records; None if they are damaged or missing
    unexplained: int = 0  # number of bytes before the directory that belong to no entry
    has_holes: bool = False  # whether such bytes follow a right value rather than a broken one
    directory_follows: bool = False  # whether a header of the directory, or an end record, follows the last entry
    directory_start: int | None = None  # start of that directory, or None

    def differing_others(self) -> set[str]:
        """Return the names for which another central directory in the file lists different values."""
        here = self.listed.values_by_name() if len(self.others) else {}
        return {name for name, values in self.others.values_by_name().items() if not values <= here.get(name, set())}


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


# Recovered entries of a damaged archive, and the certainty of their names and values.


class Witnesses(IntEnum):
    """The certainty of an entry's name, judged by the number of headers that contain the name."""

    LOCAL = 0  # only the local header is known
    ONE = 1  # one of two headers gives the name; the other is damaged or differs
    TWO = 2  # both headers agree


@dataclass(slots=True)
class Evidence:
    """The recovered and the lost entries of a damaged archive."""

    entries: EntryTable  # all entries with right values
    # indices of the entries to keep, in the file's order
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    names_by: bytearray = field(default_factory=bytearray)  # for each entry the certainty of its name, as `Witnesses`
    # the directory's name for an entry with another name in its local header
    disputed: dict[int, str] = field(default_factory=dict)
    lost: list[LostEntry] = field(default_factory=list)  # damaged or missing entries
    # names of values that the end of the file truncates; an earlier value of that name replaces them
    cut_off: set[str] = field(default_factory=set)
    listed: Sequence[str] = ()  # all names in the surviving directory
    # names that are listed several times with different values, of which the last one counts
    replaced: set[str] = field(default_factory=set)
    # names of entries that a whole directory does not list at all: deleted, or lost from the directory
    unlisted: set[str] = field(default_factory=set)
    left_out: int = 0  # number of right values that are no entries: deleted ones, and parts of other values
    has_holes: bool = False  # whether there is free space between entries
    is_whole: bool = False  # whether the directory is complete: then unlisted entries never existed
    # whether nothing is missing: the directory is whole, or each byte before it belongs to an entry that it lists
    is_accounted: bool = False

    def choose(self, indices: Sequence[int]) -> int:
        """Return the valid entry of a repeated name: the last one with two agreeing headers, else the last one.

        A later entry of this name that the directory does not list may be part of a lost value, or a replacement: the
        name of the chosen entry is then marked as doubtful.
        """
        listed = [index for index in indices if self.names_by[index] == Witnesses.TWO]
        chosen = (listed or indices)[-1]
        if chosen != indices[-1]:
            self.names_by[chosen] = Witnesses.ONE
        # If the directory is damaged, the other entry may only seem to have this name.
        self.is_accounted = self.is_accounted and self.is_whole
        return chosen


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
