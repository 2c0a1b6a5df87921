"""Decompress Zarr chunks with a limit on the decoded size.

A few bytes can decode to gigabytes, and a header can claim any size. The array's metadata give the limit; decoding
stops at the limit, before memory is allocated for more. This module does not load zarr.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from ozx.errors import FormatError

fast_zlib: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this machine: use zlib, which is slower
    pass
else:
    fast_zlib = isal_zlib

Bytes = bytes | bytearray | memoryview

# Enough for the dictionary of xz -9, 64 MiB.
_LZMA_MEMORY = 128 << 20
# Sizes of the input pieces of every stream but the first: small at the start, because a stream copies the unused rest
# of its last piece.
_FIRST_PIECE, _LARGEST_PIECE = 1 << 10, 1 << 20
# A block of a zstd frame has at least four bytes, and decodes to at most 128 KiB (RFC 8878, 3.1.1.2.3).
_MOST_FROM_ZSTD = 1 << 15
# c-blosc, README_CHUNK_FORMAT.rst: version, versionlz, flags, typesize; nbytes, blocksize, ctbytes.
_BLOSC_LENGTHS = struct.Struct("<4xI4xI")
#: The first bytes of a zstd frame.
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class OversizeError(ValueError):
    """Error for data that decode to more bytes than the limit."""


class UndecodableChunkError(FormatError):
    """Error for a chunk that cannot be decoded; `key` is its store key, the cause is the original exception."""

    def __init__(self, key: str, reason: str, path: str | None = None) -> None:
        hint = "ozx validate --level data lists all damage; ozx recover FILE OUT.ozx saves the intact chunks."
        super().__init__(f"{key}: the chunk cannot be decoded: {reason}", path=path, rule="zarr/chunk-data", hint=hint)
        self.key = key
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return (UndecodableChunkError, (self.key, self.reason, self.path))


def decompress(config: Mapping[str, Any], data: Bytes, limit: int) -> Bytes:
    """Decompress the output of any Zarr compressor; raise an error if the decoded data exceed `limit`."""
    name = str(config["id"])
    try:
        return _from_lzma(config, data, limit) if name == "lzma" else _DECODERS[name](data, limit)
    except (OversizeError, MemoryError):
        raise
    except Exception as error:  # (compressors raise various exceptions)
        raise ValueError(f"damaged {name} data: {str(error) or type(error).__name__}") from error


def decoding_reason(error: Exception) -> str:
    r"""Return the reason of a decoding error in one line of at most about 200 characters.

    Examples
    --------
    >>> decoding_reason(ValueError("two\nlines"))
    'ValueError: two'
    """
    cause = error.__cause__ or error if isinstance(error, UndecodableChunkError) else error
    reason = str(cause).partition("\n")[0][:200]
    return f"{type(cause).__name__}: {reason}"


def _check_claim(claim: int, limit: int) -> None:
    if claim > limit:
        raise OversizeError(f"expected at most {limit:,} bytes; the data declare {claim:,}")


def _from_zlib(data: Bytes, limit: int) -> bytes:
    # One stream; like zlib.decompress, ignore what follows it.
    decompressor = fast_zlib.decompressobj(15)
    found: bytes = decompressor.decompress(data, limit + 1)
    _check_length(len(found), limit)
    if not decompressor.eof:
        raise EOFError("it is truncated")
    return found


def _from_lzma(config: Mapping[str, Any], data: Bytes, limit: int) -> bytes:
    form, filters = config.get("format", lzma.FORMAT_XZ), config.get("filters")
    if form == lzma.FORMAT_RAW:
        for settings in filters or ():
            dictionary = int(settings.get("dict_size", 0))
            if dictionary > _LZMA_MEMORY:
                raise ValueError(f"expected a dictionary of at most {_LZMA_MEMORY:,} bytes; found {dictionary:,}")
        return _from_streams(lambda: lzma.LZMADecompressor(form, filters=filters), data, limit, is_single=True)
    return _from_streams(lambda: lzma.LZMADecompressor(form, memlimit=_LZMA_MEMORY), data, limit)


def _check_length(length: int, limit: int) -> None:
    if length > limit:
        raise OversizeError(f"expected at most {limit:,} bytes; the data decode to more")


def _from_streams(
    start: Callable[[], Any], data: Bytes, limit: int, *, is_padded: bool = False, is_single: bool = False
) -> bytes:
    """Return the joined output of consecutive compressed streams."""
    view = memoryview(data).cast("B")
    found: list[bytes] = []
    total = streams = position = 0
    # Many empty streams are an attack on the reader's time; bgzip writes 64 KiB per stream, and one empty one.
    most_streams = 1000 + limit // 1000
    while position < len(view) or not streams:
        decompressor, begin, piece = start(), position, _FIRST_PIECE if streams else len(view)
        while not decompressor.eof:
            if position >= len(view):
                raise EOFError("it is truncated")
            taken = view[position : position + piece]
            try:
                part = decompressor.decompress(taken, limit - total + 1)
            except (lzma.LZMAError, OSError):
                if streams and not is_padded and position == begin:
                    return b"".join(found)  # like bz2 and lzma, ignore what follows the streams
                raise
            position, piece = position + len(taken), min(2 * piece, _LARGEST_PIECE)
            if part:
                found.append(part)
                total += len(part)
                _check_length(total, limit)
        position -= len(decompressor.unused_data)
        streams += 1
        if is_single:
            break
        if streams > most_streams:
            raise ValueError(f"expected at most {most_streams:,} streams for {limit:,} decoded bytes; found more")
        if is_padded and position < len(view) and not view[position]:
            rest = bytes(view[position:]).lstrip(b"\0")
            position = len(view) - len(rest)
    return found[0] if len(found) == 1 else b"".join(found)


def _from_zstd(data: Bytes, limit: int) -> bytes:
    import imagecodecs  # noqa: PLC0415 (15 ms)

    if not len(data):
        raise EOFError("it is empty")
    _, claim = parse_zstd_header(data)
    if claim is not None:
        _check_claim(claim, limit)
    room = min(limit, len(data) * _MOST_FROM_ZSTD)
    try:
        return bytes(imagecodecs.zstd_decode(bytes(data), out=room))
    except RuntimeError as error:
        if "too small" not in str(error):
            raise
        _check_length(limit + 1, limit)
        raise


def parse_zstd_header(data: Bytes) -> tuple[bytes, int | None]:
    """Return the header of a zstd frame, and the content size in it; no bytes and None if the header has none."""
    # RFC 8878, 3.1.1.1: descriptor, window descriptor (not for a single segment), dictionary id, content size.
    head = bytes(data[:18])
    if head[:4] != ZSTD_MAGIC or len(head) < 6:
        return b"", None
    descriptor = head[4]
    is_single = bool(descriptor & 0x20)
    start = 5 + (not is_single) + (0, 1, 2, 4)[descriptor & 3]
    length = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    if not length or len(head) < start + length:
        return b"", None
    size = int.from_bytes(head[start : start + length], "little") + (256 if length == 2 else 0)
    return head[: start + length], size


def _from_blosc(data: Bytes, limit: int) -> bytes:
    from numcodecs import blosc  # noqa: PLC0415 (with it comes zarr's numcodecs)

    check_blosc_header(data, limit)
    found: bytes = blosc.decompress(data)
    return found


def check_blosc_header(data: Bytes, limit: int) -> None:
    """Check the two lengths in a blosc header before a decoder allocates memory for them."""
    if len(data) < 16:
        raise EOFError("the data end inside the header")
    claim, length = _BLOSC_LENGTHS.unpack_from(data)
    _check_claim(claim, limit)
    if length > len(data):
        raise EOFError(f"the header declares {length:,} bytes; the data have {len(data):,}")


def _from_lz4(data: Bytes, limit: int) -> bytes:
    from numcodecs import lz4  # noqa: PLC0415 (see _from_blosc)

    # numcodecs puts the length before the block, 4 bytes little-endian.
    if len(data) < 4:
        raise EOFError("the data end inside the header")
    _check_claim(int.from_bytes(bytes(data[:4]), "little"), limit)
    found: bytes = lz4.decompress(data)
    return found


_DECODERS: dict[str, Callable[[Bytes, int], Bytes]] = {
    "blosc": _from_blosc,
    "bz2": partial(_from_streams, bz2.BZ2Decompressor),
    "gzip": partial(_from_streams, partial(fast_zlib.decompressobj, 31), is_padded=True),
    "lz4": _from_lz4,
    "zlib": _from_zlib,
    "zstd": _from_zstd,
}

#: Names of the compressors whose output can be bounded.
BOUNDED = frozenset((*_DECODERS, "lzma"))
