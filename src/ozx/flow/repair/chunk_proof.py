"""Check encoded chunks by the checksum that they contain: of ``crc32c``, of gzip, of zstd where a frame has one."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, Literal

import google_crc32c
from numcodecs.zstd import Zstd

from ozx.hierarchy.zarr.chunk_layout import ArrayLayout
from ozx.hierarchy.zarr.codecs import parse_named

__all__ = ["Proof", "prove_chunk"]

#: What a checksum proves: every byte, what the bytes decode to, or nothing. None where there is no checksum.
Proof = Literal["bytes", "content", "wrong"] | None

_CHECKSUM = 4
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP = 31  # zlib's number for the header and the trailer of gzip
# Codecs before the last one add headers and, for what does not compress, a little more.
_MARGIN = 1 << 16


def prove_chunk(data: bytes, layout: ArrayLayout) -> Proof:
    """Return what the checksum of the last codec of a chunk proves; memory is bounded by the chunk's decoded size.

    Parameters
    ----------
    data
        The encoded chunk.
    layout
        Of its array.
    """
    last = parse_named(layout.codecs[-1])
    name = None if last is None else last.name
    if name == "crc32c":
        checksum = int.from_bytes(data[-_CHECKSUM:], "little")
        return "bytes" if len(data) > _CHECKSUM and google_crc32c.value(data[:-_CHECKSUM]) == checksum else "wrong"
    if name not in ("gzip", "zstd") or layout.item_size is None:
        return None
    size = layout.item_size * math.prod(layout.chunks)
    limit = size + (_MARGIN + size // 8 if _has_others(layout.codecs) else 0)
    return _prove_gzip(data, limit) if name == "gzip" else _prove_zstd(data, limit)


def _has_others(codecs: Sequence[Any]) -> bool:
    """Tell whether codecs of bytes stand before the last one."""
    names = [None if (codec := parse_named(each)) is None else codec.name for each in codecs[:-1]]
    return any(name not in ("bytes", "transpose") for name in names)


def _prove_gzip(data: bytes, limit: int) -> Proof:
    decoder = zlib.decompressobj(wbits=_GZIP)
    try:
        decoded = decoder.decompress(data, limit + 1)
    except zlib.error:
        return "wrong"
    return "content" if decoder.eof and not decoder.unused_data and len(decoded) <= limit else "wrong"


def _prove_zstd(data: bytes, limit: int) -> Proof:
    """RFC 8878, 3.1.1.1: the frame header says whether a checksum follows, and how long the content is."""
    if len(data) < 6 or not data.startswith(_ZSTD_MAGIC):
        return "wrong"
    descriptor = data[4]
    size_code, is_single, has_checksum = descriptor >> 6, descriptor >> 5 & 1, descriptor >> 2 & 1
    if not has_checksum or (size_code == 0 and not is_single):
        return None  # without a size, what it decodes to has no bound
    start = 5 + (not is_single) + (0, 1, 2, 4)[descriptor & 3]
    width = (1, 2, 4, 8)[size_code]
    size = int.from_bytes(data[start : start + width], "little") + (256 if size_code == 1 else 0)
    if size > limit:
        return "wrong"
    try:
        decoded = Zstd().decode(data)
    except (RuntimeError, ValueError):
        return "wrong"
    return "content" if len(decoded) == size else "wrong"
