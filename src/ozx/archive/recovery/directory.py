"""Comparison of scanned entries with the remaining central directory of a damaged archive.

No checksum covers a name, but a name is written twice: in the local header and in the directory. If both copies agree,
the name is right; if not, the Zarr hierarchy decides. CRC-32 and length, which prove a value, are also in both headers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ozx.archive.entry_reading import says_nothing_of_sizes
from ozx.archive.names.decoding import decode_name, name_fault
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LOCAL_HEADER, MASK_16, STORED, LocalHeader, local_header_length
from ozx.archive.recovery.scan import EntryTable, LostEntry, Scan
from ozx.archive.recovery.values import DESCRIPTOR_LENGTHS, Claim, FoundEntry, ValueSearch, local_header_at
from ozx.places.byte_source import ByteSource

#: The certainty of an entry's name: only its local header is known; one of its two headers gives the name, and the
#: other is damaged or differs; both headers agree.
LOCAL, ONE, TWO = range(3)

# Rows of the central directory whose offsets are shifted or damaged.


def find_shift(found_starts: NDArray[np.uint64], listed_starts: NDArray[np.uint64], prepended: int) -> int:
    """Return the shift with which the largest number of offsets in the directory match a scanned entry."""
    if not len(found_starts) or not len(listed_starts):
        return 0
    first = int(found_starts[0]) - int(listed_starts.min())
    sound = [shift for shift in dict.fromkeys((0, prepended, first)) if shift >= 0]
    return max(sound, key=lambda shift: int(np.isin(listed_starts + np.uint64(shift), found_starts).sum()))


def rows_inside_values(
    rows: NDArray[np.int64], starts: NDArray[np.uint64], found: EntryTable, directory_start: int | None
) -> list[int]:
    """Return the rows with an impossible offset: inside an entry of `found`, or not before the directory."""
    if not len(rows) or not len(found):
        return []
    begins, stops, offsets = np.array(found.starts, np.uint64), np.array(found.stops, np.uint64), starts[rows]
    before = np.searchsorted(begins, offsets, "right") - 1
    is_impossible = (before >= 0) & (begins[before] < offsets) & (offsets < stops[before])
    if directory_start is not None:
        is_impossible |= offsets >= np.uint64(directory_start)
    impossible: list[int] = rows[is_impossible].tolist()
    return impossible


def pair_by_value(
    rows: Sequence[int], listed: EntryTable, unlisted: Sequence[int], found: EntryTable
) -> Iterator[tuple[int, int]]:
    """Yield pairs of a row and a scanned entry that have the same CRC-32 and size, but other names and offsets.

    The `rows` have an impossible offset; the `unlisted` entries fit no row by their names or offsets. An entry whose
    name is in another row is an earlier value of that key.
    """
    names = set(listed.names)
    free = defaultdict[tuple[int, int], list[int]](list)
    for index in unlisted:
        if found.names[index] not in names and found.sizes[index]:
            free[found.value(index)].append(index)
    for row in rows:
        same = free.get(listed.value(row))
        if same:
            yield row, same.pop(0)


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


_OWN_EXTRA = 20  # the ZIP64 field of `ozx.archive.writer`
_FOLDER_WITH_BYTES = "its name is the name of a folder, but it has bytes"
_NO_HEADER = "its local header is damaged or missing"


def merge_directory(source: ByteSource, scan: Scan) -> RecoveredDirectory:
    """Return the entries of `scan`, compared with the remaining central directory.

    If the local header is damaged or belongs to another entry, the value is searched for at the directory's offset.
    """
    directory = RecoveredDirectory(source, scan)
    directory.merge()
    return directory


class RecoveredDirectory:
    """The recovered and the lost entries of a damaged archive, after the scanned ones met its directory."""

    def __init__(self, source: ByteSource, scan: Scan) -> None:
        self._source = source
        self._scan = scan
        self._listed = scan.listed
        self._search = ValueSearch(source)
        self.entries = scan.found  # all entries with right values
        self.order = np.empty(0, np.int64)  # indices of the entries to keep, in the file's order
        self.names_by = bytearray(len(scan.found))  # for each entry the certainty of its name: LOCAL, ONE or TWO
        # The directory's name for an entry with another name in its local header.
        self.disputed: dict[int, str] = {}
        self.lost: list[LostEntry] = []  # damaged or missing entries
        # Names of values that the end of the file truncates; an earlier value of that name replaces them.
        self.cut_off: set[str] = set()
        self.listed: Sequence[str] = scan.listed.names  # all names in the surviving directory
        # Names that are listed several times with different values, of which the last one counts.
        self.replaced: set[str] = set()
        # Names of entries that a whole directory does not list at all: deleted, or lost from the directory.
        self.unlisted: set[str] = set()
        self.left_out = 0  # number of right values that are no entries: deleted ones, and parts of other values
        self.has_holes = scan.has_holes  # whether there is free space between entries
        self.is_whole = False  # whether the directory is complete: then unlisted entries never existed
        # Whether nothing is missing: the directory is whole, or each byte before it belongs to an entry that it lists.
        self.is_accounted = False
        # For entry i its row in the directory, or -1; for row j whether it has an entry.
        self._row_of = np.full(len(scan.found), -1, np.int64)
        self._is_matched = np.zeros(len(scan.listed), bool)
        self._starts = np.array(scan.listed.starts, np.uint64)
        self._found_starts = np.array(scan.found.starts, np.uint64)  # in the order of the entries
        self._boundaries = self._starts
        self._in_place: set[int] = set()
        self._is_sound = True
        self._dropped: set[int] = set()

    def choose(self, indices: Sequence[int]) -> int:
        """Return the valid entry of a repeated name: the last one with two agreeing headers, else the last one.

        A later entry of this name that the directory does not list may be part of a lost value, or a replacement: the
        name of the chosen entry is then marked as doubtful.
        """
        listed = [index for index in indices if self.names_by[index] == TWO]
        chosen = (listed or indices)[-1]
        if chosen != indices[-1]:
            self.names_by[chosen] = ONE
        # If the directory is damaged, the other entry may only seem to have this name.
        self.is_accounted = self.is_accounted and self.is_whole
        return chosen

    def merge(self) -> None:
        """Compare the scanned entries with the directory, one kind of agreement after the other."""
        scan = self._scan
        prepended = scan.end.prepended if scan.end is not None else 0
        self._starts += np.uint64(find_shift(self._found_starts, self._starts, prepended))
        end = np.array([] if scan.directory_start is None else [scan.directory_start], np.uint64)
        self._boundaries = np.unique(np.concatenate([self._starts, end]))
        # If two headers give one offset, one of them may have overwritten the header of another entry.
        self.is_whole = scan.is_listed_whole and len(np.unique(self._starts)) == len(self._starts)
        pairs = self._match_exactly()
        self._match_by_name()
        self._dispute(pairs)
        self._match_by_value()
        self._look_again(dict(pairs))
        self.is_whole = self.is_whole and not self._is_second_archive()
        self._lose_broken()
        self._drop_unlisted()
        is_accounted = self.is_whole or self._is_tiled()
        self._drop_folders()
        self._drop_replaced()
        kept = np.array([index for index in range(len(self.entries)) if index not in self._dropped], np.int64)
        starts = np.array(self.entries.starts, np.uint64)
        self.order = kept[np.argsort(starts[kept], kind="stable")]
        # In a complete directory, the last of several values of one name counts. Several directories may belong to
        # several archives.
        others = self._scan.differing_others()
        is_settled = self.is_whole or not self.replaced
        self.is_accounted = is_accounted and self._is_sound and not others and is_settled
        self.replaced |= others

    # --- headers and entries that fit each other ----------------------------------------------------------------------

    def _match_exactly(self) -> list[tuple[int, int]]:
        """Match entries with directory rows by offset, name and value; return all pairs with equal offsets."""
        found, listed = self._scan.found, self._listed
        if not (len(listed) and len(found)):
            return []
        places = np.minimum(np.searchsorted(self._found_starts, self._starts), len(found) - 1)
        rows = np.flatnonzero(self._found_starts[places] == self._starts)
        pairs = list(zip(rows.tolist(), places[rows].tolist(), strict=True))
        for row, index in pairs:
            if found.names[index] == listed.names[row] and self._has_same_value(index, row):
                self._join(index, row, TWO)
                self._in_place.add(index)
        return pairs

    def _is_second_archive(self) -> bool:
        """Return whether unlisted entries lie before the archive that the central directory describes."""
        prepended = self._scan.end.prepended if self._scan.end is not None else 0
        before = int(np.searchsorted(self._found_starts, np.uint64(prepended)))
        return any(self._row_of[index] < 0 and index not in self._dropped for index in range(before))

    def _match_by_name(self) -> None:
        """Match entries with directory rows that have the same name and value, but another offset."""
        found, listed = self._scan.found, self._listed
        unmatched = np.flatnonzero(~self._is_matched).tolist()
        rows = {(listed.names[row], *listed.value(row)): row for row in unmatched}
        for index in np.flatnonzero(self._row_of < 0).tolist() if rows else ():
            row = rows.pop((found.names[index], *found.value(index)), None)
            if row is not None:
                self._join(index, row, TWO)

    def _dispute(self, pairs: list[tuple[int, int]]) -> None:
        """Match entries with directory rows that have the same offset and value, but another name."""
        for row, index in pairs:
            if not self._is_matched[row] and self._row_of[index] < 0 and self._has_same_value(index, row):
                self.disputed[index] = self._listed.names[row]
                self._join(index, row, ONE)

    def _match_by_value(self) -> None:
        """Match entries with directory rows by CRC-32 and size; name and offset of these rows are both damaged."""
        scan, unmatched = self._scan, np.flatnonzero(~self._is_matched)
        rows = rows_inside_values(unmatched, self._starts, scan.found, scan.directory_start)
        unlisted = np.flatnonzero(self._row_of < 0).tolist() if rows else []
        pairs = list(pair_by_value(rows, self._listed, unlisted, scan.found))
        for row, index in pairs:
            self.disputed[index] = self._listed.names[row]
            self._join(index, row, ONE)
        # If as many rows as entries remain, each row may be one of the entries; otherwise some entries were deleted.
        self.is_whole &= len(rows) == len(pairs) or len(rows) != len(unlisted)

    def _has_same_value(self, index: int, row: int) -> bool:
        return self._scan.found.value(index) == self._listed.value(row)

    def _join(self, index: int, row: int, names_by: int) -> None:
        self._row_of[index] = row
        self._is_matched[row] = True
        self.names_by[index] = max(self.names_by[index], names_by)

    # --- headers that fit no scanned entry ----------------------------------------------------------------------------

    def _look_again(self, found_at: dict[int, int]) -> None:
        """Search for values that only the central directory lists; record missing values as lost."""
        broken = {entry.start: entry for entry in self._scan.broken}
        by_name = defaultdict[str, list[LostEntry]](list)
        for each in self._scan.broken:
            by_name[each.name].append(each)
        for row in np.flatnonzero(~self._is_matched).tolist():
            entry, start = self._listed[row], int(self._starts[row])
            if entry.name.endswith("/") and not entry.size:
                continue
            if self._prove(row, entry, start) or self._believe_local(row, found_at.get(row)):
                continue
            reason = broken[start].reason if start in broken else _NO_HEADER
            if start in broken and not (entry.size or entry.stored_size):
                reason = "it is empty according to the directory, but bytes follow its local header"
            self.lost.append(self._located(LostEntry(entry.name, reason, start), entry, broken.get(start)))
            name = broken[start].name if start in broken else entry.name
            if name != entry.name and name not in self._listed_names and name_fault(name) is None:
                # One of the two names is damaged, and it is unknown which.
                self.lost.append(LostEntry(name, f"{reason}; the directory calls it {entry.name!r}", start))
                self._is_sound = False
            for other in by_name.get(entry.name, ()):
                if other.data_offset is not None and other.stored_size == entry.stored_size:
                    self._drop_inside(other.start + 1, other.data_offset + entry.stored_size)

    def _prove(self, row: int, entry: FoundEntry, start: int) -> bool:
        """Keep a value if it lies at the offset that the central directory states; return whether it was kept."""
        local = local_header_at(self._source, start)
        name = None if local is None else decode_name(local.name, local.flags, local.extra)
        if not entry.stored_size:
            return self._prove_empty(row, entry, start, local, name)
        for data_offset in dict.fromkeys(self._data_offsets(entry, start)):
            is_own = local is not None and name == entry.name and data_offset == start + local.length
            for claim in listed_claims(entry, data_offset, local if is_own else None):
                is_free = data_offset > start and not self._is_of_another(start, data_offset)
                value = self._search.verify(claim) if is_free else None
                if value is not None:
                    is_header = local is not None and data_offset == start + local.length
                    self._keep(row, entry, start, value, local if is_header else None, name)
                    return True
        return False

    def _keep(
        self, row: int, entry: FoundEntry, start: int, value: FoundEntry, local: LocalHeader | None, name: str | None
    ) -> None:
        """Add a value that was found through its row in the directory; drop false entries inside the value."""
        index = len(self.entries)
        stop = max(value.stop, self._search.stop_of(value))
        self._drop_inside(start, stop)
        self.entries.append(value._replace(name=entry.name, start=start, stop=stop, is_searched=False))
        self.names_by.append(ONE)
        self._row_of = np.append(self._row_of, -1)
        raw = entry.name.encode("utf-8", "surrogateescape")
        is_named = name == entry.name if local is not None else self._has_name_at(start, raw)
        witnesses = self._witnesses(
            row, (value.size, value.crc32), has_descriptor=stop > value.data_offset + value.stored_size
        )
        self._join(index, row, witnesses if is_named else ONE)
        if is_named or local is None or name is None or name_fault(name) is not None:
            return
        # A local header that does not fit the value and belongs to another entry proves nothing about this entry.
        if local.crc32 == value.crc32 or (name not in self._listed_names and local.crc32 not in self._listed_checksums):
            self.entries.names[index] = name
            self.disputed[index] = entry.name

    def _has_name_at(self, start: int, raw: bytes) -> bool:
        """Return whether the damaged local header at an offset contains this name."""
        data = self._source.read_at(start, LOCAL_HEADER.size + len(raw))
        name_length = int.from_bytes(data[26:28], "little")
        return data[LOCAL_HEADER.size :] == raw and name_length == len(raw)

    def _prove_empty(
        self, row: int, entry: FoundEntry, start: int, local: LocalHeader | None, name: str | None
    ) -> bool:
        """Keep an entry that the directory declares empty, if no other bytes follow it; return whether it was kept."""
        fixed = self._source.read_at(start, LOCAL_HEADER.size)
        if entry.size or entry.crc32 or len(fixed) < LOCAL_HEADER.size:
            return False
        if local is not None and not says_nothing_of_sizes(local.extra):
            return False
        raw = entry.name.encode("utf-8", "surrogateescape")
        if name != entry.name and not self._has_name_at(start, raw):
            return False
        data_offset = start + local_header_length(fixed)
        value = FoundEntry(entry.name, start, data_offset, STORED, 0, 0, 0)
        stop = self._search.stop_of(value)
        if not (data_offset in self._boundaries or stop in self._boundaries):
            return False
        self._keep(row, entry, start, value, local, name)
        return True

    def _believe_local(self, row: int, index: int | None) -> bool:
        """Keep an entry whose value agrees with its local header, but not with its row; return whether it was kept.

        A length that was found by a search may be too short, unless another entry begins right after it, and none where
        the value ends according to its row.
        """
        if index is None or self._row_of[index] >= 0 or index in self._dropped:
            return False
        entry, listed = self._scan.found[index], self._listed
        is_proven = entry.size > 0 and (
            not entry.is_searched
            or entry.size == listed.sizes[row]
            or (entry.stop in self._boundaries and not self._is_end(entry.data_offset + listed.stored_sizes[row]))
        )
        if entry.name != listed.names[row] or not is_proven:
            self.left_out += entry.name == listed.names[row]
            self._dropped.update([index] if entry.name == listed.names[row] else [])
            return False
        self._join(
            index, row, self._witnesses(row, self._scan.found.value(index), has_descriptor=entry.stop > entry.end)
        )
        return True

    def _witnesses(self, row: int, value: tuple[int, int], *, has_descriptor: bool) -> int:
        """Return how certain it is that a value behind a header with the name of `row` is the value of this row.

        If its CRC-32 stands only behind it and in another row, it may be the value of that row.
        """
        if has_descriptor and value != self._listed.value(row) and value in self._listed_values:
            self._is_sound = False
            return ONE
        return TWO

    def _is_end(self, place: int) -> bool:
        """Return whether the next entry follows `place`, with or without a data descriptor between."""
        return any(place + length in self._boundaries for length in (0, *DESCRIPTOR_LENGTHS))

    def _data_offsets(self, entry: FoundEntry, start: int) -> Iterator[int]:
        """Yield possible offsets of a value after its damaged local header."""
        fixed = self._source.read_at(start, LOCAL_HEADER.size)
        if len(fixed) == LOCAL_HEADER.size:
            yield start + local_header_length(fixed)
        name_length = len(entry.name.encode("utf-8", "surrogateescape"))
        yield start + LOCAL_HEADER.size + name_length + _OWN_EXTRA
        yield start + LOCAL_HEADER.size + name_length
        following = int(np.searchsorted(self._boundaries, start, "right"))
        stop = int(self._boundaries[following]) if following < len(self._boundaries) else None
        if stop is not None and stop - start <= entry.stored_size + LOCAL_HEADER.size + 2 * MASK_16:
            yield stop - entry.stored_size

    def _is_of_another(self, start: int, data_offset: int) -> bool:
        """Return whether the value at an offset belongs to a scanned entry that begins after `start`."""
        last = int(np.searchsorted(self._found_starts, np.uint64(min(data_offset, self._source.size())))) - 1
        return last >= 0 and self._scan.found.starts[last] > start and self._scan.found[last].data_offset == data_offset

    def _located(self, lost: LostEntry, entry: FoundEntry, broken: LostEntry | None) -> LostEntry:
        """Return a lost entry with the position of its stored bytes, unless their length is uncertain."""
        if broken is None or broken.data_offset is None or not entry.stored_size or entry.method != STORED:
            return lost
        if broken.stored_size not in (None, 0, entry.stored_size):
            return lost
        value = entry._replace(data_offset=broken.data_offset)
        if broken.name != entry.name or value.end > self._source.size():
            return lost  # the local header belongs to another entry, and the bytes may, too
        has_one_checksum = broken.crc32 == entry.crc32 or self._search.stop_of(value) > value.end
        return replace(
            lost,
            data_offset=broken.data_offset,
            stored_size=entry.stored_size,
            is_named_twice=True,
            has_one_checksum=has_one_checksum,
        )

    @cached_property
    def _listed_names(self) -> set[str]:
        return set(self._listed.names)

    @cached_property
    def _listed_values(self) -> set[tuple[int, int]]:
        return set(map(self._listed.value, range(len(self._listed))))

    @cached_property
    def _listed_checksums(self) -> set[int]:
        return set(self._listed.checksums)

    # --- entries that the directory does not describe -----------------------------------------------------------------

    def _drop_inside(self, start: int, stop: int) -> None:
        """Drop false entries inside a value: bytes of the value that only look like entries."""
        edges = [min(place, self._source.size()) for place in (start, stop)]
        first, last = np.searchsorted(self._found_starts, np.array(edges, np.uint64)).tolist()
        inside = [index for index in range(first, last) if index not in self._dropped and index not in self._in_place]
        # If the directory lists entries inside a lost value, it may be the directory of an archive in this value.
        self._is_sound = self._is_sound and all(self._row_of[index] < 0 for index in inside)
        self.left_out += sum(self.entries.starts[index] != start for index in inside)
        self._dropped.update(inside)

    def _lose_broken(self) -> None:
        """Record a lost entry for each damaged entry that the remaining directory does not list."""
        matched, lost = set(self._starts.tolist()), {entry.name for entry in self.lost}
        if self.is_whole:
            self.unlisted = {entry.name for entry in self._scan.broken if entry.start not in matched}
            return
        for entry in self._scan.broken:
            if entry.start in matched or entry.name in lost or entry.name.endswith("/"):
                continue
            lost.add(entry.name)
            end = (entry.data_offset or 0) + (entry.stored_size or 0)  # may lie beyond the file
            is_located = entry.stored_size and end <= self._source.size()
            self.lost.append(entry if is_located else replace(entry, data_offset=None))
            if entry.is_cut_off:
                self.cut_off.add(entry.name)

    def _drop_unlisted(self) -> None:
        """Drop entries that the directory does not list; of an incomplete one, only those inside a damaged value."""
        unlisted = np.flatnonzero(self._row_of < 0).tolist()
        if self.lost and self.is_whole:
            latest = {self.entries.names[index]: self.entries.starts[index] for index in unlisted}
            for index in np.flatnonzero(self._row_of >= 0).tolist():
                if latest.get(self.entries.names[index], 0) > self.entries.starts[index]:
                    self.names_by[index] = ONE
        doubtful = unlisted if self.is_whole else [index for index in unlisted if index in self._scan.inside_broken]
        left_out = set(doubtful) - self._dropped
        self.unlisted |= {self.entries.names[index] for index in left_out if self.is_whole}
        self.unlisted -= self._listed_names
        self.left_out += len(left_out)
        self._dropped.update(doubtful)

    def _is_tiled(self) -> bool:
        """Return whether entries fill the file up to the directory; the end record must count unlisted entries, too."""
        scan = self._scan
        if not scan.directory_follows or scan.directory_start is None or len(scan.others):
            return False
        is_kept = np.ones(len(self._row_of), bool)
        is_kept[list(self._dropped)] = False
        is_listed = self._row_of >= 0
        unlisted = int((is_kept & ~is_listed).sum())
        listed = len(np.unique(self._starts[self._is_matched]))
        if unlisted and (scan.end is None or scan.end.entries != listed + unlisted):
            return False
        indices = np.flatnonzero(is_listed | is_kept)
        starts = np.array(self.entries.starts, np.uint64)[indices]
        stops = np.array(self.entries.stops, np.uint64)[indices]
        order = np.argsort(starts, kind="stable")
        edges = np.append(starts[order], np.uint64(scan.directory_start))
        return bool(edges[0] == 0) and bool((edges[1:] == stops[order]).all())

    def _drop_folders(self) -> None:
        folders = [index for index, name in enumerate(self.entries.names) if name.endswith("/")]
        for index in [index for index in folders if index not in self.disputed]:
            entry = self.entries[index]
            if entry.size and index not in self._dropped:
                self.lost.append(LostEntry(entry.name, _FOLDER_WITH_BYTES, entry.start))
            self._dropped.add(index)

    def _drop_replaced(self) -> None:
        """Keep only the last value of each name that the directory repeats, as readers do; drop the earlier values."""
        disputed = {int(self._row_of[index]) for index in self.disputed}
        replaced = {
            row
            for rows in repeated_names(self._listed.names).values()
            for row in [row for row in rows if row not in disputed][:-1]
        }
        if not replaced:
            return
        rows = self._row_of.tolist()
        # If only the name suggests that a header is the header of a replaced value, it may belong to another entry.
        proven = [row for index, row in enumerate(rows) if row >= 0 and self.names_by[index] == TWO]
        known = {(int(self._starts[row]), self._listed.names[row]) for row in proven}
        known |= {(entry.start, entry.name) for entry in self._scan.broken}
        self._is_sound &= all((int(self._starts[row]), self._listed.names[row]) in known for row in replaced)
        self._dropped.update(index for index, row in enumerate(rows) if row in replaced)
        self._doubt_order()
        names = {self._listed.names[row] for row in replaced}
        last = {self._listed.names[row] for index, row in enumerate(rows) if row >= 0 and index not in self._dropped}
        still = names & last
        self.lost = [entry for entry in self.lost if entry.name not in still]
        values = self._listed.values_by_name()
        self.replaced = {name for name in still if len(values[name]) > 1}

    def _doubt_order(self) -> None:
        """Mark the result as uncertain if the last of several rows with one name does not have the largest offset."""
        for places in repeated_names(self._listed.names).values():
            starts = [int(self._starts[row]) for row in places]
            if starts[-1] < max(starts):
                self._is_sound = False
                for index in np.flatnonzero(self._row_of == places[-1]).tolist():
                    self.names_by[index] = ONE
