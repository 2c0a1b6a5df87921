"""The unfinished shards of one array, filled by several threads in any order."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ozx.flow.entry import BytesPart, Entry
from ozx.hierarchy.zarr.layout import ArrayLayout
from ozx.images.streaming.chunk_store import ChunkStore, KeptChunk, chunk_name
from ozx.images.writing.shard_assembly import join_chunks

Lengths = tuple[int, ...]


class FinishedValue(NamedTuple):
    """A complete shard, or a complete chunk of an array without shards, with its position in the grid.

    `entry` is None if the value is not stored.

    `chunks` are kept until the entry is written.
    """

    place: Lengths
    entry: Entry | None
    chunks: tuple[KeptChunk, ...] = ()


@dataclass(slots=True)
class _Shard:
    missing: int
    chunks: dict[Lengths, KeptChunk] = field(default_factory=dict)


class OpenShards:
    """The incomplete shards of one array."""

    def __init__(self, layout: ArrayLayout, path: str, store: ChunkStore) -> None:
        self._layout, self._path, self._store = layout, path, store
        self._prefix = f"{path}/" if path else ""
        self._per_shard = layout.chunks_per_stored
        self._open: dict[Lengths, _Shard] = {}
        self._lock = threading.Lock()

    def add(self, place: Lengths, data: bytes | memoryview | None) -> FinishedValue | None:
        """Add a chunk; return the shard (or unsharded chunk) that is now complete, or None.

        `data` is None for a chunk that is not stored.
        """
        if not self._layout.levels:
            return FinishedValue(place, None if data is None else Entry(self._key(place), (BytesPart(data),)))
        home = tuple(at // count for at, count in zip(place, self._per_shard, strict=True))
        inside = tuple(at % count for at, count in zip(place, self._per_shard, strict=True))
        kept = None if data is None else self._store.keep(chunk_name(self._path, place), data)
        with self._lock:
            shard = self._open.get(home)
            if shard is None:
                shard = self._open[home] = _Shard(self._count(home))
            if kept is not None:
                shard.chunks[inside] = kept
            shard.missing -= 1
            if shard.missing:
                return None
            del self._open[home]
        return self._finished(home, shard)

    def finish(self) -> Iterator[FinishedValue]:
        """Yield the incomplete shards; their missing chunks belong to missing frames."""
        while self._open:
            home, shard = self._open.popitem()
            yield self._finished(home, shard)

    def kept(self) -> list[KeptChunk]:
        """Return the chunks that wait for their shards."""
        with self._lock:
            return [chunk for shard in self._open.values() for chunk in shard.chunks.values()]

    def _finished(self, home: Lengths, shard: _Shard) -> FinishedValue:
        if not shard.chunks:
            return FinishedValue(home, None)
        chunks = {place: self._store.part(chunk) for place, chunk in shard.chunks.items()}
        entry = Entry(self._key(home), join_chunks(chunks, self._per_shard))
        return FinishedValue(home, entry, tuple(shard.chunks.values()))

    def _key(self, place: Lengths) -> str:
        return self._prefix + self._layout.keys.encode(place)

    def _count(self, home: Lengths) -> int:
        """Return the number of chunks in a shard that lie inside the array."""
        sizes = zip(home, self._per_shard, self._layout.grid, strict=True)
        return math.prod(min(count, length - at * count) for at, count, length in sizes)
