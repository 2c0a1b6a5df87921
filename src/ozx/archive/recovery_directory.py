"""What is left of the central directory, heard as a witness for what was found without it.

No checksum covers a name. It stands in two places, though: behind the local header and in the directory. Where both
say the same it is right; where they differ, somebody who knows more than names has to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource
from ozx.archive.names import decode_name
from ozx.archive.records import LOCAL_HEADER, MASK_16
from ozx.archive.recovery import EntryTable, FoundEntry, Scan
from ozx.archive.recovery_values import Claim, ValueFinder, local_header_at

__all__ = ["Evidence", "LostEntry", "hear_directory", "repeated_names"]

_OWN_EXTRA = 20  # the ZIP64 field of `ozx.archive.writer`
_FOLDER_WITH_BYTES = "its name is that of a folder, but it has bytes"


@dataclass(frozen=True, slots=True)
class LostEntry:
    """An entry that was there and could not be had.

    Attributes
    ----------
    name
        Its name, as far as it is known.
    reason
        Why, as a phrase.
    start
        Where it stands in the file, in bytes.
    """

    name: str
    reason: str
    start: int


@dataclass(slots=True)
class Evidence:
    """The entries of a damaged archive.

    Attributes
    ----------
    entries
        All whose values are right.
    order
        Which of them are still entries, in the file's order.
    confirmed
        1 for each entry whose name two headers agree on, or that the directory alone still names.
    disputed
        The directory's name for an entry that its local header calls otherwise.
    lost
        What was there and could not be had.
    cut_off
        Names of values that the end of the file cuts off; an earlier value of that name is the one to take.
    replaced
        Names that are listed before with other values, of which the last one counts.
    left_out
        How many right values are no entries: deleted ones, and parts of other values.
    has_holes
        Whether there is free space between entries.
    is_whole
        Whether the directory is complete: what it does not list was never there.
    is_complete
        Whether nothing is, or may be, lost.
    """

    entries: EntryTable
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    confirmed: bytearray = field(default_factory=bytearray)
    disputed: dict[int, str] = field(default_factory=dict)
    lost: list[LostEntry] = field(default_factory=list)
    cut_off: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    left_out: int = 0
    has_holes: bool = False
    is_whole: bool = False
    is_complete: bool = False


def hear_directory(source: ByteSource, scan: Scan) -> Evidence:
    """Return what `scan` found, weighed by what is left of the directory.

    A value that the directory describes, and whose local header is damaged, is looked for where it has to be.
    """
    return _Hearing(source, scan).hear()


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


class _Hearing:
    def __init__(self, source: ByteSource, scan: Scan) -> None:
        self._source = source
        self._scan = scan
        self._listed = scan.listed
        self._finder = ValueFinder(source)
        self._result = Evidence(scan.found)
        # The header of the directory that describes entry i, or -1; and whether header j describes any.
        self._row_of = np.full(len(scan.found), -1, np.int64)
        self._is_heard = np.zeros(len(scan.listed), bool)
        self._starts = np.array(scan.listed.starts, np.uint64)
        self._dropped: set[int] = set()

    def hear(self) -> Evidence:
        result, scan = self._result, self._scan
        result.is_whole = scan.end is not None and scan.end.entries == len(scan.listed)
        result.has_holes = scan.has_holes
        result.confirmed = bytearray(len(scan.found))
        self._starts += np.uint64(self._shift(scan.end.prepended if scan.end is not None else 0))
        self._match_by_place()
        self._match_by_name()
        self._look_again()
        self._lose_broken()
        self._drop_unlisted()
        self._drop_replaced()
        kept = [index for index in range(len(result.entries)) if index not in self._dropped]
        starts = np.array(result.entries.starts, np.uint64)
        indices = np.array(kept, np.int64)
        result.order = indices[np.argsort(starts[indices], kind="stable")]
        has_no_gap = scan.directory_follows and not scan.unexplained and not scan.broken
        # A whole directory that lists a name twice means the last value; what is left of one may be of two archives.
        result.is_complete = not result.lost and (result.is_whole or (has_no_gap and not result.replaced))
        return result

    def _shift(self, prepended: int) -> int:
        """Return what the directory's offsets have to be moved by: what most entries are found at."""
        found = np.array(self._scan.found.starts, np.uint64)
        if not len(found) or not len(self._starts):
            return 0
        first = int(found[0]) - int(self._starts.min())
        sound = [shift for shift in dict.fromkeys((0, prepended, first)) if shift >= 0]
        return max(sound, key=lambda shift: int(np.isin(self._starts + np.uint64(shift), found).sum()))

    def _match_by_place(self) -> None:
        result, found, listed = self._result, self._scan.found, self._listed
        if not len(listed):
            return
        order = np.argsort(self._starts, kind="stable")
        places = np.searchsorted(self._starts[order], np.array(found.starts, np.uint64))
        rows = order[np.minimum(places, len(order) - 1)]
        hits = np.flatnonzero(self._starts[rows] == np.array(found.starts, np.uint64))
        for index in hits.tolist():
            row = int(rows[index])
            here, there = found.names[index], listed.names[row]
            has_same_value = (found.checksums[index], found.sizes[index]) == (listed.checksums[row], listed.sizes[row])
            if here == there:
                result.confirmed[index] = 1
            elif has_same_value:
                result.disputed[index] = there
            else:
                continue
            self._join(index, row)

    def _match_by_name(self) -> None:
        """Match what is elsewhere than the directory says: after bytes that were inserted, or by a damaged offset."""
        found, listed = self._scan.found, self._listed
        rows = {
            (listed.names[row], listed.checksums[row], listed.sizes[row]): row
            for row in np.flatnonzero(~self._is_heard).tolist()
        }
        for index in np.flatnonzero(self._row_of < 0).tolist() if rows else ():
            row = rows.pop((found.names[index], found.checksums[index], found.sizes[index]), None)
            if row is not None:
                self._result.confirmed[index] = 1
                self._join(index, row)

    def _join(self, index: int, row: int) -> None:
        self._row_of[index] = row
        self._is_heard[row] = True

    def _look_again(self) -> None:
        """Look for the values that only the directory describes; the rest of them is lost."""
        reasons = {entry.start: entry.reason for entry in self._scan.broken}
        ends = np.sort(self._starts)
        for row in np.flatnonzero(~self._is_heard).tolist():
            entry, start = self._listed[row], int(self._starts[row])
            if entry.name.endswith("/") and not entry.size:
                continue
            following = int(np.searchsorted(ends, start, "right"))
            stop = int(ends[following]) if following < len(ends) else None
            if not self._find(row, entry, start, stop):
                reason = reasons.get(start, "its local header is damaged, or is not there")
                self._result.lost.append(LostEntry(entry.name, reason, start))

    def _find(self, row: int, entry: FoundEntry, start: int, stop: int | None) -> bool:
        result = self._result
        for data_offset in dict.fromkeys(self._data_offsets(entry, start, stop)):
            claim = Claim(data_offset, entry.method, entry.stored_size, entry.size, entry.crc32)
            value = self._finder.verify(claim) if data_offset > start else None
            if value is None:
                continue
            index = len(result.entries)
            stored = value.stored_size, value.size, value.crc32
            result.entries.append(FoundEntry(entry.name, start, data_offset, value.method, *stored))
            result.confirmed.append(1)
            self._row_of = np.append(self._row_of, row)
            local = local_header_at(self._source, start)
            if local is not None and data_offset == start + local.length:
                name = decode_name(local.name, local.flags, local.extra)
                if name != entry.name:
                    result.confirmed[index] = 0
                    result.disputed[index] = name
            self._drop_inside(data_offset, value.end)
            return True
        return False

    def _data_offsets(self, entry: FoundEntry, start: int, stop: int | None) -> Iterator[int]:
        """Yield where a value may begin whose local header is damaged."""
        fixed = self._source.read_at(start, LOCAL_HEADER.size)
        if len(fixed) == LOCAL_HEADER.size:
            name_length, extra_length = (int.from_bytes(fixed[at : at + 2], "little") for at in (26, 28))
            yield start + LOCAL_HEADER.size + name_length + extra_length
        name_length = len(entry.name.encode("utf-8", "surrogateescape"))
        yield start + LOCAL_HEADER.size + name_length + _OWN_EXTRA
        yield start + LOCAL_HEADER.size + name_length
        if stop is not None and stop - start <= entry.stored_size + LOCAL_HEADER.size + 2 * MASK_16:
            yield stop - entry.stored_size

    def _drop_inside(self, start: int, stop: int) -> None:
        """Drop what was taken for an entry and is part of a value."""
        places = np.array(self._scan.found.starts, np.uint64)
        first, last = np.searchsorted(places, (start, stop))
        inside = [index for index in range(int(first), int(last)) if self._row_of[index] < 0]
        self._result.left_out += len(set(inside) - self._dropped)
        self._dropped.update(inside)

    def _lose_broken(self) -> None:
        """Count the headers without a right value that the directory does not know."""
        result = self._result
        if result.is_whole:
            return
        heard = set(self._starts.tolist())
        lost = {entry.name for entry in result.lost}
        for entry in self._scan.broken:
            if entry.start in heard or entry.name in lost or entry.name.endswith("/"):
                continue
            lost.add(entry.name)
            result.lost.append(LostEntry(entry.name, entry.reason, entry.start))
            if entry.is_cut_off:
                result.cut_off.add(entry.name)

    def _drop_unlisted(self) -> None:
        """Drop what a whole directory does not list, what lies inside a broken value, and folders."""
        result = self._result
        unlisted = np.flatnonzero(self._row_of < 0).tolist()
        doubtful = unlisted if result.is_whole else [index for index in unlisted if index in self._scan.inside_broken]
        result.left_out += len(set(doubtful) - self._dropped)
        self._dropped.update(doubtful)
        for index in [index for index, name in enumerate(result.entries.names) if name.endswith("/")]:
            entry = result.entries[index]
            if entry.size and index not in self._dropped:
                result.lost.append(LostEntry(entry.name, _FOLDER_WITH_BYTES, entry.start))
            self._dropped.add(index)

    def _drop_replaced(self) -> None:
        """Drop the values that the directory lists before another one of the same name, which is what readers see."""
        disputed = {int(self._row_of[index]) for index in self._result.disputed}
        replaced = {
            row
            for rows in repeated_names(self._listed.names).values()
            for row in [row for row in rows if row not in disputed][:-1]
        }
        if not replaced:
            return
        rows = self._row_of.tolist()
        self._dropped.update(index for index, row in enumerate(rows) if row in replaced)
        names = {self._listed.names[row] for row in replaced}
        last = {self._listed.names[row] for index, row in enumerate(rows) if row >= 0 and index not in self._dropped}
        had = names & last
        self._result.lost = [entry for entry in self._result.lost if entry.name not in had]
        self._result.replaced = self._differing(had)

    def _differing(self, names: set[str]) -> set[str]:
        """Return those of `names` under which several values are listed, rather than one value several times."""
        listed, values = self._listed, defaultdict[str, set[tuple[int, int]]](set)
        for row, name in enumerate(listed.names):
            if name in names:
                values[name].add((listed.sizes[row], listed.checksums[row]))
        return {name for name, different in values.items() if len(different) > 1}
