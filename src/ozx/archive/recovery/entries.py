"""Results of the scan of a damaged archive: entries, damaged headers, and the remaining central directory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ozx.archive.directory import EndOfDirectory
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LocalHeader
from ozx.archive.recovery.values import Claim


class FoundEntry(NamedTuple):
    """A scanned entry with a verified value; its name may be wrong, because no checksum covers it.

    `start` is the offset of its header; `stop` is the end of its data descriptor or, without one, of its value.
    `is_searched` means that the value's length was found only by a search for a fitting descriptor. For a header of the
    central directory, `data_offset` and `stop` are 0.
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
        """The offset of the end of the entry's bytes."""
        return self.data_offset + self.stored_size


class EntryTable:
    """A compact table of scanned entries.

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


class BrokenEntry(NamedTuple):
    """A scanned local header whose value is damaged or missing.

    `end` is the end of the entry according to its sizes if there is evidence for them, else None. `data_offset` and
    `stored_size` locate a stored value; they are None if the header does not locate it.
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
    """The result of scanning a damaged archive."""

    found: EntryTable = field(default_factory=EntryTable)  # entries with right values, in the file's order
    broken: list[BrokenEntry] = field(default_factory=list)  # headers without such a value
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
