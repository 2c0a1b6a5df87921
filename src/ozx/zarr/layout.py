"""The layout of an array's chunks and shards, and the index of a shard (sharding codec 1.0)."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.zarr.array import ChunkKeys, item_size, parse_chunk_keys
from ozx.zarr.codecs import (
    SHARDING,
    ChecksumOption,
    NamedExtension,
    change_checksum,
    parse_codecs,
    parse_named,
)
from ozx.zarr.extensions import Understands, check_understood, is_registered
from ozx.zarr.json_reading import Document, as_lengths, as_object

# The index of a shard, which locates its inner chunks (sharding codec 1.0, "Binary shard format").

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
            f"{where}: the indexes of its shards cannot be read: expected the index_codecs bytes (with endian), or "
            f"bytes and crc32c; found {codecs!r}"
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


def index_of(shard: bytes | memoryview, grid: tuple[int, ...], where: str, form: IndexFormat) -> ShardIndex:
    """Parse the index of a shard in memory; `grid` is its number of inner chunks along each axis."""

    def read(offset: int, length: int) -> bytes:
        return bytes(shard[offset : offset + length])

    return read_index(read, len(shard), grid, where, form)


def read_index(
    read: Callable[[int, int], bytes], shard_size: int, grid: tuple[int, ...], where: str, form: IndexFormat
) -> ShardIndex:
    """Read and parse the index of a shard; the arguments of `read` are an offset in the shard, and a length."""
    count = math.prod(grid)
    size, offset = form.size(count), form.offset(count, shard_size)
    # The index of a shard that is too short is not read; `parse_index` reports the fault.
    return parse_index(read(offset, size) if offset >= 0 else b"", grid, shard_size, where, form)


def build_index(offsets: Any, lengths: Any, form: IndexFormat | None = None) -> bytes:
    """Return the bytes of a shard index from offsets and lengths in C order, with a CRC-32C by default.

    Without `offsets`, the chunks lie in C order without gaps from the start of the shard.
    """
    form = IndexFormat() if form is None else form
    sizes = np.asarray(lengths, np.int64).ravel()
    pairs = np.empty((len(sizes), 2), "<u8" if form.endian == "little" else ">u8")
    pairs[:, 0] = np.cumsum(sizes) - sizes if offsets is None else np.asarray(offsets, np.int64).ravel()
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


# The layout of an array's chunks and shards, and the array's metadata with another layout.
#
# Here, the *chunks* of an array are the smallest pieces that are encoded separately: the innermost chunks if the array
# is sharded, else the chunks of the grid. A *stored* value is the value of a chunk key.

# Chunks are counted in 64-bit signed integers.
_MOST_CHUNKS = (1 << 63) - 1
_DEEPEST = 8
# Every version of numpy supports this many; images have five.
_MOST_DIMENSIONS = 32

Lengths = tuple[int, ...]
Edges = tuple[Lengths, ...]


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The layout of an array's chunks."""

    # Lengths of the array, in pixels.
    shape: Lengths
    # Lengths of a chunk, the smallest piece that is encoded separately.
    chunks: Lengths
    # The sharding codecs, from the outside in: the number of pieces along each dimension of a shard, and the format of
    # its index. Empty without sharding.
    levels: tuple[tuple[Lengths, IndexFormat], ...]
    # The chain that encodes a chunk, as in the document.
    codecs: tuple[Any, ...]
    keys: ChunkKeys
    # Bytes of a decoded item; None for types of variable or unknown size.
    item_size: int | None
    # One name or None per dimension.
    dimension_names: tuple[str | None, ...]
    # For chunks of different lengths (a rectilinear grid, without shards): the first pixel of each chunk along each
    # dimension, and the end of the last chunk. `chunks` then holds the longest lengths.
    edges: Edges | None = None

    @property
    def shards(self) -> Lengths | None:
        """Lengths of a shard (the outermost if shards are nested); None if the array has no shards."""
        return self.lengths_at(0) if self.levels else None

    @property
    def hides_shards(self) -> bool:
        """Whether a chunk is itself a shard, which `levels` leaves out because of the codecs beside it."""
        return any(named is not None and named.name == SHARDING for named in map(parse_named, self.codecs))

    @property
    def stored_shape(self) -> Lengths:
        """Lengths of one stored value: of a shard, or of a chunk if the array has no shards."""
        return self.lengths_at(0)

    def lengths_at(self, depth: int) -> Lengths:
        """Return the lengths of a shard with `depth` shards around it; those of a chunk at the number of `levels`."""
        lengths = self.chunks
        for grid, _ in self.levels[depth:]:
            lengths = tuple(length * count for length, count in zip(lengths, grid, strict=True))
        return lengths

    @property
    def grid(self) -> Lengths:
        """Number of chunks along each dimension."""
        return self._count(self.chunks)

    @property
    def stored_grid(self) -> Lengths:
        """Number of stored values (shards or chunks) along each dimension."""
        return self._count(self.stored_shape)

    @property
    def chunks_per_stored(self) -> Lengths:
        """Number of chunks in one stored value along each dimension."""
        return tuple(whole // part for whole, part in zip(self.stored_shape, self.chunks, strict=True))

    def bounds(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first pixels and the ends of chunks; `places` has one row of coordinates per chunk."""
        if self.edges is None:
            return places * self.chunks, (places + 1) * self.chunks
        starts, stops = np.empty_like(places), np.empty_like(places)
        for dimension, axis in enumerate(self.edges):
            edges, at = np.array(axis), places[:, dimension]
            starts[:, dimension], stops[:, dimension] = edges[at], edges[at + 1]
        return starts, stops

    def spans(self, dimension: int, start: int, stop: int) -> dict[int, slice]:
        """Return the pixels of each chunk that overlaps the pixels from `start` to `stop` of a dimension, by number."""
        if self.edges is None:
            length = self.chunks[dimension]
            numbers = range(start // length, -(-stop // length))
            return {at: slice(at * length, (at + 1) * length) for at in numbers}
        edges = self.edges[dimension]
        numbers = range(bisect_right(edges, start) - 1, bisect_left(edges, stop))
        return {at: slice(edges[at], edges[at + 1]) for at in numbers}

    def _count(self, lengths: Lengths) -> Lengths:
        return _grid(self.shape, lengths) if self.edges is None else tuple(len(axis) - 1 for axis in self.edges)


def parse_layout(document: Document, node: str, understands: Understands = is_registered) -> ArrayLayout:
    """Return the layout of an array's chunks.

    ozx does not look into a chain that has other codecs beside ``sharding_indexed``, or into the chain of an array
    without dimensions. In these cases, the chunks are the pieces that the whole chain encodes.
    """
    where = node or "the root"
    check_understood(document, node, understands)
    shape = as_lengths(document.get("shape"))
    grid = parse_named(document.get("chunk_grid"))
    if grid is not None and grid.name != "regular":
        raise unsupported_grid(grid.name, where)
    stored_shape = as_lengths(None if grid is None else grid.configuration.get("chunk_shape"))
    if shape is None or stored_shape is None or len(shape) != len(stored_shape):
        raise FormatError(f"{where}: expected as many lengths in chunk_shape as in shape; the numbers differ")
    if len(shape) > _MOST_DIMENSIONS:
        raise UnsupportedError(f"{where}: expected at most {_MOST_DIMENSIONS} dimensions; found {len(shape)}")
    if 0 in stored_shape:
        raise FormatError(f"{where}: expected chunks of at least one pixel; found {_by(stored_shape)}")
    codecs = document.get("codecs")
    if not isinstance(codecs, list) or not codecs or any(parse_named(codec) is None for codec in codecs):
        raise FormatError(f"{where}: expected a list of codecs, each with a name; found {codecs!r}")
    data_type = parse_named(document.get("data_type"))
    chunks, levels, chain = _unwrap(codecs, stored_shape, where)
    check_chunk_count(shape, chunks, where)
    names = document.get("dimension_names")
    return ArrayLayout(
        shape=shape,
        chunks=chunks,
        levels=levels,
        codecs=tuple(chain),
        keys=parse_chunk_keys(document.get("chunk_key_encoding"), where),
        item_size=None if data_type is None else item_size(data_type),
        dimension_names=_names(names, len(shape)),
    )


def unsupported_grid(name: str, where: str) -> UnsupportedError:
    """Return the error for a chunk grid under which ozx does not decode or move chunks."""
    return UnsupportedError(
        f"{where}: ozx does not support the chunk grid {name!r}, only 'regular'",
        hint="ozx.open reads the pixels. Commands copy the whole array: ozx pack and unpack, and repack and extract "
        "without a new layout or a region.",
    )


def check_chunk_count(shape: Lengths, chunks: Lengths, where: str) -> None:
    """Raise an error if an array has more chunks than ozx can count."""
    total = 1
    for length in _grid(shape, chunks):
        total *= max(length, 1)
    if total > _MOST_CHUNKS:
        raise UnsupportedError(
            f"{where}: expected fewer than 2**63 chunks; its shape and its chunk lengths result in more"
        )


def relayout_document(document: Document, shards: Lengths | None, checksums: ChecksumOption = "keep") -> Document:
    """Return an array's ``zarr.json`` with other shard lengths (in pixels), or without shards.

    The codecs of the chunks stay, except for a checksum at their end. A new ``sharding_indexed`` is the only codec of
    its chain.
    All other fields stay, and so does their order.
    """
    layout = parse_layout(document, "", _accept_all)
    codecs = [_full(codec) for codec in change_checksum(layout.codecs, checksums)]
    if shards is not None:
        fits = len(shards) == len(layout.chunks) and all(
            whole > 0 and whole % part == 0 for whole, part in zip(shards, layout.chunks, strict=True)
        )
        if not shards or not fits:
            raise UsageError(
                f"expected a shard that is a multiple of the chunk {_by(layout.chunks)}; got {_by(shards)}"
            )
        inside = {
            "chunk_shape": list(layout.chunks),
            "codecs": codecs,
            "index_codecs": [dict(codec) for codec in INDEX_CODECS],
            "index_location": "end",
        }
        codecs = [{"name": SHARDING, "configuration": inside}]
    shape = list(layout.chunks if shards is None else shards)
    grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
    return {**document, "chunk_grid": grid, "codecs": codecs}


def _accept_all(point: str, value: Any) -> bool:
    del point, value
    return True


def _unwrap(
    codecs: list[Any], shape: Lengths, where: str
) -> tuple[Lengths, tuple[tuple[Lengths, IndexFormat], ...], list[Any]]:
    """Return the lengths of the innermost chunks, the sharding codecs from the outside in, and the innermost codecs."""
    levels: list[tuple[Lengths, IndexFormat]] = []
    while shape and len(levels) < _DEEPEST:
        sharding = parse_named(codecs[0])
        # "nothing before or after it": other codecs encode the whole shard once more.
        if len(codecs) != 1 or sharding is None or sharding.name != SHARDING:
            break
        inner, chain = _inside(sharding, shape, where)
        per_shard = tuple(whole // part for whole, part in zip(shape, inner, strict=True))
        levels.append((per_shard, parse_index_format(sharding.configuration, where)))
        shape, codecs = inner, chain
    return shape, tuple(levels), codecs


def _inside(sharding: NamedExtension, shape: Lengths, where: str) -> tuple[Lengths, list[Any]]:
    inner = as_lengths(sharding.configuration.get("chunk_shape"))
    if inner is None or len(inner) != len(shape) or 0 in inner:
        raise FormatError(f"{where}: expected a chunk_shape of {len(shape)} lengths in {SHARDING}; found {inner}")
    # Sharding codec 1.0, "chunk_shape": the inner chunk divides the shard along every dimension.
    if any(whole % part for whole, part in zip(shape, inner, strict=True)):
        raise FormatError(f"{where}: expected shards of whole inner chunks; {_by(inner)} does not divide {_by(shape)}")
    chain = sharding.configuration.get("codecs")
    if not isinstance(chain, list) or not chain or any(parse_named(codec) is None for codec in chain):
        raise FormatError(f"{where}: expected a list of codecs in {SHARDING}; found {chain!r}")
    return inner, chain


def _full(codec: Any) -> Any:
    """Return a codec as an object without a redundant ``must_understand``, the form that every reader accepts.

    tensorstore 0.1.86 knows neither short-hand names nor ``must_understand`` on codecs.
    """
    if not isinstance(codec, dict):
        return {"name": codec}
    return {name: value for name, value in codec.items() if name != "must_understand" or value is not True}


def _names(value: Any, ndim: int) -> tuple[str | None, ...]:
    names = value if isinstance(value, list) and len(value) == ndim else [None] * ndim
    return tuple(name if isinstance(name, str) else None for name in names)


def _grid(shape: Lengths, chunks: Lengths) -> Lengths:
    return tuple(-(-whole // part) for whole, part in zip(shape, chunks, strict=True))


def _by(lengths: Lengths) -> str:
    return "×".join(map(str, lengths)) or "no lengths"


# So many lengths need little memory, however often a pair [length, count] repeats one.
MOST_LENGTHS = 1 << 20
# A chunk is decoded as a whole; blosc has the same limit. The last chunk may be far longer than its part of the array.
_LARGEST_CHUNK = 1 << 31
_HINT = "ozx pack and unpack, and repack without a new layout, copy the array unchanged."

_Runs = list[tuple[int, int]]


def parse_edges(document: Document, node: str) -> Edges | None:
    """Return the `ozx.zarr.layout.ArrayLayout.edges` of a rectilinear array; None for another grid."""
    grid, where = parse_named(document.get("chunk_grid")), node or "the root"
    if grid is None or grid.name != "rectilinear":
        return None
    if grid.configuration.get("kind") != "inline":
        kind = grid.configuration.get("kind")
        raise UnsupportedError(f"{where}: expected a rectilinear grid of the kind 'inline'; found {kind!r}", hint=_HINT)
    shape, axes = as_lengths(document.get("shape")), grid.configuration.get("chunk_shapes")
    if shape is None or not isinstance(axes, list) or len(axes) != len(shape):
        message = f"{where}: expected as many axes in the chunk_shapes of the rectilinear grid as in shape"
        raise FormatError(f"{message}; the numbers differ", hint=_HINT)
    if any(codec.name == SHARDING for codec in parse_codecs(document.get("codecs"))):
        raise UnsupportedError(f"{where}: ozx does not support shards in the chunk grid 'rectilinear'", hint=_HINT)
    runs = [_parse_runs(axis, whole, where) for axis, whole in zip(axes, shape, strict=True)]
    count = sum(count for axis in runs for _, count in axis)
    if count > MOST_LENGTHS:
        raise UnsupportedError(
            f"{where}: expected a rectilinear grid of up to {MOST_LENGTHS:,} lengths; found {count:,}", hint=_HINT
        )
    edges = tuple(_edges(axis, whole, where) for axis, whole in zip(runs, shape, strict=True))
    counts = tuple(len(axis) - 1 for axis in edges)
    check_chunk_count(counts, (1,) * len(counts), where)
    _check_size(document, edges, where)
    return edges


def regular_document(document: Document, edges: Edges) -> Document:
    """Return the document of a rectilinear array with a regular grid, whose chunks have the longest lengths."""
    lengths = [max(1, min(most, whole)) for most, whole in zip(_longest(edges), document["shape"], strict=True)]
    return {**document, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}}}


def _check_size(document: Document, edges: Edges, where: str) -> None:
    data_type = parse_named(document.get("data_type"))
    size = math.prod(_longest(edges)) * ((None if data_type is None else item_size(data_type)) or 1)
    if size > _LARGEST_CHUNK:
        raise UnsupportedError(
            f"{where}: expected chunks of up to 2 GiB in the rectilinear grid; the largest has {size:,} bytes",
            hint=_HINT,
        )


def _longest(edges: Edges) -> list[int]:
    return [max((stop - start for start, stop in itertools.pairwise(axis)), default=1) for axis in edges]


def _parse_runs(axis: Any, whole: int, where: str) -> _Runs:
    """Return the pairs of length and count of one axis."""
    if isinstance(axis, list):
        runs = [tuple(item) if isinstance(item, list) else (item, 1) for item in axis]
    else:
        # "repeat the integer until it defines a sequence with a sum greater than or equal to" the axis.
        runs = [(axis, -(-whole // axis) if type(axis) is int and axis > 0 else 0)]
    is_right = all(len(run) == 2 and all(type(number) is int for number in run) for run in runs)
    if not is_right or any(length < 1 or (count < 1 and isinstance(axis, list)) for length, count in runs):
        message = f"{where}: expected lengths of at least one pixel, and pairs [length, count], in the rectilinear grid"
        raise FormatError(f"{message}; found others", hint=_HINT)
    return runs


def _edges(runs: _Runs, whole: int, where: str) -> tuple[int, ...]:
    edges = [0]
    for length, count in runs:
        # "Overflowing by multiple chunks is permitted": readers ignore chunks outside of the array.
        for _ in range(min(count, -(-(whole - edges[-1]) // length))):
            edges.append(edges[-1] + length)
    if edges[-1] < whole:
        raise FormatError(
            f"{where}: the lengths in the rectilinear grid do not cover the {whole:,} pixels of the axis; their sum is "
            f"{edges[-1]:,}",
            hint=_HINT,
        )
    return tuple(edges)
