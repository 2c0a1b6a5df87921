"""Metadata of arrays, keys of chunks, and declared conventions, from ``zarr.json`` (Zarr core 3.1)."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.codecs import SHARDING, NamedExtension, codec_names, inner_chunks, parse_codecs, parse_named
from ozx.zarr.json_reading import as_lengths, as_list, as_object, as_text

# More bytes than any store can hold: a shape of this size is a slip or an attack, and its size is useless.
_MOST_BYTES = 1 << 64

_SIZED_TYPE = re.compile(r"(?:u?int|float|complex|r)(\d{1,6})")
_SIZES = {"bool": 1, "bfloat16": 2, "complex_bfloat16": 4, "numpy.datetime64": 8, "numpy.timedelta64": 8}


@dataclass(frozen=True, slots=True)
class ArrayMetadata:
    """An array's metadata; unreadable values are None, and `problems` describes them."""

    shape: tuple[int, ...] | None
    # Zarr v3 name of the data type.
    data_type: str | None
    # Bytes of one decoded item; None for types of variable or unknown size.
    item_size: int | None
    # Shape of the unit that a reader decodes: inner chunks if the array is sharded.
    chunks: tuple[int, ...] | None
    # Shape of a shard if the array is sharded, else None.
    shards: tuple[int, ...] | None
    # Names, from the outside in; those inside a shard follow ``sharding_indexed``.
    codecs: tuple[str, ...]
    # One name, or None, per dimension; None if the array gives no names.
    dimension_names: tuple[str | None, ...] | None
    fill_value: Any
    attributes: dict[str, Any]
    # Missing values and values of the wrong type, one phrase each.
    problems: tuple[str, ...] = ()

    @property
    def decoded_bytes(self) -> int | None:
        """Size of the decoded array in bytes; None if it is unknown or exceeds 2**64."""
        if self.shape is None or self.item_size is None:
            return None
        size = self.item_size
        for length in sorted(self.shape):  # a zero comes first, and keeps the product 0
            size *= length
            if size > _MOST_BYTES:
                return None
        return size


def parse_array(document: dict[str, Any]) -> ArrayMetadata:
    """Parse an array's ``zarr.json``. Faults raise no error; `problems` of the result describes them."""
    problems = []
    shape = as_lengths(document.get("shape"))
    if shape is None:
        problems.append("shape is missing or not a list of lengths")
    data_type = parse_named(document.get("data_type"))
    if data_type is None:
        problems.append("data_type is missing or has no name")
    grid_shape = _chunk_shape(document.get("chunk_grid"), problems)
    codecs = parse_codecs(document.get("codecs"))
    if not codecs:
        problems.append("codecs is missing or empty")
    is_sharded = any(codec.name == SHARDING for codec in codecs)
    chunks = inner_chunks(codecs) if is_sharded else grid_shape
    if is_sharded and chunks is None:
        problems.append("the sharding codec has no chunk_shape that is a list of lengths")
    if shape is not None and grid_shape is not None and len(shape) != len(grid_shape):
        problems.append(f"the array has {len(shape)} dimensions, its chunks have {len(grid_shape)}")
    return ArrayMetadata(
        shape=shape,
        data_type=None if data_type is None else data_type.name,
        item_size=None if data_type is None else item_size(data_type),
        chunks=chunks,
        shards=grid_shape if is_sharded else None,
        codecs=codec_names(codecs),
        dimension_names=_dimension_names(document.get("dimension_names"), shape, problems),
        fill_value=document.get("fill_value"),
        attributes=as_object(document.get("attributes")),
        problems=tuple(problems),
    )


def item_size(data_type: NamedExtension) -> int | None:
    """Return the size of one decoded item in bytes, or None for types of variable or unknown size."""
    if data_type.name in _SIZES:
        return _SIZES[data_type.name]
    sized = _SIZED_TYPE.match(data_type.name)
    if sized is not None:
        return math.ceil(int(sized[1]) / 8)
    length = data_type.configuration.get("length_bytes")
    return length if type(length) is int and 0 <= length < _MOST_BYTES else None


