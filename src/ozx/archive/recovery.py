"""What an archive still holds, found by its local file headers: without trust in a directory, or in anything.

One pass from the first byte to the last. A value that is found right is stepped over, whatever it looks like inside;
behind one that is wrong, the next header is searched for within it, too.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ozx.archive.byte_source import ByteSource, read_exactly
from ozx.archive.crc32 import crc32
from ozx.archive.directory import EndOfDirectory, read_end
from ozx.archive.entry_reading import ReadAhead
from ozx.archive.inflate import iter_inflated
from ozx.archive.names import decode_name, name_fault
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    LOCAL_SIGNATURE,
    STORED,
    CentralHeader,
    LocalHeader,
    iter_extra_fields,
)
from ozx.archive.recovery_values import (
    SIGNATURE,
    Claim,
    ValueFinder,
    VerifiedValue,
    claims_of,
    find_signature,
    local_header_at,
)
from ozx.errors import FormatError, UnsupportedError
from ozx.progress import NO_PROGRESS, Progress

__all__ = ["BrokenEntry", "EntryTable", "FoundEntry", "Scan", "iter_found_value", "scan_archive"]

_BLOCK = 4 << 20
_PIECE = 1 << 20
# Broken entries are remembered one by one; a file full of them is no archive.
_MOST_BROKEN = 1 << 20


class FoundEntry(NamedTuple):
    """An entry whose value is right; its name, which no checksum covers, need not be.

    `start` is the offset of its header. Of what a central directory header says `data_offset` is 0.
    """

    name: str
    start: int
    data_offset: int
    method: int
    stored_size: int
    size: int
    crc32: int

    @property
    def end(self) -> int:
        """Where its bytes end."""
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
        )

    def append(self, entry: FoundEntry) -> None:
        """Add an entry."""
        self.names.append(entry.name)
        self.starts.append(entry.start)
        self._data_offsets.append(entry.data_offset)
        self._methods.append(entry.method)
        self.stored_sizes.append(entry.stored_size)
        self.sizes.append(entry.size)
        self.checksums.append(entry.crc32)


class BrokenEntry(NamedTuple):
    """A local header whose value could not be had.

    `end` is where the entry ends if its sizes are right, for which there is evidence; None where there is none.
    """

    name: str
    start: int
    end: int | None
    reason: str
    is_cut_off: bool


@dataclass(slots=True)
class Scan:
    """What was found.

    Attributes
    ----------
    found
        Entries with right values, in the file's order.
    broken
        Headers without such a value.
    listed
        What is left of the central directory, header by header, in its order.
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
    """

    found: EntryTable = field(default_factory=EntryTable)
    broken: list[BrokenEntry] = field(default_factory=list)
    listed: EntryTable = field(default_factory=EntryTable)
    inside_broken: set[int] = field(default_factory=set)
    end: EndOfDirectory | None = None
    unexplained: int = 0
    has_holes: bool = False
    directory_follows: bool = False


def scan_archive(source: ByteSource, progress: Progress = NO_PROGRESS) -> Scan:
    """Return all that stands in `source` behind local file headers and whose CRC-32 fits.

    Memory is that of some blocks, and of a few hundred bytes for every entry.

    Parameters
    ----------
    source
        A ZIP file, or what is left of one.
    progress
        Told the bytes that are behind.

    Examples
    --------
    >>> from ozx.archive.byte_source import MemorySource
    >>> from ozx.archive.writer import local_header
    >>> header = local_header(b"0/c/0", 0, 0xED82CD11, 4)
    >>> scan = scan_archive(MemorySource(header + b"abcd" + header + b"abc"))
    >>> scan.found.names, scan.broken[0].reason
    (['0/c/0'], 'it is cut off by the end of the file')
    """
    return _Scanner(source, progress).scan()


class _Scanner:
    def __init__(self, source: ByteSource, progress: Progress) -> None:
        self._size = source.size()
        self._ahead = ReadAhead(source, _BLOCK)
        self._finder = ValueFinder(self._ahead)
        self._progress = progress
        self._result = Scan(end=_read_end(source))
        # Behind what a broken entry claims by evidence; before it, nothing else is believed to be an entry.
        self._shadow = 0
        self._listed_end = self._value_end = -1

    def scan(self) -> Scan:
        position = told = 0
        while (place := find_signature(self._ahead, position, self._size)) is not None:
            self._leave_gap(position, place, is_followed=True)
            position = self._take(place)
            if position - told >= _BLOCK:
                self._progress.advance(position - told)
                told = position
        self._leave_gap(position, self._size, is_followed=False)
        self._progress.advance(self._size - told)
        return self._result

    def _leave_gap(self, start: int, stop: int, *, is_followed: bool) -> None:
        result = self._result
        result.directory_follows = result.directory_follows or self._is_directory(start)
        if result.directory_follows or start == stop:
            return
        result.unexplained += stop - start
        result.has_holes = result.has_holes or (is_followed and start == self._value_end)

    def _take(self, place: int) -> int:
        """Look at the signature at `place`; return where to go on."""
        kind = self._ahead.read_at(place, 4)
        if kind == LOCAL_SIGNATURE:
            return self._take_entry(place)
        if place >= self._shadow or self._is_directory(place):
            self._result.directory_follows = True
            if kind == CENTRAL_SIGNATURE:
                return self._take_central(place)
        return place + 4

    def _is_directory(self, place: int) -> bool:
        """Tell whether the end records say that the directory is at `place`; not those of an archive in a value."""
        end = self._result.end
        return end is not None and not (end.prepended or end.trailing) and end.directory_offset <= place

    def _take_entry(self, place: int) -> int:
        header = local_header_at(self._ahead, place)
        if header is None:
            self._lose(_name_at(self._ahead, place), place, None, "its header is cut off", is_cut_off=True)
            return place + 4
        name = decode_name(header.name, header.flags, header.extra)
        claims = claims_of(header, place + header.length)
        value = next(filter(None, map(self._finder.verify, claims)), None)
        if value is not None and (name or value.size):
            self._find(name, place, value)
            self._value_end = value.end
            return value.end
        if name_fault(name) is None:
            first = claims[0] if claims else None
            end = self._evident_end(header, first)
            is_cut_off = end is not None and end > self._size
            self._lose(name, place, end, self._finder.why_not(header, first), is_cut_off=is_cut_off)
        return place + 4

    def _find(self, name: str, place: int, value: VerifiedValue) -> None:
        result = self._result
        if value.end <= self._shadow:
            result.inside_broken.add(len(result.found))
        else:
            result.directory_follows = False
        entry = FoundEntry(name, place, value.data_offset, value.method, value.stored_size, value.size, value.crc32)
        result.found.append(entry)

    def _lose(self, name: str, place: int, end: int | None, reason: str, *, is_cut_off: bool) -> None:
        if place < self._shadow or len(self._result.broken) >= _MOST_BROKEN:
            return
        self._result.broken.append(BrokenEntry(name, place, end, reason, is_cut_off))
        self._shadow = max(self._shadow, min(end or 0, self._size))

    def _evident_end(self, header: LocalHeader, claim: Claim | None) -> int | None:
        """Return where a broken entry ends when two numbers agree on it, or what follows does."""
        fields = sum(4 + len(extra.data) for extra in iter_extra_fields(header.extra))
        if claim is None or claim.stored_size is None or fields != len(header.extra):
            return None
        end = claim.data_offset + claim.stored_size
        if end > self._size:
            return end if header.method == STORED and claim.stored_size == claim.size else None
        is_followed = end == self._size or SIGNATURE.match(self._ahead.read_at(end, 4)) is not None
        return end if is_followed else None

    def _take_central(self, place: int) -> int:
        """Take a header of the central directory, when another one or the last value stands next to it."""
        fixed = self._ahead.read_at(place, CENTRAL_HEADER.size)
        if len(fixed) < CENTRAL_HEADER.size:
            return place + 4
        length = CENTRAL_HEADER.size + sum(int.from_bytes(fixed[at : at + 2], "little") for at in (28, 30, 32))
        data = self._ahead.read_at(place, length + 4)
        try:
            header = CentralHeader.from_bytes(data)
        except FormatError:
            return place + 4
        name = decode_name(header.name, header.flags, header.extra)
        is_followed = len(data) < length + 4 or SIGNATURE.match(data, length) is not None
        if not is_followed and place not in (self._listed_end, self._value_end):
            return place + 4
        self._listed_end = place + length
        if name_fault(name) is None:
            sizes = header.compressed_size, header.uncompressed_size
            self._result.listed.append(FoundEntry(name, header.header_offset, 0, header.method, *sizes, header.crc32))
        return place + length


def iter_found_value(source: ByteSource, entry: FoundEntry) -> Iterator[bytes]:
    """Yield a value that was found, inflated where it is deflated; its CRC-32 is checked once more.

    Raises
    ------
    FormatError
        It is no longer what it was (``zip/changed``), which is known only after the last block.
    """
    checksum = 0
    blocks = _iter_stored(source, entry)
    for block in blocks if entry.method == STORED else iter_inflated(entry.method, blocks, entry.size):
        checksum = crc32(block, checksum)
        yield block
    if checksum != entry.crc32:
        raise FormatError(
            f"{entry.name!r} was read twice, with different results; the file, or the disk, is changing",
            path=source.name,
            rule="zip/changed",
        )


def _iter_stored(source: ByteSource, entry: FoundEntry) -> Iterator[bytes]:
    for offset in range(entry.data_offset, entry.end, _PIECE):
        yield read_exactly(source, offset, min(_PIECE, entry.end - offset), f"the value of {entry.name!r}")


def _read_end(source: ByteSource) -> EndOfDirectory | None:
    try:
        return read_end(source)
    except (FormatError, UnsupportedError):
        return None


def _name_at(source: ByteSource, place: int) -> str:
    """Return as much as there is of the name of a header that is cut off."""
    fixed = source.read_at(place, 30)
    length = int.from_bytes(fixed[26:28], "little") if len(fixed) == 30 else 0
    return source.read_at(place + 30, length).decode("utf-8", "replace")
