"""The facts about the entries of a damaged archive, and the evidence for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.recovery.entries import EntryTable

__all__ = ["Evidence", "LostEntry", "StoredValue", "Witnesses", "repeated_names"]


class Witnesses(IntEnum):
    """The certainty of an entry's name, which no checksum covers.

    `LOCAL`: its local header alone says it. `ONE`: one of two headers says it, as the other one is damaged or says
    something else. `TWO`: both headers say it.
    """

    LOCAL = 0
    ONE = 1
    TWO = 2


class StoredValue(NamedTuple):
    """The place of a stored value that its CRC-32 does not prove.

    Attributes
    ----------
    data_offset, size
        Where they begin, and how many there are.
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
    """An entry that was there and is damaged or missing.

    Attributes
    ----------
    name
        Its name, as far as it is known.
    reason
        Why, as a phrase.
    start
        Where it stands in the file, in bytes.
    stored
        Where its bytes are, if that is known and they are stored.
    """

    name: str
    reason: str
    start: int
    stored: StoredValue | None = None


@dataclass(slots=True)
class Evidence:
    """The entries of a damaged archive.

    Attributes
    ----------
    entries
        All whose values are right.
    order
        Which of them are still entries, in the file's order.
    names_by
        For each entry which headers say its name, as `Witnesses`.
    disputed
        The directory's name for an entry that its local header calls otherwise.
    lost
        What was there and is damaged or missing.
    cut_off
        Names of values that the end of the file cuts off; an earlier value of that name is the one to take.
    listed
        All names in what is left of the directory.
    replaced
        Names that are listed several times with different values, of which the last one counts.
    left_out
        How many right values are no entries: deleted ones, and parts of other values.
    has_holes
        Whether there is free space between entries.
    is_whole
        Whether the directory is complete: what it does not list was never there.
    is_accounted
        Whether the directory and the entries agree about all that there should be: the directory is whole, or each
        byte before it belongs to an entry that it lists.
    """

    entries: EntryTable
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    names_by: bytearray = field(default_factory=bytearray)
    disputed: dict[int, str] = field(default_factory=dict)
    lost: list[LostEntry] = field(default_factory=list)
    cut_off: set[str] = field(default_factory=set)
    listed: Sequence[str] = ()
    replaced: set[str] = field(default_factory=set)
    left_out: int = 0
    has_holes: bool = False
    is_whole: bool = False
    is_accounted: bool = False

    def choose(self, indices: Sequence[int]) -> int:
        """Return which of several entries of one name counts: the last one of those that both headers name, or of all.

        A later one that the directory does not list may be part of a value that is lost, or replace the one before it:
        then the name of the one that counts is doubted.
        """
        listed = [index for index in indices if self.names_by[index] == Witnesses.TWO]
        chosen = (listed or indices)[-1]
        if chosen != indices[-1]:
            self.names_by[chosen] = Witnesses.ONE
        # Where the directory is damaged, the other one may be another entry under a wrong name.
        self.is_accounted = self.is_accounted and self.is_whole
        return chosen


def repeated_names(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the names that stand several times among `names`, and where.

    Examples
    --------
    >>> repeated_names(["a", "b", "a"])
    {'a': [0, 2]}
    """
    hashes = np.fromiter(map(hash, names), np.int64, len(names))
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    several = np.zeros(len(names), bool)
    several[order[1:][same]] = several[order[:-1][same]] = True
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(several).tolist():
        places.setdefault(names[place], []).append(place)
    return {name: found for name, found in places.items() if len(found) > 1}