def _chunk_shape(value: Any, problems: list[str]) -> tuple[int, ...] | None:
    # Zarr core 3.1, "Regular grids": the only grid of the core.
    grid = parse_named(value)
    if grid is None:
        problems.append("chunk_grid is missing or has no name")
        return None
    if grid.name != "regular":
        problems.append(f"ozx does not support the chunk grid {grid.name!r}")
        return None
    shape = as_lengths(grid.configuration.get("chunk_shape"))
    if shape is None:
        problems.append("chunk_shape is missing or not a list of lengths")
    return shape


def _dimension_names(value: Any, shape: tuple[int, ...] | None, problems: list[str]) -> tuple[str | None, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(name is None or isinstance(name, str) for name in value):
        problems.append("dimension_names is not a list of names")
        return None
    if shape is not None and len(value) != len(shape):
        problems.append(f"it has {len(shape)} dimensions, but {len(value)} dimension names")
    return tuple(value)


# Keys of chunks.

# Default separators of coordinates.
_SEPARATORS = {"default": "/", "v2": "."}
# At most 18 digits: coordinates are computed as 64-bit signed integers.
_COORDINATE = "(0|[1-9][0-9]{0,17})"


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    """A chunk key encoding; its keys are relative to the array."""

    # ``default`` (``c/0/1``) or ``v2`` (``0.1``), which Zarr v2 itself uses, too.
    name: str = "default"
    # ``/`` or ``.``.
    separator: str = "/"

    def encode(self, coordinates: Sequence[int]) -> str:
        """Return the key of the chunk at `coordinates`."""
        parts = list(map(str, coordinates))
        if self.name == "default":
            parts.insert(0, "c")
        # "v2": a 0-d array has one chunk, whose key is "0".
        return self.separator.join(parts) or "0"

    def decode(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """Return the chunk coordinates of `key` in a grid of `ndim` dimensions; None if `key` is no chunk key.

        Only results of `encode` are chunk keys: no leading zeros, no signs, no digits other than those of ASCII.
        """
        found = _pattern(self, ndim).fullmatch(key)
        return None if found is None else tuple(map(int, found.groups()))


@functools.cache
def _pattern(keys: ChunkKeys, ndim: int) -> re.Pattern[str]:
    parts = [_COORDINATE] * ndim
    if keys.name == "default":
        parts.insert(0, "c")
    return re.compile(re.escape(keys.separator).join(parts) or "0")


def parse_chunk_keys(value: Any, where: str) -> ChunkKeys:
    """Parse an array's ``chunk_key_encoding``; `where` names the array in error messages."""
    named = parse_named(value)
    if named is None:
        raise FormatError(f"{where}: expected a chunk_key_encoding; it is missing or has no name")
    if named.name not in _SEPARATORS:
        raise UnsupportedError(
            f"{where}: ozx does not support the chunk key encoding {named.name!r}; expected 'default' or 'v2'"
        )
    separator = named.configuration.get("separator", _SEPARATORS[named.name])
    if separator not in ("/", "."):
        raise FormatError(f"{where}: expected '/' or '.' between the coordinates of a chunk key; found {separator!r}")
    return ChunkKeys(named.name, separator)


# Zarr conventions declared in a node's attributes (version 1 of 2025-12-10, and the earlier form).

# v1: "uuid", else "schema_url", else "spec_url" is the identity.
_IDENTIFIERS = ("uuid", "schema_url", "spec_url")


def convention_names(attributes: Any) -> tuple[str, ...]:
    """Return the name, or else the identifier, of each declared convention; never raises an error.

    "If name is not present, tools SHOULD use the UUID instead to represent the Convention."
    """
    return tuple(dict.fromkeys(_iter_names(as_object(attributes))))


def _iter_names(attributes: dict[str, Any]) -> Iterator[str]:
    for convention in map(as_object, as_list(attributes.get("zarr_conventions"))):
        names = (as_text(convention.get(key)) for key in ("name", *_IDENTIFIERS))
        name = next(filter(None, names), None)
        if name is not None:
            yield name
    # The form before v1: UUIDs are the keys.
    for uuid, convention in as_object(attributes.get("zarr_conventions_metadata")).items():
        yield as_text(as_object(convention).get("name")) or uuid
