"""Scan of a damaged archive for local file headers, without the central directory.

One pass reads the file. It skips a value whose CRC-32 matches; inside any other value it searches for the next header.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ozx.archive.columns import iter_resolved_headers
from ozx.archive.directory import EndOfDirectory, read_end
from ozx.archive.entry_reading import ReadAheadSource, says_nothing_of_sizes
from ozx.archive.inflate import iter_inflated
from ozx.archive.names.decoding import decode_name, name_fault
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    LOCAL_SIGNATURE,
    STORED,
    CentralHeader,
    LocalHeader,
    central_header_length,
    iter_extra_fields,
)
from ozx.archive.recovery.values import (
    SIGNATURE,
    Claim,
    FoundEntry,
    ValueSearch,
    claims_of,
    find_signature,
    local_header_at,
)
from ozx.crc32 import crc32
from ozx.errors import FormatError, UnsupportedError
from ozx.places.byte_source import ByteSource, iter_exactly
from ozx.places.positional_reading import COPY
from ozx.progress import NO_PROGRESS, Progress

# Broken entries are kept one by one; a file full of them is no archive.
_MOST_BROKEN = 1 << 20


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


def scan_archive(source: ByteSource, progress: Progress = NO_PROGRESS) -> Scan:
    """Scan `source` for entries by their local file headers, and verify each value by its CRC-32."""
    scan = Scan(source)
    scan.run(progress)
    return scan


class Scan:
    """A scan of a damaged archive, and what it found."""

    def __init__(self, source: ByteSource) -> None:
        self._size = source.size()
        self._ahead = ReadAheadSource(source, COPY)
        self._search = ValueSearch(self._ahead)
        self.end = end = _read_end(source)  # the end records; None if they are damaged or missing
        # If bytes lie before and behind the archive that the end records describe, it may be an archive in a value.
        is_inner = end is not None and end.prepended > 0 and end.trailing > 0
        listed = None if end is None or is_inner else _read_listed(source, end)
        # Whether the end records lead to a directory with the headers and bytes that they declare.
        self.is_listed_whole = listed is not None
        # That directory; else all surviving headers in the file's order. Offsets are unchanged.
        self.listed = listed or EntryTable()
        self.others = EntryTable()  # headers of other directories, if the end records lead to a complete one
        self.found = EntryTable()  # entries with right values, in the file's order
        self.broken: list[LostEntry] = []  # headers without such a value
        # Indices in `found` that lie inside the evident range of a broken entry: probably parts of its value.
        self.inside_broken: set[int] = set()
        self.unexplained = 0  # number of bytes before the directory that belong to no entry
        self.has_holes = False  # whether such bytes follow a right value rather than a broken one
        self.directory_follows = False  # whether a header of the directory, or an end record, follows the last entry
        self.directory_start: int | None = None  # start of that directory
        self._directory = (
            (end.directory_offset, end.directory_offset + end.directory_size)
            if end is not None and listed is not None
            else None
        )
        # The evident end of broken entries; a header before it starts no new broken entry.
        self._shadow = 0
        self._listed_end = self._value_end = -1

    def differing_others(self) -> set[str]:
        """Return the names for which another central directory in the file lists different values."""
        here = self.listed.values_by_name() if len(self.others) else {}
        return {name for name, values in self.others.values_by_name().items() if not values <= here.get(name, set())}

    def run(self, progress: Progress) -> None:
        """Read the file once, from its beginning to its end."""
        position = reported = 0
        while (place := find_signature(self._ahead, position, self._size)) is not None:
            self._leave_gap(position, place, is_followed=True)
            position = self._read_record(place)
            if position - reported >= COPY:
                progress.advance(position - reported)
                reported = position
        self._leave_gap(position, self._size, is_followed=False)
        progress.advance(self._size - reported)

    def _leave_gap(self, start: int, stop: int, *, is_followed: bool) -> None:
        if self._is_directory(start):
            self._follow(start)
        if self.directory_follows or start == stop:
            return
        self.unexplained += stop - start
        self.has_holes = self.has_holes or (is_followed and start == self._value_end)

    def _read_record(self, place: int) -> int:
        """Read the record at `place`, and return the offset at which the scan continues."""
        if self._directory is not None and self._directory[0] <= place < self._directory[1]:
            self._follow(place)
            self.directory_start = self._directory[0]  # headers before it may stand in a value
            return self._directory[1]
        kind = self._ahead.read_at(place, 4)
        if kind == LOCAL_SIGNATURE:
            return self._read_entry(place)
        if place >= self._shadow or self._is_directory(place):
            self._follow(place)
            if kind == CENTRAL_SIGNATURE:
                return self._read_central(place)
        return place + 4

    def _follow(self, place: int) -> None:
        if not self.directory_follows:
            self.directory_start = place
        self.directory_follows = True

    def _is_directory(self, place: int) -> bool:
        """Return whether, according to the end records, the central directory begins at or before `place`."""
        end = self.end
        return end is not None and not (end.prepended or end.trailing) and end.directory_offset <= place

    def _read_entry(self, place: int) -> int:
        header = local_header_at(self._ahead, place)
        if header is None:
            self._lose(LostEntry(_name_at(self._ahead, place), "its header is cut off", place, is_cut_off=True))
            return place + 4
        name = decode_name(header.name, header.flags, header.extra)
        claims = claims_of(header, place + header.length)
        values = filter(None, map(self._search.verify, claims))
        may_be_empty = says_nothing_of_sizes(header.extra)
        value = next(
            (one for one in values if one.size or (may_be_empty and self._is_evidently_empty(one, claims[0]))), None
        )
        if value is not None and (name or value.size):
            self._find(name, place, value)
            self._value_end = value.stop
            return value.stop
        if name_fault(name) is None:
            first = claims[0] if claims else None
            end = self._evident_end(header, first)
            is_cut_off = end is not None and end > self._size
            stored = (first.data_offset, first.stored_size, first.crc32) if first is not None else (None, None, None)
            reason = self._search.why_not(header, first)
            self._lose(LostEntry(name, reason, place, end, is_cut_off, *stored))
        return place + 4

    def _is_evidently_empty(self, value: FoundEntry, claim: Claim) -> bool:
        """Return whether the header and the following bytes prove that a value is empty; a CRC-32 of 0 is no proof."""
        if claim.size or claim.stored_size not in (None, value.stored_size):
            return False
        # A deflated value without bytes still has a stream with an end.
        is_followed = value.stop == self._size or SIGNATURE.match(self._ahead.read_at(value.stop, 4)) is not None
        return value.stored_size > 0 or is_followed

    def _find(self, name: str, place: int, value: FoundEntry) -> None:
        if value.stop <= self._shadow:
            self.inside_broken.add(len(self.found))
        else:
            self.directory_follows = False
        if self._directory is not None and value.data_offset <= self._directory[0] < value.stop:
            self._distrust_end()  # the end records lead into a value
        self.found.append(value._replace(name=name, start=place))

    def _lose(self, entry: LostEntry) -> None:
        if entry.start < self._shadow or len(self.broken) >= _MOST_BROKEN:
            return
        self.broken.append(entry)
        self._shadow = max(self._shadow, min(entry.end or 0, self._size))
        end = self.end
        if self._directory is not None and end is not None and end.prepended and self._shadow >= self._directory[1]:
            self._distrust_end()  # they belong to an archive in a value that the end of the file truncates

    def _distrust_end(self) -> None:
        self._directory = None
        self.listed, self.is_listed_whole = EntryTable(), False

    def _evident_end(self, header: LocalHeader, claim: Claim | None) -> int | None:
        """Return a damaged entry's declared end if the bytes after this end confirm it, else None.

        If the end lies beyond the file, two equal declared sizes of an uncompressed entry confirm it.
        """
        fields = sum(4 + len(data) for _, data in iter_extra_fields(header.extra))
        if claim is None or not claim.stored_size or fields != len(header.extra):
            return None
        end = claim.data_offset + claim.stored_size
        if end > self._size:
            return end if header.method == STORED and claim.stored_size == claim.size else None
        is_followed = end == self._size or SIGNATURE.match(self._ahead.read_at(end, 4)) is not None
        return end if is_followed else None

    def _read_central(self, place: int) -> int:
        """Read the central directory header at `place`, and return the offset at which the scan continues.

        The header counts only if a record or the end of the file follows it, or if a listed header or a value ends at
        `place`.
        """
        fixed = self._ahead.read_at(place, CENTRAL_HEADER.size)
        if len(fixed) < CENTRAL_HEADER.size:
            return place + 4
        length = central_header_length(fixed)
        data = self._ahead.read_at(place, length + 4)
        try:
            header = CentralHeader.from_bytes(data)
        except FormatError:
            return place + 4
        # A comment may result from a damaged length, or hide another archive: records in it are read.
        bare = CENTRAL_HEADER.size + len(header.name) + len(header.extra)
        if bare < length and SIGNATURE.search(data, bare, length) is not None:
            length = bare
        is_followed = len(data) < length + 4 or SIGNATURE.match(data, length) is not None
        if not is_followed and place not in (self._listed_end, self._value_end):
            return place + 4
        self._listed_end = place + length
        _append_listed(self.others if self._directory is not None else self.listed, header)
        return place + length


def _read_listed(source: ByteSource, end: EndOfDirectory) -> EntryTable | None:
    """Return the central directory that the end records locate; None if its size or entry count is wrong."""
    table = EntryTable()
    try:
        for header in iter_resolved_headers(source, end):
            _append_listed(table, header._replace(header_offset=header.header_offset - end.prepended))
    except FormatError:
        return None
    return table


def _append_listed(table: EntryTable, header: CentralHeader) -> None:
    name = decode_name(header.name, header.flags, header.extra)
    sizes = header.compressed_size, header.uncompressed_size
    table.append(FoundEntry(name, header.header_offset, 0, header.method, *sizes, header.crc32))


def iter_found_value(source: ByteSource, entry: FoundEntry) -> Iterator[bytes]:
    """Yield a found value in decompressed blocks, and check its CRC-32 again."""
    checksum = 0
    blocks = iter_exactly(source, entry.data_offset, entry.stored_size, f"the value of {entry.name!r}")
    for block in blocks if entry.method == STORED else iter_inflated(entry.method, blocks, entry.size):
        checksum = crc32(block, checksum)
        yield block
    if checksum != entry.crc32:
        raise FormatError(
            f"{entry.name!r} was read twice, with different results; the file is being changed, or the disk is faulty",
            path=source.name,
            rule="zip/changed",
        )


def _read_end(source: ByteSource) -> EndOfDirectory | None:
    try:
        return read_end(source, allow_leading_entries=True)
    except (FormatError, UnsupportedError):
        return None


def _name_at(source: ByteSource, place: int) -> str:
    """Return the name from a truncated header, or the part of the name that the file contains."""
    fixed = source.read_at(place, 30)
    length = int.from_bytes(fixed[26:28], "little") if len(fixed) == 30 else 0
    return source.read_at(place + 30, length).decode("utf-8", "replace")
