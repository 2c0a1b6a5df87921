"""The end records and the central directory of an archive: their positions, and iteration over the headers.

The central directory is authoritative; it is found from the end of the file (APPNOTE 4.3.6, 4.3.16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.other_formats import LONGEST_SIGNATURE, find_format
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    DIGITAL_SIGNATURE,
    END_RECORD,
    END_SIGNATURE,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_16,
    MASK_32,
    SPLIT_SIGNATURE,
    ZIP64_END_RECORD,
    ZIP64_END_SIGNATURE,
    ZIP64_LOCATOR,
    ZIP64_LOCATOR_SIGNATURE,
    CentralHeader,
    EndRecord,
    central_header_length,
    local_header_length,
)
from ozx.errors import FormatError, UnsupportedError
from ozx.places.byte_source import ByteSource, keep_span, read_exactly
from ozx.places.positional_reading import READ
from ozx.quoting import quote

# Reasons for a directory that is not where, or not as long as, the end records say.
#
# A nested archive looks like the whole file if the end of the outer archive is missing. End records may also be wrong
# and agree with each other: a reader that believes them reads zeros in place of chunks. Without ZIP64, old writers
# store offsets modulo 2**32.

_LONGEST_LOCAL_HEADER = LOCAL_HEADER.size + 2 * MASK_16
_LONGEST_CENTRAL_HEADER = CENTRAL_HEADER.size + 3 * MASK_16
_HINT = "Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged entries."


def has_wrapped(source: ByteSource, directory_offset: int, prepended: int) -> bool:
    """Return whether offsets are modulo 2**32: the directory is `prepended` bytes later, but not the first entry."""
    if not prepended or prepended & MASK_32:
        return False
    try:
        first = CentralHeader.from_bytes(source.read_at(directory_offset, _LONGEST_CENTRAL_HEADER))
    except FormatError:
        return False
    # If the header is at both places, the offsets may also count from the end of the bytes before the archive.
    places = first.header_offset, first.header_offset + prepended
    return [is_header_at(source, first, place) for place in places] == [True, False]


def is_header_at(source: ByteSource, header: CentralHeader, offset: int) -> bool:
    """Return whether the local header of an entry is at `offset`."""
    try:
        return header_contradiction(header, read_local_header(source, header._replace(header_offset=offset))) is None
    except FormatError:
        return False


def check_leading(source: ByteSource, prepended: int) -> None:
    """Raise an error if an archive follows the entries of another archive.

    A self-extracting file begins with a program (APPNOTE 4.1.9). The `prepended` bytes are those before the archive,
    which the offsets in the directory do not count. If they begin or end with a local header, there are three possible
    causes: the archive is the value of an entry in an outer archive whose directory is lost, the archive was appended
    to another archive, or bytes were inserted into the file.
    """
    if not prepended:
        return
    start = max(0, prepended - _LONGEST_LOCAL_HEADER)
    before = source.read_at(start, max(prepended - start, len(LOCAL_SIGNATURE)))
    if (source.read_at(0, len(LOCAL_SIGNATURE)) if start else before).startswith(LOCAL_SIGNATURE):
        found = "the file begins with a local header"
    elif _ends_in_header(before[: prepended - start]):
        found = "a local header ends where the archive begins"
    else:
        return
    raise FormatError(
        f"the archive begins at byte {prepended:,} of the file, but {found}. Possible causes: the archive is "
        "an entry of another archive, it was appended to another archive, or bytes were inserted into the file",
        path=source.name,
        rule="zip/leading-entries",
        hint=_HINT,
    )


def _ends_in_header(before: bytes) -> bool:
    """Return whether bytes end with a local header, including its name and extra field."""
    for position in _iter_backwards(before, LOCAL_SIGNATURE):
        is_complete = position + LOCAL_HEADER.size <= len(before)
        if is_complete and position + local_header_length(before, position) == len(before):
            return True
    return False


def _iter_backwards(data: bytes, signature: bytes) -> Iterator[int]:
    """Yield the positions of a signature in `data`, the last one first."""
    position = data.rfind(signature)
    while position >= 0:
        yield position
        position = data.rfind(signature, 0, position)


def check_headers_behind(source: ByteSource, stop: int, end_offset: int, tail: bytes, comment: int) -> None:
    """Raise an error if headers may follow the directory, which ends at `stop`, or the end record.

    `tail` is the end of the file; the archive comment begins at its position `comment`. Less than a header, or a
    digital signature (APPNOTE 4.3.13), may follow the directory.
    """
    tail_offset = source.size() - len(tail)
    found = tail.find(CENTRAL_SIGNATURE, max(0, stop - tail_offset), max(0, end_offset - tail_offset))
    found = tail.find(CENTRAL_SIGNATURE, comment) if found < 0 else found
    length = end_offset - stop
    start = source.read_at(stop, 4) if length >= CENTRAL_HEADER.size else DIGITAL_SIGNATURE
    if found >= 0 or start == CENTRAL_SIGNATURE:
        raise _left_out(source, f"another header is at {tail_offset + found if found >= 0 else stop:,}")
    if start != DIGITAL_SIGNATURE:
        raise _left_out(source, f"{length:,} bytes, long enough for a header, follow it", "zip/bytes-after-directory")


def check_headers_before(source: ByteSource, start: int, last: int, size: int) -> None:
    """Raise an error if a header stands between the last value and the directory, which begins at `start`.

    The last local header is at `last`, or negative without entries; its name and value have at least `size` bytes. An
    older directory, which its own end record follows, may stand there.
    """
    stop = last + LOCAL_HEADER.size + size if last >= 0 else 0
    if start - stop < CENTRAL_HEADER.size:  # in a file of ozx, these are the 20 bytes of a ZIP64 field
        return
    first = max(stop, start - _LONGEST_CENTRAL_HEADER)
    data = source.read_at(first, start - first)
    found = data.rfind(CENTRAL_SIGNATURE, 0, len(data) - CENTRAL_HEADER.size + len(CENTRAL_SIGNATURE))
    if found <= data.rfind(END_SIGNATURE):
        return
    extra_length = int.from_bytes(source.read_at(last + LOCAL_HEADER.size - 2, 2), "little") if last >= 0 else 0
    if first + found >= stop + extra_length:  # else the bytes belong to the last value
        raise _left_out(source, f"another header is at {first + found:,}")


def _left_out(source: ByteSource, found: str, rule: str = "zip/directory") -> FormatError:
    return FormatError(
        f"the end records leave out a part of the central directory: {found}",
        path=source.name,
        rule=rule,
        hint=_HINT,
    )


# A read of this length contains all end records: the classic one with the longest comment, the ZIP64 locator and the
# ZIP64 end record.
END_SEARCH_LENGTH = MASK_16 + END_RECORD.size + ZIP64_LOCATOR.size + ZIP64_END_RECORD.size

#: Length of a ZIP64 end record without an extensible data sector (4.3.14.2), which no writer uses.
ZIP64_END_LENGTH = ZIP64_END_RECORD.size

_SHORTEST_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class EndOfDirectory:
    """The end records of an archive, with ZIP64 values resolved; offsets count from the beginning of the file."""

    entries: int  # declared number of entries in the central directory; modulo 65,536 if `may_wrap`
    directory_offset: int
    directory_size: int  # length of the central directory in bytes
    end_offset: int  # offset of the first end record, the ZIP64 one if there is one
    comment: bytes  # the archive comment
    locator_offset: int | None  # offset of the ZIP64 end record in its locator; None without ZIP64
    prepended: int  # bytes before the archive proper; the archive's offsets do not count them
    trailing: int  # bytes after the archive comment
    zip64_length: int | None  # length that the ZIP64 end record declares for itself (4.3.14.1); None without ZIP64
    parts: int | None  # number of parts in the ZIP64 locator (4.4.21); None without ZIP64
    may_wrap: bool = False  # whether the directory may have 65,536 or more entries than declared, without ZIP64
    is_wrapped: bool = False  # whether offsets and sizes are modulo 2**32; see `ozx.archive.columns`

    @property
    def has_zip64_end(self) -> bool:
        """Whether the archive has a ZIP64 end record and its locator."""
        return self.locator_offset is not None


def read_end(source: ByteSource, *, allow_leading_entries: bool = False) -> EndOfDirectory:
    """Read the end records of `source`, with one or two reads.

    With `allow_leading_entries`, the archive may follow entries of another archive, as in a damaged file.
    """
    size = source.size()
    tail_offset = max(0, size - END_SEARCH_LENGTH)
    tail = read_exactly(source, tail_offset, size - tail_offset, "the end of the archive")
    position = _find_end_record(source, tail, tail_offset)
    classic = EndRecord.from_bytes(tail, position)
    comment_end = position + END_RECORD.size + classic.comment_length
    zip64 = _read_zip64_end(source, tail, tail_offset, position)
    end_offset, record = tail_offset + position, classic
    zip64_length = locator_offset = parts = None
    if zip64 is not None:
        record, zip64_length, end_offset, locator_offset, parts = zip64
        _check_same(source, classic, record)
    _check_single_disk(source, record)
    may_wrap = zip64 is None and record.directory_size >= (record.entries + MASK_16 + 1) * CENTRAL_HEADER.size
    directory_offset = _locate_directory(source, record, end_offset, may_wrap=may_wrap)
    prepended = directory_offset - record.directory_offset
    is_wrapped = zip64 is None and has_wrapped(source, directory_offset, prepended)
    if not (is_wrapped or allow_leading_entries):
        check_leading(source, prepended)
    stop = directory_offset + record.directory_size
    check_headers_behind(source, stop, end_offset, tail, position + END_RECORD.size)
    return EndOfDirectory(
        entries=record.entries,
        directory_offset=directory_offset,
        directory_size=record.directory_size,
        end_offset=end_offset,
        comment=tail[position + END_RECORD.size : comment_end],
        locator_offset=locator_offset,
        prepended=0 if is_wrapped else prepended,
        trailing=len(tail) - comment_end,
        zip64_length=zip64_length,
        parts=parts,
        may_wrap=may_wrap or is_wrapped,
        is_wrapped=is_wrapped,
    )


def read_directory(source: ByteSource, end: EndOfDirectory) -> bytes:
    """Return the whole central directory."""
    data = read_exactly(source, end.directory_offset, end.directory_size, "the central directory")
    keep_span(source, end.directory_offset, data, is_directory=True)
    return data


def iter_headers(source: ByteSource, end: EndOfDirectory) -> Iterator[CentralHeader]:
    """Yield the headers of the directory, which is read block by block; offsets count from the file's first byte."""
    # Small blocks first, for callers that need few headers; large ones later.
    buffer, position, following, block = b"", 0, end.directory_offset, _SHORTEST_BLOCK
    stop, last = end.directory_offset + end.directory_size, (0, -1, 0)
    for _ in range(end.entries):
        while (
            following < stop
            and len(buffer) - position < _LONGEST_CENTRAL_HEADER
            and not _holds_header(buffer, position)
        ):
            length = min(block, stop - following)
            data = read_exactly(source, following, length, "the central directory")
            keep_span(source, following, data)
            buffer = buffer[position:] + data
            position, following, block = 0, following + length, min(2 * block, READ)
        try:
            header = CentralHeader.from_bytes(buffer, position)
        except FormatError as error:
            raise error.at(source.name) from None
        position += header.length
        offset, size = header.header_offset + end.prepended, header.compressed_size + len(header.name)
        last = max(last, (offset + size, offset, size))
        yield header._replace(header_offset=offset)
    left = len(buffer) - position + stop - following
    if left:
        raise FormatError(
            f"the end record declares {end.entries:,} entries, but the central directory has {left:,} bytes "
            f"after its {end.entries:,} entries",
            path=source.name,
            rule="zip/directory",
        )
    check_headers_before(source, end.directory_offset, *last[1:])


