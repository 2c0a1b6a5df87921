"""The findings of a scan of a damaged archive: entries in columns, broken headers, and the rest of the directory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ozx.archive.directory import EndOfDirectory
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LocalHeader
from ozx.archive.recovery.values import Claim

__all__ = ["BrokenEntry", "EntryTable", "FoundEntry", "Scan", "listed_claims"]


class FoundEntry(NamedTuple):
    """An entry whose value is right; its name, which no checksum covers, need not be.

    `start` is the offset of its header; `stop` is where its data descriptor ends, if it has one, else its value.
    `is_searched` says that a search for a fitting descriptor alone gave its length. Of what a header of the central
    directory says, `data_offset` and `stop` are 0.
    """

    name: str
    start: int
    data_offset: int
    method: int
    stored_size: int
    size: int
    crc32: int
    stop: int = 0
    is_searched: bool = False

    @property
    def end(self) -> int:
        """The offset at which its bytes end."""
        return self.data_offset + self.stored_size


class EntryTable:
    """Entries in columns: about a hundred bytes each, the name included.

    Examples
    --------
    >>> table = EntryTable()
    >>> table.append(FoundEntry("0/c/0", 0, 55, 0, 4, 4, 0xED82CD11))
    >>> len(table), table[0].end
    (1, 59)
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.starts = array("Q")
        self._data_offsets = array("Q")
        self._methods = array("H")
        self.stored_sizes = array("Q")
        self.sizes = array("Q")
        self.checksums = array("L" if array("L").itemsize == 4 else "I")
        self.stops = array("Q")
        self.searched: set[int] = set()

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> FoundEntry:
        return FoundEntry(
            self.names[index],
            self.starts[index],
            self._data_offsets[index],
            self._methods[index],
            self.stored_sizes[index],
            self.sizes[index],
            self.checksums[index],
            self.stops[index],
            index in self.searched,
        )

    def values_by_name(self) -> dict[str, set[tuple[int, int]]]:
        """Return size and CRC-32 of each value by name."""
        values: dict[str, set[tuple[int, int]]] = {}
        for row, name in enumerate(self.names):
            values.setdefault(name, set()).add((self.sizes[row], self.checksums[row]))
        return values

    def append(self, entry: FoundEntry) -> None:
        """Add an entry."""
        if entry.is_searched:
            self.searched.add(len(self.names))
        self.names.append(entry.name)
        self.starts.append(entry.start)
        self._data_offsets.append(entry.data_offset)
        self._methods.append(entry.method)
        self.stored_sizes.append(entry.stored_size)
        self.sizes.append(entry.size)
        self.checksums.append(entry.crc32)
        self.stops.append(entry.stop)


class BrokenEntry(NamedTuple):
    """A local header whose value is damaged or missing.

    `end` is where the entry ends if its sizes are right, for which there is evidence; None where there is none.
    `data_offset` and `stored_size` say where a stored value would be; None where the header does not say.
    """

    name: str
    start: int
    end: int | None
    reason: str
    is_cut_off: bool
    data_offset: int | None = None
    stored_size: int | None = None
    crc32: int | None = None


@dataclass(slots=True)
class Scan:
    """The findings.

    Attributes
    ----------
    found
        Entries with right values, in the file's order.
    broken
        Headers without such a value.
    listed
        The central directory that the end records lead to; where they do not lead to a whole one, all of its headers
        that are left, in the file's order. Offsets are as they stand there.
    others
        Headers of other directories, where the end records lead to a whole one.
    is_listed_whole
        Whether the end records lead to a directory of as many headers and bytes as they say.
    inside_broken
        Which of `found` lie inside what a broken entry claims, by evidence: likelier part of its value than entries.
    end
        What the end records say; None where they are damaged or missing.
    unexplained
        How many bytes before the directory belong to no entry.
    has_holes
        Whether such bytes follow a right value, and not a broken one.
    directory_follows
        Whether a header of the directory, or an end record, follows the last entry.
    directory_start
        Where that directory begins; None where none follows.
    """

    found: EntryTable = field(default_factory=EntryTable)
    broken: list[BrokenEntry] = field(default_factory=list)
    listed: EntryTable = field(default_factory=EntryTable)
    others: EntryTable = field(default_factory=EntryTable)
    is_listed_whole: bool = False
    inside_broken: set[int] = field(default_factory=set)
    end: EndOfDirectory | None = None
    unexplained: int = 0
    has_holes: bool = False
    directory_follows: bool = False
    directory_start: int | None = None

    def differing_others(self) -> set[str]:
        """Return the names that other directories in the file list with other values, as of a second archive."""
        here = self.listed.values_by_name() if len(self.others) else {}
        return {name for name, values in self.others.values_by_name().items() if not values <= here.get(name, set())}


def listed_claims(entry: FoundEntry, data_offset: int, local: LocalHeader | None) -> Iterator[Claim]:
    """Yield what a header of the directory says of a value, and what it says together with a local header.

    Parameters
    ----------
    entry
        What the directory says.
    data_offset
        Where the value may begin.
    local
        The local header, if it has the same name: its CRC-32, or that of the data descriptor, may be right where the
        directory's is not.
    """
    claim = Claim(data_offset, entry.method, entry.stored_size, entry.size, entry.crc32)
    yield claim
    if local is not None:
        yield claim._replace(crc32=None if local.flags & FLAG_DATA_DESCRIPTOR else local.crc32)
