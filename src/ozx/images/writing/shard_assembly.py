"""Assembly of encoded chunks into shards; the chunks may arrive in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ozx.flow.entry import BytesPart, Entry, Part
from ozx.hierarchy.zarr.layout import ArrayLayout, build_index

Lengths = tuple[int, ...]


@dataclass(slots=True)
class _Shard:
    missing: int
    chunks: dict[Lengths, bytes | memoryview] = field(default_factory=dict)


class ShardAssembler:
    """Assembler of one array's shards; `add` returns a shard when the last chunk of the shard is added.

    The same chunks give the same bytes in any order: a shard contains them in C order, without gaps, before the index.
    A shard without chunks is not stored.
    """

    def __init__(self, layout: ArrayLayout, path: str) -> None:
        self._layout = layout
        self._prefix = f"{path}/" if path else ""
        self._waiting: dict[Lengths, _Shard] = {}

    def add(self, place: Lengths, data: bytes | memoryview | None) -> Entry | None:
        """Add a chunk, or None for a chunk that is not stored; return the completed archive entry, if any."""
        if not self._layout.levels:
            return None if data is None else Entry(self._key(place), (BytesPart(data),))
        per_shard = self._layout.chunks_per_stored
        home = tuple(at // count for at, count in zip(place, per_shard, strict=True))
        shard = self._waiting.get(home)
        if shard is None:
            shard = self._waiting[home] = _Shard(self._count(home))
        if data is not None:
            shard.chunks[tuple(at % count for at, count in zip(place, per_shard, strict=True))] = data
        shard.missing -= 1
        if shard.missing:
            return None
        del self._waiting[home]
        parts = {place: BytesPart(chunk) for place, chunk in shard.chunks.items()}
        return Entry(self._key(home), join_chunks(parts, per_shard)) if parts else None

    def _key(self, place: Lengths) -> str:
        return self._prefix + self._layout.keys.encode(place)

    def _count(self, home: Lengths) -> int:
        """Return the number of chunks of a shard that lie inside the array."""
        sizes = zip(home, self._layout.chunks_per_stored, self._layout.grid, strict=True)
        return math.prod(min(count, length - at * count) for at, count, length in sizes)


def join_chunks(chunks: Mapping[Lengths, Part], per_shard: Lengths) -> tuple[Part, ...]:
    """Return the parts of a shard: its chunks in C order, then its index.

    `chunks` maps places in the shard to chunks.
    """
    order = sorted(chunks)
    index = shard_index({place: chunks[place].length for place in order}, per_shard)
    return (*(chunks[place] for place in order), BytesPart(index))


def shard_index(sizes: Mapping[Lengths, int], per_shard: Lengths) -> bytes:
    """Return the index of a shard whose chunks lie in C order without gaps.

    `sizes` maps places in the shard to the sizes of the chunks.
    """
    lengths = np.zeros(per_shard, np.int64)
    for place, size in sizes.items():
        lengths[place] = size
    flat = lengths.ravel()
    return build_index(np.cumsum(flat) - flat, flat)
