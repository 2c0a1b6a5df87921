"""How an array's chunks are laid out in stored values, and the documents of the same array laid out otherwise.

What is moved is the smallest piece that is encoded by itself: an inner chunk where the array is sharded, the innermost
one where shards hold shards, else a chunk of the grid. The words for the two sides: an array's *chunks* are these
pieces; *stored* is what has a chunk key.
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

__all__ = ["ArrayLayout", "ShardLevel", "check_chunk_count", "parse_layout", "relayout_document"]

# Chunks are counted in 64-bit signed integers.
_MOST_CHUNKS = (1 << 63) - 1
_DEEPEST = 8
# What numpy counts in, of whatever version; images have five.
_MOST_DIMENSIONS = 32

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShardLevel:
    """One sharding codec.

    Attributes
    ----------
    shape
        Lengths of a shard, in pixels.
    chunks_per_shard
        How many pieces it has along each dimension.
    index
        How its index is written.
    """

    shape: Lengths
    chunks_per_shard: Lengths
    index: IndexFormat


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """How the chunks of an array are laid out.

    Attributes
    ----------
    shape
        Lengths of the array, in pixels.
    chunks
        Lengths of a chunk: of the smallest piece that is encoded by itself.
    shards
        Lengths of a shard, the outermost where they are nested, or None.
    levels
        The sharding codecs, from the outside in; none where the array is not sharded.
    codecs
        The chain that encodes a chunk, as it stands in the document.
    keys
        The chunk key encoding.
    item_size
        Bytes of a decoded item; None for types of variable or unknown size.
    dimension_names
        One name or None per dimension.
    """

    shape: Lengths
    chunks: Lengths
    levels: tuple[ShardLevel, ...]
    codecs: tuple[Any, ...]
    keys: ChunkKeys
    item_size: int | None
    dimension_names: tuple[str | None, ...]

    @property
    def shards(self) -> Lengths | None:
        """Lengths of a shard, the outermost where they are nested, or None."""
        return self.levels[0].shape if self.levels else None

    @property
    def stored_shape(self) -> Lengths:
        """Lengths of what has a chunk key: a shard, or a chunk."""
        return self.levels[0].shape if self.levels else self.chunks

    @property
    def grid(self) -> Lengths:
        """How many chunks the array has along each dimension."""
        return _grid(self.shape, self.chunks)

    @property
    def stored_grid(self) -> Lengths:
        """How many stored values it has along each dimension."""
        return _grid(self.shape, self.stored_shape)

    @property
    def chunks_per_stored(self) -> Lengths:
        """How many chunks a stored value has along each dimension."""
        return tuple(whole // part for whole, part in zip(self.stored_shape, self.chunks, strict=True))


def parse_layout(document: Document, node: str, understands: Understands = is_registered) -> ArrayLayout:
    """Return how the chunks of an array are laid out, given its ``zarr.json``.

    A chain in which something stands beside ``sharding_indexed`` is not looked into, nor is that of an array without
    dimensions: chunks of its grid are moved.

    Parameters
    ----------
    document
        The array's ``zarr.json``.
    node
        Path of the array.
    understands
        See `check_understood`, which is to be called for the groups above it by whoever knows them.

    Raises
    ------
    UnsupportedError
        Its chunks must not be moved, or the indexes of its shards cannot be read.
    FormatError
        Shapes are missing or do not fit each other.

    Examples
    --------
    >>> layout = parse_layout({
    ...     "node_type": "array", "shape": [100], "data_type": "uint8", "codecs": ["bytes"],
    ...     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32]}}, "chunk_key_encoding": "default",
    ... }, "0")
    >>> layout.chunks, layout.shards, layout.grid
    ((32,), None, (4,))
    """
    where = node or "the root"
    check_understood(document, node, understands)
    shape = as_lengths(document.get("shape"))
    grid = parse_named(document.get("chunk_grid"))
    stored_shape = as_lengths(None if grid is None else grid.configuration.get("chunk_shape"))
    if shape is None or stored_shape is None or len(shape) != len(stored_shape):
        raise FormatError(f"{where}: expected a shape, and a chunk_shape of as many lengths; found others")
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


def check_chunk_count(shape: Lengths, chunks: Lengths, where: str) -> None:
    """Refuse an array of more chunks than there are numbers for.

    Raises
    ------
    UnsupportedError
        More than 2**63.
    """
    total = 1
    for length in _grid(shape, chunks):
        total *= max(length, 1)
    if total > _MOST_CHUNKS:
        raise UnsupportedError(f"{where}: expected fewer than 2**63 chunks; its shape and the chunks' make more")


def relayout_document(document: Document, shards: Lengths | None, checksums: ChecksumOption = "keep") -> Document:
    """Return the ``zarr.json`` of the same array with its chunks in shards of other lengths, or in none.

    The codecs of the chunks stay, but for a checksum at their end; nothing stands beside ``sharding_indexed``.
    Everything else of the document stays, and so does the order of its fields.

    Parameters
    ----------
    document
        As `parse_layout` takes it.
    shards
        Lengths of a shard in pixels, multiples of the chunks' lengths; None for chunks by themselves.
    checksums
        Whether each chunk ends in a checksum (the codec ``crc32c``).

    Raises
    ------
    UsageError
        `shards` are no multiples of the chunks, or the array has no dimensions.

    Examples
    --------
    >>> document = {
    ...     "node_type": "array", "shape": [100], "data_type": "uint8", "codecs": [{"name": "bytes"}],
    ...     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32]}}, "chunk_key_encoding": "default",
    ... }
    >>> sharded = relayout_document(document, (64,))
    >>> sharded["chunk_grid"]["configuration"]["chunk_shape"], sharded["codecs"][0]["configuration"]["chunk_shape"]
    ([64], [32])
    >>> relayout_document(sharded, None) == document
    True
    """
    layout = parse_layout(document, "", _take_all)
    codecs = [_full(codec) for codec in change_checksum(layout.codecs, checksums)]
    if shards is not None:
        fits = len(shards) == len(layout.chunks) and all(
            whole > 0 and whole % part == 0 for whole, part in zip(shards, layout.chunks, strict=True)
        )
        if not shards or not fits:
            raise UsageError(f"expected shards of whole chunks, {_by(layout.chunks)} each; got {_by(shards)}")
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


def _take_all(point: str, value: Any) -> bool:
    del point, value
    return True


def _unwrap(codecs: list[Any], shape: Lengths, where: str) -> tuple[Lengths, tuple[ShardLevel, ...], list[Any]]:
    """Return the lengths of the innermost chunks, the sharding codecs around them, and the chain inside."""
    levels: list[ShardLevel] = []
    while shape and len(levels) < _DEEPEST:
        sharding = parse_named(codecs[0])
        # "nothing before or after it": bytes around a sharding codec are encoded once more, as a whole.
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
    """Return a codec as every reader takes it: an object, without a ``must_understand`` that says nothing.

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
