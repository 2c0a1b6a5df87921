"""The layout of an array's chunks and shards, and the array's metadata with another layout.

Here, the *chunks* of an array are the smallest pieces that are encoded separately: the innermost chunks if the array is
sharded, else the chunks of the grid. A *stored* value is the value of a chunk key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import as_lengths
from ozx.hierarchy.zarr.array import item_size
from ozx.hierarchy.zarr.chunk_checksums import ChecksumOption, change_checksum
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys, parse_chunk_keys
from ozx.hierarchy.zarr.codecs import SHARDING, NamedConfiguration, parse_named
from ozx.hierarchy.zarr.must_understand import check_understood, is_registered
from ozx.hierarchy.zarr.normalisation import Understands
from ozx.hierarchy.zarr.shards import INDEX_CODECS, IndexFormat, parse_index_format

# Chunks are counted in 64-bit signed integers.
_MOST_CHUNKS = (1 << 63) - 1
_DEEPEST = 8
# Every version of numpy supports this many; images have five.
_MOST_DIMENSIONS = 32

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShardLevel:
    """One sharding codec of an array."""

    # Lengths of a shard, in pixels.
    shape: Lengths
    # Number of pieces along each dimension.
    chunks_per_shard: Lengths
    index: IndexFormat


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The layout of an array's chunks."""

    # Lengths of the array, in pixels.
    shape: Lengths
    # Lengths of a chunk, the smallest piece that is encoded separately.
    chunks: Lengths
    # The sharding codecs, from the outside in; empty without sharding.
    levels: tuple[ShardLevel, ...]
    # The chain that encodes a chunk, as in the document.
    codecs: tuple[Any, ...]
    keys: ChunkKeys
    # Bytes of a decoded item; None for types of variable or unknown size.
    item_size: int | None
    # One name or None per dimension.
    dimension_names: tuple[str | None, ...]

    @property
    def shards(self) -> Lengths | None:
        """Lengths of a shard (the outermost if shards are nested); None if the array has no shards."""
        return self.levels[0].shape if self.levels else None

    @property
    def hides_shards(self) -> bool:
        """Whether a chunk is itself a shard, which `levels` leaves out because of the codecs beside it."""
        return any(named is not None and named.name == SHARDING for named in map(parse_named, self.codecs))

    @property
    def stored_shape(self) -> Lengths:
        """Lengths of one stored value: of a shard, or of a chunk if the array has no shards."""
        return self.levels[0].shape if self.levels else self.chunks

    @property
    def grid(self) -> Lengths:
        """Number of chunks along each dimension."""
        return _grid(self.shape, self.chunks)

    @property
    def stored_grid(self) -> Lengths:
        """Number of stored values (shards or chunks) along each dimension."""
        return _grid(self.shape, self.stored_shape)

    @property
    def chunks_per_stored(self) -> Lengths:
        """Number of chunks in one stored value along each dimension."""
        return tuple(whole // part for whole, part in zip(self.stored_shape, self.chunks, strict=True))


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


def _unwrap(codecs: list[Any], shape: Lengths, where: str) -> tuple[Lengths, tuple[ShardLevel, ...], list[Any]]:
    """Return the lengths of the innermost chunks, the sharding codecs from the outside in, and the innermost codecs."""
    levels: list[ShardLevel] = []
    while shape and len(levels) < _DEEPEST:
        sharding = parse_named(codecs[0])
        # "nothing before or after it": other codecs encode the whole shard once more.
        if len(codecs) != 1 or sharding is None or sharding.name != SHARDING:
            break
        inner, chain = _inside(sharding, shape, where)
        per_shard = tuple(whole // part for whole, part in zip(shape, inner, strict=True))
        levels.append(ShardLevel(shape, per_shard, parse_index_format(sharding.configuration, where)))
        shape, codecs = inner, chain
    return shape, tuple(levels), codecs


def _inside(sharding: NamedConfiguration, shape: Lengths, where: str) -> tuple[Lengths, list[Any]]:
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
