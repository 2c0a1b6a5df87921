"""Conversion of zlib streams (RFC 1950) to gzip members (RFC 1952), without decompression."""

from __future__ import annotations

import struct
import zlib
from types import ModuleType

from ozx.errors import FormatError, UnsupportedError

fast_zlib: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this machine: zlib has the same functions, slower
    pass
else:
    fast_zlib = isal_zlib

# Deflate, no optional field, no time, no statement on effort (XFL) and file system (OS): the same bytes everywhere.
_GZIP_HEADER = b"\x1f\x8b\x08\x00" + bytes(4) + b"\x00\xff"
_HAS_DICTIONARY = 0x20
_CHECKSUM_LENGTH = 4
# Limits the output of one step: inflated data are at most 1,032 times as long.
_SLICE = 1 << 16


def zlib_to_gzip(data: bytes | memoryview) -> bytes:
    """Return a gzip member with the same deflate stream as a zlib stream.

    The stream is inflated once to compute the CRC-32 and the length for gzip, and to check the stream by its Adler-32.
    Bytes behind the stream are dropped: readers of zlib ignore them, readers of gzip do not.
    """
    view = memoryview(data)
    _check_header(view)
    decoder = fast_zlib.decompressobj()
    crc, size = 0, 0
    start = 0
    try:
        while start < len(view) and not decoder.eof:
            block = decoder.decompress(view[start : start + _SLICE])
            crc, size = fast_zlib.crc32(block, crc), size + len(block)
            start += _SLICE
    except fast_zlib.error as error:
        raise FormatError(f"expected a chunk compressed by zlib; it is damaged: {error}") from None
    if not decoder.eof:
        raise FormatError(f"expected a chunk compressed by zlib; it is truncated after {len(view):,} bytes")
    end = min(start, len(view)) - len(decoder.unused_data) - _CHECKSUM_LENGTH
    return b"".join((_GZIP_HEADER, view[2:end], struct.pack("<2I", crc, size & 0xFFFFFFFF)))


def _check_header(view: memoryview) -> None:
    # RFC 1950, 2.2: method 8 is deflate; the two bytes are a multiple of 31.
    if len(view) < 2 or view[0] & 0x0F != 8 or view[0] >> 4 > 7 or int.from_bytes(view[:2], "big") % 31:
        raise FormatError(f"expected a chunk compressed by zlib; it begins with 0x{bytes(view[:2]).hex()}")
    if view[1] & _HAS_DICTIONARY:
        raise UnsupportedError(
            "expected a zlib chunk without a preset dictionary, which gzip does not support; the chunk has one",
            hint="Compress the array without the dictionary.",
        )
