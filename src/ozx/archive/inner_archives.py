"""Reasons for a directory that is not where, or not as long as, the end records say.

A nested archive looks like the whole file if the end of the outer archive is missing. End records may also be wrong
and agree with each other: a reader that believes them reads zeros in place of chunks. Without ZIP64, old writers store
offsets modulo 2**32.
"""

from __future__ import annotations

from ozx.archive.byte_source import ByteSource
from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    DIGITAL_SIGNATURE,
    END_SIGNATURE,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_16,
    MASK_32,
    CentralHeader,
)
from ozx.errors import FormatError

_LONGEST_HEADER = LOCAL_HEADER.size + 2 * MASK_16
_LONGEST_CENTRAL_HEADER = CENTRAL_HEADER.size + 3 * MASK_16
_HINT = "Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged entries."


def has_wrapped(source: ByteSource, directory_offset: int, prepended: int) -> bool:
    """Return whether offsets are modulo 2**32: the directory is `prepended` bytes later, but not the first entry."""
    if not prepended or prepended & MASK_32:
        return False
    try:
        first = CentralHeader.from_bytes(source.read_at(directory_offset, CENTRAL_HEADER.size + 3 * MASK_16))
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
    start = max(0, prepended - _LONGEST_HEADER)
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
    position = before.rfind(LOCAL_SIGNATURE)
    while position >= 0:
        fixed = before[position : position + LOCAL_HEADER.size]
        if len(fixed) == LOCAL_HEADER.size:
            lengths = int.from_bytes(fixed[26:28], "little") + int.from_bytes(fixed[28:30], "little")
            if position + LOCAL_HEADER.size + lengths == len(before):
                return True
        position = before.rfind(LOCAL_SIGNATURE, 0, position)
    return False


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
