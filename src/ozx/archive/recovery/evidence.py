"""Recovered entries of a damaged archive, and the certainty of their names and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.recovery.entries import EntryTable


class Witnesses(IntEnum):
    """The certainty of an entry's name, judged by the number of headers that contain the name.

    `LOCAL`: only the local header is known. `ONE`: one of two headers gives the name; the other is damaged or differs.
    `TWO`: both headers agree.
    """

    LOCAL = 0
    ONE = 1
    TWO = 2


class StoredValue(NamedTuple):
    """The position of an uncompressed value whose CRC-32 is wrong or unknown.

    Attributes
    ----------
    data_offset, size
        Offset and number of its bytes.
    is_named_twice
        Whether both headers give its name.
    has_one_checksum
        Whether both give the same CRC-32.
    """

    data_offset: int
    size: int
    is_named_twice: bool
    has_one_checksum: bool


@dataclass(frozen=True, slots=True)
class LostEntry:
    """An entry of a damaged archive whose value is damaged or missing.

    Attributes
    ----------
    name
        Its name, or the known part of it.
    reason
        The reason, as a phrase.
    start
        Its offset in the file, in bytes.
    stored
        The place of its stored bytes, if known.
    """

    name: str
    reason: str
    start: int
    stored: StoredValue | None = None


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
        """Return the valid entry of a repeated name.

        This is the last entry with two agreeing headers, else the last entry.

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
