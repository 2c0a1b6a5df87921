"""Encoding of chunks with the C functions of the codecs, in any thread.

The same pixels give the same bytes: blosc uses one thread per chunk, and gzip writes no time.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import google_crc32c
import imagecodecs
import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.zarr.codecs import CHECKSUM_BYTES, NamedConfiguration, change_checksum, ends_in_checksum, parse_named
from ozx.hierarchy.zarr.layout import parse_layout

_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_GZIP = 16 + zlib.MAX_WBITS
# Blosc's default at level 1 is 32 KiB, which is a fifth slower and saves 1 to 4 % of the size.
_FAST_BLOCK = 128 << 10


class ChunkEncoder:
    r"""Encoder of the chunks of one array whose layout `lay_out` chose; can be pickled.

    `allocate`: returns memory of a given number of bytes for a chunk without compressor; the chunk is then a view of
    this memory. By default, the chunk is `bytes`.
    """

    def __init__(self, document: Document, *, allocate: Callable[[int], NDArray[np.uint8]] | None = None) -> None:
        layout = parse_layout(document, "")
        self.chunks = layout.chunks
        self.dtype = np.dtype(document["data_type"]).newbyteorder("<")
        self._has_checksum = ends_in_checksum(layout.codecs)
        steps = [parse_named(codec) for codec in change_checksum(layout.codecs, "drop")[1:]]
        if len(steps) > 1 or None in steps:
            raise UnsupportedError(f"expected at most one compressor; found {layout.codecs!r}")
        self._compressor = steps[0] if steps else None
        self._allocate = allocate

    def encode(self, pixels: NDArray[Any]) -> bytes | memoryview | None:
        """Return an encoded chunk; None if all pixels are zero, because such a chunk is not stored.

        `pixels` are the pixels of the chunk that lie inside the array.
        """
        if self._compressor is None:
            plain = self._encode_plain(pixels)
            return plain if plain is None or self._allocate is not None else bytes(plain)
        if pixels.shape == self.chunks:
            chunk = np.ascontiguousarray(pixels, self.dtype)
        else:
            chunk = np.zeros(self.chunks, self.dtype)
            chunk[tuple(map(slice, pixels.shape))] = pixels
        flat = chunk.reshape(-1)
        if _is_zero(flat.view(np.uint8), chunk.itemsize):
            return None
        encoded = _compress(flat, self._compressor)
        if self._has_checksum:
            encoded += _checksum(encoded)
        return encoded

    def _encode_plain(self, pixels: NDArray[Any]) -> memoryview | None:
        """Return an encoded but uncompressed chunk; its pixels are copied once."""
        size = math.prod(self.chunks) * self.dtype.itemsize
        length = size + (CHECKSUM_BYTES if self._has_checksum else 0)
        encoded = np.empty(length, np.uint8) if self._allocate is None else self._allocate(length)
        chunk = encoded[:size].view(self.dtype).reshape(self.chunks)
        if pixels.shape != self.chunks:
            chunk[...] = 0
        chunk[tuple(map(slice, pixels.shape))] = pixels
        if _is_zero(encoded[:size], self.dtype.itemsize):
            return None
        if self._has_checksum:
            encoded[size:] = np.frombuffer(_checksum(encoded[:size]), np.uint8)
        return encoded.data


def _is_zero(octets: NDArray[np.uint8], itemsize: int) -> bool:
    # Bits are compared: minus zero is not the fill value.
    return not octets[:itemsize].any() and not octets.any()


def _checksum(encoded: bytes | NDArray[np.uint8]) -> bytes:
    return int(google_crc32c.value(encoded)).to_bytes(CHECKSUM_BYTES, "little")


def _compress(data: Any, codec: NamedConfiguration) -> bytes:
    settings = codec.configuration
    if codec.name == "zstd":
        return bytes(imagecodecs.zstd_encode(data, level=settings["level"]))
    if codec.name == "gzip":
        return _gzip(data, settings["level"])
    if codec.name == "blosc":
        return _blosc(data, settings)
    raise UnsupportedError(f"expected blosc, zstd or gzip; found {codec.name!r}")


def _blosc(data: Any, settings: dict[str, Any]) -> bytes:
    # imagecodecs lets blosc shuffle items of the array's item size, whatever `typesize` is.
    encoded = imagecodecs.blosc_encode(
        data,
        level=settings["clevel"],
        compressor=settings["cname"],
        shuffle=_SHUFFLES[settings["shuffle"]],
        blocksize=settings["blocksize"] or (_FAST_BLOCK if settings["clevel"] == 1 else 0),
        numthreads=1,
    )
    return bytes(encoded)


def _gzip(data: Any, level: int) -> bytes:
    # RFC 1952: zlib writes MTIME 0, "no time stamp is available".
    compressor = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    return compressor.compress(data) + compressor.flush()
