"""The regular chunk grid of an array: the keys of its chunks, and the pixels of each chunk (Zarr core 3.1, Zarr v2)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.array import ArrayMetadata, ChunkKeys, parse_array, parse_chunk_keys
from ozx.zarr.v2_documents import parse_v2_array

_CHUNK_KEY = re.compile(r"(?:(?P<array>.*)/)?(?:c(?:[/.][0-9]+)*|[0-9]+(?:\.[0-9]+)+)")


_USUAL_KEYS = ChunkKeys()


@dataclass(frozen=True, slots=True)
class ChunkGrid:
    """The grid of an array's stored values (chunks or shards). The key of a value is relative to the array."""

    # Lengths of the array's dimensions.
    shape: tuple[int, ...]
    # Shape of one stored value.
    chunks: tuple[int, ...]
    # Encoding of grid coordinates as keys.
    keys: ChunkKeys = _USUAL_KEYS
    # Shape of the chunks inside of a shard; None without shards.
    inner: tuple[int, ...] | None = None

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of chunks along each dimension."""
        return tuple(-(-length // chunk) for length, chunk in zip(self.shape, self.chunks, strict=True))

    @property
    def total(self) -> int:
        """Total number of chunks; 1 for a 0-dimensional array."""
        return math.prod(self.counts)

    @property
    def total_chunks(self) -> int:
        """Total number of chunks; of a sharded array, of those inside of its shards."""
        return self.chunks_in(tuple((0, length) for length in self.shape))

    def region(self, place: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """Return start and stop in pixels of the stored value at grid position `place`, by dimension."""
        spans = zip(place, self.chunks, self.shape, strict=True)
        return tuple((number * chunk, min((number + 1) * chunk, length)) for number, chunk, length in spans)

    def chunks_in(self, region: tuple[tuple[int, int], ...]) -> int:
        """Return the number of chunks that a box of whole chunks has; those inside of shards, if there are any."""
        lengths = self.chunks if self.inner is None else self.inner
        return math.prod(-(-(stop - start) // chunk) for (start, stop), chunk in zip(region, lengths, strict=True))

    def coordinates(self, key: str) -> tuple[int, ...] | None:
        """Return the coordinates of the chunk with this key (relative to the array); None if there is no such chunk."""
        place = self.keys.decode(key, len(self.shape))
        if place is None or any(n >= count for n, count in zip(place, self.counts, strict=True)):
            return None
        return place


class CountedChunks:
    """Count of an array's stored chunks, and the bounding box of the array's missing chunks.

    Memory grows with the lengths of the grid's sides, not with the number of chunks.
    """

    def __init__(self, grid: ChunkGrid) -> None:
        self.grid = grid
        self.found = 0
        self.found_chunks = 0  # as `found`, but of a shard, each chunk inside of it
        self._per_slab: list[dict[int, int]] = [{} for _ in grid.shape]

    def add(self, place: tuple[int, ...]) -> None:
        """Count the chunk at grid position `place`; call this only once for each chunk."""
        self.found += 1
        self.found_chunks += 1 if self.grid.inner is None else self.grid.chunks_in(self.grid.region(place))
        for slabs, index in zip(self._per_slab, place, strict=True):
            slabs[index] = slabs.get(index, 0) + 1

    def region(self) -> tuple[tuple[int, int], ...] | None:
        """Return the bounding box of all counted chunks in pixels, as (start, stop) by dimension, or None."""
        if not self.found:
            return None
        spans = zip(self._per_slab, self.grid.shape, self.grid.chunks, strict=True)
        return tuple((min(slabs) * chunk, min(length, (max(slabs) + 1) * chunk)) for slabs, length, chunk in spans)

    def missing_region(self) -> tuple[tuple[int, int], ...] | None:
        """Return the bounding box of all missing chunks in pixels, as (start, stop) by dimension, or None."""
        grid = self.grid
        if self.found >= grid.total:
            return None
        box = []
        for slabs, count, length, chunk in zip(self._per_slab, grid.counts, grid.shape, grid.chunks, strict=True):
            full = grid.total // count
            first = next(index for index in range(count) if slabs.get(index, 0) < full)
            last = next(index for index in range(count - 1, -1, -1) if slabs.get(index, 0) < full)
            box.append((first * chunk, min(length, (last + 1) * chunk)))
        return tuple(box)


def parse_chunk_grid(document: dict[str, Any]) -> ChunkGrid | None:
    """Return the grid of an array from its ``zarr.json`` or ``.zarray`` (Zarr v2); None for a grid unknown to ozx."""
    if document.get("zarr_format") == 2:
        separator = document.get("dimension_separator", ".")
        return _grid(parse_v2_array(document), ChunkKeys("v2", separator)) if separator in ("/", ".") else None
    try:
        keys = parse_chunk_keys(document.get("chunk_key_encoding"), "")
    except (FormatError, UnsupportedError):
        return None
    return _grid(parse_array(document), keys)


def _grid(array: ArrayMetadata, keys: ChunkKeys) -> ChunkGrid | None:
    chunks = array.chunks if array.shards is None else array.shards
    is_understood = array.shape is not None and chunks is not None and len(array.shape) == len(chunks)
    if not is_understood or 0 in (chunks or ()):
        return None
    inner = None if array.shards is None else array.chunks
    return ChunkGrid(array.shape or (), chunks or (), keys, inner if inner and 0 not in inner else None)


def looks_like_chunk(key: str) -> str | None:
    """Return the path of the array if `key` has the form of a chunk key, else None."""
    match = _CHUNK_KEY.fullmatch(key)
    return None if match is None else match["array"] or ""