def _holds_header(buffer: bytes, position: int) -> bool:
    """Return whether `buffer` contains the complete header at `position`."""
    is_complete = position + CENTRAL_HEADER.size <= len(buffer)
    return is_complete and position + central_header_length(buffer, position) <= len(buffer)


def ends_archive(tail: bytes) -> bool:
    """Return whether `tail`, the last bytes of a value, ends with an end record and its comment."""
    for position in _iter_backwards(tail, END_SIGNATURE):
        end = position + END_RECORD.size
        if end <= len(tail) and end + EndRecord.from_bytes(tail, position).comment_length == len(tail):
            return True
    return False


def _find_end_record(source: ByteSource, tail: bytes, tail_offset: int) -> int:
    """Return the position in `tail` of the only valid end record.

    A comment may contain the bytes of another end record. The comment of the valid record ends with the file, and a
    central directory exists at the declared offset. If two records are valid, readers would find different archives.
    """
    exact, loose, signed = [], [], []
    for position in _iter_backwards(tail, END_SIGNATURE):
        if position + END_RECORD.size <= len(tail):
            signed.append(position)
            end = position + END_RECORD.size + EndRecord.from_bytes(tail, position).comment_length
            if end == len(tail):
                exact.append(position)
            elif end < len(tail):
                loose.append(position)
    proven = [found for found in exact if _has_directory(source, tail, tail_offset, found)]
    chosen = next((found[0] for found in (proven, exact, loose) if found), None)
    # Other readers take the last signature, whether or not its comment ends with the file.
    rivals = [found for found in signed if found > chosen] if chosen is not None else []
    rivals = proven[1:] or [found for found in rivals if _has_directory(source, tail, tail_offset, found)]
    if chosen is not None and rivals:
        first, second = sorted((tail_offset + chosen, tail_offset + rivals[0]))
        raise FormatError(
            f"there are two possible end of central directory records, at {first:,} and {second:,}"
            "; readers would find different archives",
            path=source.name,
            rule="zip/end-record",
        )
    if chosen is not None:
        return chosen
    head = source.read_at(0, LONGEST_SIGNATURE)
    if head.startswith(LOCAL_SIGNATURE):
        raise FormatError(
            "it begins like a ZIP file, but has no end of central directory record",
            path=source.name,
            rule="zip/truncated",
            hint=_hint_at_recovery(source.name)
            or "The file is incomplete: copy or download it again; "
            "`ozx recover FILE OUT.ozx` saves the undamaged entries.",
        )
    if head.startswith(SPLIT_SIGNATURE):
        raise _split(source, "it begins with the mark of the first part of a split archive")
    if not head:
        raise FormatError(
            "expected an .ozx file; it is empty",
            path=source.name,
            rule="zip/not-a-zip",
            hint=_hint_at_recovery(source.name, is_empty=True),
        )
    known = find_format(head)
    raise FormatError(
        f"expected an .ozx file; it is {known.name}"
        if known is not None
        else f"expected a ZIP file; found no end of central directory record, and the first bytes are {head[:4]!r}",
        path=source.name,
        rule="zip/not-a-zip",
        hint=_hint_at_recovery(source.name) if known is None else known.hint(source.name),
    )


