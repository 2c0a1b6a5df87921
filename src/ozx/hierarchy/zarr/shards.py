"""The index of a shard, which locates its inner chunks (sharding codec 1.0, "Binary shard format")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.json.values import as_object
from ozx.hierarchy.zarr.codecs import parse_named

#: The ``index_codecs`` of every shard that ozx writes.
INDEX_CODECS: tuple[dict[str, Any], ...] = (
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "crc32c"},
)

# "Empty inner chunks are denoted by setting both offset and nbytes to 2^64 - 1."
_EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_PAIR = 16
_CHECKSUM = 4


class ShardIndex(NamedTuple):
    """Positions of the inner chunks of one shard."""

    # One value per inner chunk, in the shape of the shard's own grid; offsets count from the shard's first byte. An
    # empty inner chunk has length 0.
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IndexFormat:
    """Format of a shard's index: its location, byte order and checksum."""

    # Whether the index is at the start or at the end of the shard.
    location: Literal["start", "end"] = "end"
    # The byte order of its integers.
    endian: Literal["little", "big"] = "little"
    # Whether its CRC-32C (Castagnoli) follows.
    has_checksum: bool = True

    def size(self, chunks: int) -> int:
        """Return the length in bytes of a shard's index; `chunks` is the number of inner chunks."""
        return _PAIR * chunks + (_CHECKSUM if self.has_checksum else 0)

    def offset(self, chunks: int, shard_size: int) -> int:
        """Return the offset of the index in a shard of `shard_size` bytes; negative if the shard is too short."""
        size = self.size(chunks)
        return shard_size - size if self.location == "end" or size > shard_size else 0


def parse_index_format(configuration: dict[str, Any], where: str) -> IndexFormat:
    """Return the index format from the configuration of a ``sharding_indexed`` codec."""
    location = configuration.get("index_location", "end")
    if location not in ("start", "end"):
        raise FormatError(f"{where}: expected the index_location 'start' or 'end'; found {location!r}")
    codecs = configuration.get("index_codecs")
    chain = [parse_named(codec) for codec in codecs] if isinstance(codecs, list) else []
    names = [None if codec is None else codec.name for codec in chain]
    endian = as_object(None if not chain or chain[0] is None else chain[0].configuration).get("endian")
    if names not in (["bytes"], ["bytes", "crc32c"]) or endian not in ("little", "big"):
        raise UnsupportedError(
            f"{where}: expected the index_codecs bytes (with endian), or bytes and crc32c; found {codecs!r}, so that "
            "the indexes of its shards cannot be read"
        )
    return IndexFormat(location, endian, len(chain) == 2)


def parse_index(
    data: bytes, chunks_per_shard: tuple[int, ...], shard_size: int, where: str, form: IndexFormat | None = None
) -> ShardIndex:
    """Parse the index of a shard of `shard_size` bytes, and check that all its inner chunks lie within the shard."""
    form = IndexFormat() if form is None else form
    size = form.size(math.prod(chunks_per_shard))
    if len(data) != size or size > shard_size:
        raise FormatError(
            f"{where}: expected a shard with an index of {size:,} bytes; the shard has {shard_size:,} bytes in all",
            rule="zarr/shard-index",
            hint="The shard is truncated: copy or download the file again.",
        )
    if form.has_checksum:
        data, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
        if google_crc32c.value(data) != int.from_bytes(checksum, "little"):
            raise FormatError(
                f"{where}: the shard's index is damaged: its CRC-32C differs from the stored CRC-32C",
                rule="zarr/shard-index",
                hint="Copy or download the file again; without the index, the chunks of the shard cannot be found.",
            )
    pairs = np.frombuffer(data, "<u8" if form.endian == "little" else ">u8").astype(np.uint64)
    starts, lengths = pairs[0::2], pairs[1::2]
    is_empty = (starts == _EMPTY) & (lengths == _EMPTY)
    # Chunks may lie anywhere except in the index itself.
    first, last = (size, shard_size) if form.location == "start" else (0, shard_size - size)
    limit = np.uint64(last)
    # Not `start + length > limit`, which could wrap around.
    is_outside = (starts < first) | (starts > limit) | (lengths > limit) | (lengths == 0)
    is_outside |= np.where(is_outside, starts, starts + lengths) > limit
    wrong = np.flatnonzero(is_outside & ~is_empty)
    if len(wrong):
        place = int(wrong[0])
        chunk = tuple(map(int, np.unravel_index(place, chunks_per_shard)))
        raise FormatError(
            f"{where}: expected inner chunk {chunk} within bytes {first:,} to {last:,} of the shard; its index says "
            f"{int(lengths[place]):,} bytes at offset {int(starts[place]):,}",
            rule="zarr/shard-index",
            hint="The shard is damaged or truncated: copy or download the file again.",
        )
    offsets = np.where(is_empty, np.uint64(0), starts).astype(np.int64)
    sizes = np.where(is_empty, np.uint64(0), lengths).astype(np.int64)
    # No writer makes chunks share bytes; if chunks shared bytes, a small file could grow to a huge one.
    if sum(sizes.tolist()) > last - first:
        message = f"{where}: expected inner chunks that do not overlap; according to the index, they overlap"
        raise FormatError(message, rule="zarr/shard-index")
    return ShardIndex(offsets.reshape(chunks_per_shard), sizes.reshape(chunks_per_shard))


def build_index(offsets: Any, lengths: Any, form: IndexFormat | None = None) -> bytes:
    """Return the bytes of a shard index from offsets and lengths in C order, with a CRC-32C by default."""
    form = IndexFormat() if form is None else form
    sizes = np.asarray(lengths, np.int64).ravel()
    pairs = np.empty((len(sizes), 2), "<u8" if form.endian == "little" else ">u8")
    pairs[:, 0] = np.asarray(offsets, np.int64).ravel()
    pairs[:, 1] = sizes
    pairs[sizes == 0] = _EMPTY
    data = pairs.tobytes()
    return with_checksum(data) if form.has_checksum else data


def with_checksum(data: bytes) -> bytes:
    """Return bytes with their CRC-32C at the end, as the codec ``crc32c`` stores it.

    Examples
    --------
    >>> with_checksum(b"123456789")[-4:].hex()
    '839206e3'
    """
    return data + int(google_crc32c.value(data)).to_bytes(_CHECKSUM, "little")


def index_size(chunks: int) -> int:
    """Return the length in bytes of a shard index for `chunks` inner chunks."""
    return IndexFormat().size(chunks)
