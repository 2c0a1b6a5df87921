"""Limit the output of compressors and filters of Zarr v2.

The data type and the number of pixels of a chunk determine the length after each filter, or an upper bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ozx.codecs.bounded import BOUNDED, OversizeError, decompress
from ozx.zarr.codecs import CHECKSUM_BYTES

CHECKSUMS = frozenset(("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"))
SAME_SIZE = frozenset(("bitround", "shuffle"))
_OTHER_TYPE = frozenset(("astype", "categorize", "delta", "fixedscaleoffset", "quantize"))
_COUNTED = frozenset(("vlen-array", "vlen-bytes", "vlen-utf8"))
_LISTS = frozenset(("json2", "msgpack2"))
_OBJECTS = _COUNTED | _LISTS | {"pickle"}
_MOST_TEXT = 2 << 30
_LONGEST_NUMBER = 16
_MOST_REWRITTEN = 8


def largest_stored(decoded: int, *, is_shard: bool = False) -> int:
    """Return the maximal stored length, with any compressor, of a chunk or shard that decodes to `decoded` bytes.

    Compressors add little to incompressible data; the limit has room for several compressors and their checksums.
    Shards may have gaps from chunks that were written again.

    Examples
    --------
    >>> largest_stored(0), largest_stored(0, is_shard=True)
    (1048576, 8388608)
    """
    return (2 * decoded + (1 << 20)) * (_MOST_REWRITTEN if is_shard else 1)


def most_text(count: int) -> int:
    """Return the maximal number of bytes of `count` variable-length strings in a chunk.

    Examples
    --------
    >>> most_text(0) >> 20, most_text(1 << 60) >> 30
    (64, 2)
    """
    return min((64 << 20) + 256 * count, _MOST_TEXT)


def decoded_size(dtype: np.dtype[Any], count: int) -> int:
    """Return the length in bytes of `count` decoded values, or the maximal one of strings."""
    return most_text(count) if dtype.kind in "OT" else count * dtype.itemsize


def check_count(data: Any, count: int) -> None:
    """Check the number of strings that a chunk declares."""
    # numcodecs, vlen.pyx: the number of items comes first, 4 bytes little-endian.
    found = int.from_bytes(bytes(memoryview(data).cast("B")[:4]), "little")
    if found != count:
        raise ValueError(f"expected {count:,} values in the chunk; its header declares {found:,}")


def check_item_sizes(config: Mapping[str, Any], dtype: np.dtype[Any]) -> None:
    """Check the item size of a filter that changes the data type."""
    most = max(_LONGEST_NUMBER, dtype.itemsize)
    for name in ("dtype", "astype", "encode_dtype", "decode_dtype"):
        length = np.dtype(config[name]).itemsize if config.get(name) else 0
        if length > most:
            raise OversizeError(f"expected items of at most {most:,} bytes; a filter makes items of {length:,}")


def bounded_filters(
    filters: Sequence[Any] | None, compressor: Any, dtype: np.dtype[Any], count: int
) -> tuple[tuple[Any, ...] | None, Any]:
    """Return the filters and the compressor of an array, each with an output limit."""
    size = decoded_size(dtype, count)
    bounded = []
    most = largest_stored(size)
    for codec in filters or ():
        bounded.append(_bounded(codec, size, count, dtype))
        known = _encoded_size(codec, size, count)
        # Not doubled for each compressor: for a hundred of them, there would be no limit.
        size = max(size, most) if known is None else known
        most = max(most, largest_stored(size)) if codec.codec_id in _OTHER_TYPE | _OBJECTS else most
    last = None if compressor is None else _bounded(compressor, size, count, dtype)
    return (tuple(bounded) if filters else None), last


def _bounded(codec: Any, size: int, count: int, dtype: np.dtype[Any]) -> Any:
    is_bounded = codec.codec_id in BOUNDED | _COUNTED | _LISTS | _OTHER_TYPE
    return _BoundedCodec(codec, size, count, dtype) if is_bounded else codec


def _encoded_size(codec: Any, size: int, count: int) -> int | None:
    """Return the maximal output length of a filter for an input of `size` bytes; None if unknown."""
    name, config = codec.codec_id, codec.get_config()
    if name in SAME_SIZE:
        return size
    if name in CHECKSUMS:
        return size + CHECKSUM_BYTES
    if name in _OTHER_TYPE:
        return count * int(np.dtype(config.get("encode_dtype") or config.get("astype") or config["dtype"]).itemsize)
    if name == "packbits":
        return -(-count // 8) + 1
    return most_text(count) if name in _OBJECTS else None


@dataclass(frozen=True)
class _BoundedCodec:
    """A codec of numcodecs that decodes at most `count` values or `size` bytes."""

    codec: Any
    size: int
    count: int
    dtype: np.dtype[Any]

    @property
    def codec_id(self) -> str:
        return str(self.codec.codec_id)

    def get_config(self) -> dict[str, Any]:
        return dict(self.codec.get_config())

    def encode(self, buf: Any) -> Any:
        return self.codec.encode(buf)

    def decode(self, buf: Any, out: Any = None) -> Any:
        if self.codec_id in BOUNDED:
            return decompress(self.get_config(), np.ascontiguousarray(buf).view("u1").data, self.size)
        if self.codec_id in _OTHER_TYPE:
            check_item_sizes(self.get_config(), self.dtype)
            return self.codec.decode(buf, out)
        data = bytes(np.ascontiguousarray(buf).view("u1").data)
        if self.codec_id in _COUNTED:
            check_count(data, self.count)
        else:
            self._check_list(data)
        return self.codec.decode(data, out)

    def _check_list(self, data: bytes) -> None:
        # numcodecs stores the values, then their type and shape; it allocates memory for this shape.
        if self.codec_id == "json2":
            items = json.loads(data)
        else:
            import msgpack  # type: ignore[import-untyped]  # noqa: PLC0415 (numcodecs has loaded it)

            items = msgpack.unpackb(data, raw=False)
        shape = items[-1]
        if prod(shape) != self.count or len(items) - 2 > self.count:
            raise OversizeError(f"expected {self.count:,} values in the chunk; its header declares the shape {shape}")