def _hint_at_recovery(name: str, *, is_empty: bool = False) -> str | None:
    """Return a hint if the name of a file shows that its writer has not finished the file, else None."""
    from ozx.atomic.temporary import is_partial  # noqa: PLC0415 (only errors need it)

    if not is_partial(name):
        return None
    command = f"ozx recover {quote(name)} OUT.ozx"
    if is_empty:  # flushed frames are in a file beside it
        return (
            "Its writer has not completed any value. "
            f"If the writer was killed, {command} saves the frames that it had flushed."
        )
    return f"A writer has not finished this file. {command} saves the written data."


def _has_directory(source: ByteSource, tail: bytes, tail_offset: int, position: int) -> bool:
    """Return whether a central directory exists at the offset that the end record at `position` declares."""
    record = EndRecord.from_bytes(tail, position)
    locator = position - ZIP64_LOCATOR.size
    if locator >= 0 and tail.startswith(ZIP64_LOCATOR_SIGNATURE, locator):
        return True
    if record.entries == 0:
        return record.directory_size == 0
    start = tail_offset + position - record.directory_size
    if start >= tail_offset:
        return tail.startswith(CENTRAL_SIGNATURE, start - tail_offset)
    return start >= 0 and source.read_at(start, 4) == CENTRAL_SIGNATURE


