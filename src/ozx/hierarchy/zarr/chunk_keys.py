"""Chunk keys: the encoding of grid coordinates as keys (Zarr core 3.1, "Chunk key encoding")."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.codecs import parse_named

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
            f"{where}: expected the chunk key encoding 'default' or 'v2'; found {named.name!r}, which ozx does not "
            f"support"
        )
    separator = named.configuration.get("separator", _SEPARATORS[named.name])
    if separator not in ("/", "."):
        raise FormatError(f"{where}: expected '/' or '.' between the coordinates of a chunk key; found {separator!r}")
    return ChunkKeys(named.name, separator)
