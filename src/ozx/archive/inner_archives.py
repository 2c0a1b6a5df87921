"""Reasons for a directory that is not at its declared offset: the end of an outer archive is missing, or ZIP64 is."""

from __future__ import annotations

from ozx.archive.byte_source import ByteSource
from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.records import CENTRAL_HEADER, LOCAL_HEADER, LOCAL_SIGNATURE, MASK_16, MASK_32, CentralHeader
from ozx.errors import FormatError

__all__ = ["check_leading", "has_wrapped", "is_header_at"]

_LONGEST_HEADER = LOCAL_HEADER.size + 2 * MASK_16


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

    Raises
    ------
    FormatError
        The archive follows entries of another archive (``zip/leading-entries``).
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