def _read_zip64_end(
    source: ByteSource, tail: bytes, tail_offset: int, position: int
) -> tuple[EndRecord, int, int, int, int] | None:
    """Return the ZIP64 end record that the locator refers to, without a comment; None if there is no locator.

    Then come the length that it declares, its real offset, and two numbers from its locator: the declared offset, and
    the number of parts.
    """
    locator = position - ZIP64_LOCATOR.size
    if locator < 0 or not tail.startswith(ZIP64_LOCATOR_SIGNATURE, locator):
        return None
    _, disk, declared, disks = ZIP64_LOCATOR.unpack_from(tail, locator)
    if disk or disks > 1:
        raise _split(source, f"the ZIP64 locator counts {disks} parts")
    # With prepended bytes the declared offset is too small: then the record is right before its locator.
    for offset in (declared, tail_offset + locator - ZIP64_END_RECORD.size):
        if 0 <= offset <= tail_offset + locator - ZIP64_END_RECORD.size:
            begin, what = offset - tail_offset, "the ZIP64 end record"
            data = tail[begin:] if begin >= 0 else read_exactly(source, offset, ZIP64_END_RECORD.size, what)
            if data.startswith(ZIP64_END_SIGNATURE):
                _, rest, _, _, *fields = ZIP64_END_RECORD.unpack_from(data)
                length = 12 + rest  # 4.3.14.1: the size leaves out the first 12 bytes
                _check_adjacent(source, length, offset, tail_offset + locator)
                return EndRecord._make((*fields, 0)), length, offset, declared, disks
    raise FormatError(
        f"the ZIP64 locator points to an end record at {declared:,}, but there is none",
        path=source.name,
        rule="zip/end-record",
    )


