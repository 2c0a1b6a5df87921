"""Checksums of encoded chunks: the codec ``crc32c`` at the end of the codec chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

from ozx.errors import UsageError
from ozx.hierarchy.zarr.codecs import parse_named

#: What to do with the checksums of chunks.
ChecksumOption = Literal["add", "keep", "drop"]

#: Length of the checksum behind a chunk (crc32c codec 1.0: "the 4-byte CRC32C checksum, little-endian").
CHECKSUM_BYTES = 4

_CRC32C = "crc32c"


def parse_checksum_option(value: str | None) -> ChecksumOption | None:
    """Parse a checksum option: ``add``, ``keep``, ``drop`` or None; with None, ozx chooses for each array.

    Examples
    --------
    >>> parse_checksum_option("add"), parse_checksum_option(None)
    ('add', None)
    """
    if value is not None and value not in get_args(ChecksumOption):
        raise UsageError(f"expected add, keep or drop for the checksums of chunks; got {value!r}")
    return cast("ChecksumOption | None", value)


def ends_in_checksum(codecs: Sequence[Any]) -> bool:
    """Return whether the last codec of a chain is ``crc32c``.

    Examples
    --------
    >>> ends_in_checksum(["bytes", {"name": "crc32c"}]), ends_in_checksum(["bytes"])
    (True, False)
    """
    last = parse_named(codecs[-1]) if codecs else None
    return last is not None and last.name == _CRC32C


def change_checksum(codecs: Sequence[Any], option: ChecksumOption) -> list[Any]:
    """Return the codec chain with or without ``crc32c`` at its end; never adds a second ``crc32c``.

    Examples
    --------
    >>> change_checksum(["bytes"], "add")
    ['bytes', {'name': 'crc32c'}]
    >>> change_checksum(["bytes", "crc32c"], "add"), change_checksum(["bytes", "crc32c"], "drop")
    (['bytes', 'crc32c'], ['bytes'])
    """
    if option == "add" and not ends_in_checksum(codecs):
        return [*codecs, {"name": _CRC32C}]
    if option == "drop" and ends_in_checksum(codecs):
        return list(codecs[:-1])
    return list(codecs)
