"""Comparison of an entry's value with its CRC-32, whenever an archive is read, unpacked or verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ozx.archive.byte_source import ByteSource
from ozx.archive.crc32 import crc32
from ozx.archive.names.decoding import entry_name
from ozx.archive.records import CentralHeader
from ozx.errors import FormatError

__all__ = ["check_crc32", "iter_checked"]


def iter_checked(source: ByteSource, header: CentralHeader, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of an entry's value; raise `FormatError` (``zip/crc``) at the end if the value is damaged."""
    checksum = 0
    for block in blocks:
        checksum = crc32(block, checksum)
        yield block
    check_crc32(source, header, checksum)


def check_crc32(source: ByteSource, header: CentralHeader, checksum: int) -> None:
    """Raise `FormatError` if the CRC-32 of a value differs from the CRC-32 in the entry's header.

    Raises
    ------
    FormatError
        They differ (``zip/crc``).
    """
    if checksum != header.crc32:
        raise FormatError(
            f"entry {entry_name(header)!r}: expected CRC-32 {header.crc32:08x}, found {checksum:08x}; "
            "its bytes are damaged",
            path=source.name,
            rule="zip/crc",
            hint="Copy or download the file again.",
        )