def _check_adjacent(source: ByteSource, length: int, offset: int, locator: int) -> None:
    """Raise `FormatError` if the ZIP64 end record at `offset` does not end where its locator begins (APPNOTE 4.3.6).

    In this case, another ZIP64 end record may lie right before the locator, and some readers would use that record.
    """
    # A wrong length is accepted if the record has its shortest length.
    ends = (offset + ZIP64_END_RECORD.size, offset + length)
    if locator not in ends:
        raise FormatError(
            f"the ZIP64 end record at {offset:,} ends at {ends[1]:,}, but its locator begins at {locator:,}; "
            "readers would find different archives",
            path=source.name,
            rule="zip/end-record",
        )


def _check_same(source: ByteSource, classic: EndRecord, wide: EndRecord) -> None:
    """Raise an error unless each classic field is a sentinel or equals the ZIP64 field (4.4.1.4)."""
    for field, value, wide_value in zip(EndRecord._fields[:6], classic, wide, strict=False):
        sentinel = MASK_32 if field in ("directory_size", "directory_offset") else MASK_16
        if value not in (sentinel, wide_value):
            raise FormatError(
                f"the end records contradict each other: {field.replace('_', ' ')} is {value:,} in the classic "
                f"record, {wide_value:,} in the ZIP64 record",
                path=source.name,
                rule="zip/end-record",
            )


def _check_single_disk(source: ByteSource, record: EndRecord) -> None:
    if record.disk or record.directory_disk:
        parts = f"this file is part {record.disk + 1}, the central directory is in part {record.directory_disk + 1}"
        raise _split(source, parts)
    if record.entries_on_disk != record.entries:
        raise _split(source, f"{record.entries_on_disk:,} of {record.entries:,} entries are in this part")


def _split(source: ByteSource, found: str) -> UnsupportedError:
    # RFC-9 (R2, 2026-04-20): "OME-Zarr zip files SHALL NOT be split into multiple parts."
    return UnsupportedError(
        f"expected a ZIP file in one part; {found}",
        path=source.name,
        rule="rfc9/not-split",
        hint="Join the parts (zip -s 0), then try again. `ozx recover FILE OUT.ozx` saves the entries of this part.",
    )


def _locate_directory(source: ByteSource, record: EndRecord, end_offset: int, *, may_wrap: bool) -> int:
    """Return the real offset of the central directory: as declared, or directly before the end records."""
    declared, size = record.directory_offset, record.directory_size
    fits = record.entries * CENTRAL_HEADER.size <= size <= record.entries * _LONGEST_CENTRAL_HEADER or may_wrap
    if not fits or declared + size > end_offset:
        raise FormatError(
            f"the end record declares {record.entries:,} entries at bytes {declared:,} to {declared + size:,}; "
            f"this range is too short or too long for them, or overlaps the first end record at {end_offset:,}",
            path=source.name,
            rule="zip/directory",
        )
    adjacent = end_offset - size
    if declared == adjacent or size == 0:
        return declared
    if source.read_at(declared, 4) != CENTRAL_SIGNATURE:
        return adjacent
    if source.read_at(adjacent, 4) == CENTRAL_SIGNATURE:  # such as two archives appended to each other
        raise FormatError(
            f"there are two possible central directories, at {declared:,} and {adjacent:,}; "
            "readers would find different archives",
            path=source.name,
            rule="zip/directory",
        )
    return declared
