"""Chunk keys: which key of an array is which chunk of its grid (Zarr core 3.1, "Chunk key encoding")."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.codecs import parse_named

__all__ = ["ChunkKeys", "parse_chunk_keys"]

# What separates coordinates where the configuration does not say.
_SEPARATORS = {"default": "/", "v2": "."}
# At most 18 digits: coordinates are 64-bit signed integers wherever they are computed with.
_COORDINATE = "(0|[1-9][0-9]{0,17})"


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    """A chunk key encoding; keys are relative to the array.

    Attributes
    ----------
    name
        ``default`` (``c/0/1``) or ``v2`` (``0.1``), which is also that of Zarr v2 itself.
    separator
        ``/`` or ``.``.
    """

    name: str = "default"
    separator: str = "/"

    def encode(self, coordinates: Sequence[int]) -> str:
        """Return the key of the chunk at `coordinates`.

        Examples
        --------
        >>> ChunkKeys().encode((1, 0)), ChunkKeys("v2", ".").encode((1, 0))
        ('c/1/0', '1.0')
        >>> ChunkKeys().encode(()), ChunkKeys("v2", ".").encode(())
        ('c', '0')
        """
        parts = list(map(str, coordinates))
        if self.name == "default":
            parts.insert(0, "c")
        # "v2": a 0-d array has one chunk, whose key is "0".
        return self.separator.join(parts) or "0"

    def decode(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """Return the coordinates that `key` stands for in a grid of `ndim` dimensions, or None for any other key.

        Only what `encode` returns is a chunk key: no leading zeros, no signs, no other digits than those of ASCII.

        Examples
        --------
        >>> [ChunkKeys().decode(key, 2) for key in ("c/1/0", "c/01/0", "c/1", "c.1.0", "thumbnail.png")]
        [(1, 0), None, None, None, None]
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
    """Return the encoding that the ``chunk_key_encoding`` of an array means.

    Parameters
    ----------
    value
        As it stands in the document.
    where
        What messages call the array.

    Raises
    ------
    UnsupportedError
        It is another encoding.
    FormatError
        It has no name, or a separator that is none.

    Examples
    --------
    >>> parse_chunk_keys({"name": "v2", "configuration": {"separator": "/"}}, "0")
    ChunkKeys(name='v2', separator='/')
    """
    named = parse_named(value)
    if named is None:
        raise FormatError(f"{where}: expected a chunk_key_encoding; it is missing or has no name")
    if named.name not in _SEPARATORS:
        raise UnsupportedError(
            f"{where}: expected the chunk key encoding 'default' or 'v2'; found {named.name!r}, so that nobody here "
            "can tell where its chunks are"
        )
    separator = named.configuration.get("separator", _SEPARATORS[named.name])
    if separator not in ("/", "."):
        raise FormatError(f"{where}: expected '/' or '.' between the coordinates of a chunk key; found {separator!r}")
    return ChunkKeys(named.name, separator)
