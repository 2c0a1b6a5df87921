"""The unfinished shards of an array, filled with encoded chunks in any order and by several threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ozx.errors import UnsupportedError
from ozx.flow.entry import BytesPart, Entry, Part
from ozx.ome.relayout.shard_choice import LARGEST_SHARD
from ozx.zarr.layout import ArrayLayout, build_index

Lengths = tuple[int, ...]


#: A complete shard, or chunk of an array without shards: its place in the grid; its entry, or None if it is not stored;
#: what `keep` returned for its chunks.
FinishedValue = tuple[Lengths, Entry | None, tuple[Any, ...]]


class OpenShards:
    """The incomplete shards of one array.

    `keep` keeps a chunk until its shard is written, and `part` makes a part of the shard of what `keep` returned; by
    default, chunks stay in memory.

    The same chunks give the same bytes in any order: a shard contains them in C order, without gaps, before the index.
    A shard without chunks is not stored.
    """

    def __init__(
        self,
        layout: ArrayLayout,
        path: str,
        keep: Callable[[str, bytes | memoryview], Any] | None = None,
        part: Callable[[Any], Part] = lambda kept: kept,
    ) -> None:
        self._layout, self._path, self._keep, self._part = layout, path, keep, part
        self._prefix = f"{path}/" if path else ""
        self._per_shard = layout.chunks_per_stored
        self._open: dict[Lengths, dict[Lengths, Any]] = {}  # the chunks of each incomplete shard
        self._missing: dict[Lengths, int] = {}  # how many chunks it lacks
        self._lock = threading.Lock()

    def add(self, place: Lengths, data: bytes | memoryview | None) -> FinishedValue | None:
        """Add a chunk, or None if it is not stored; return the shard (or unsharded chunk) that is now complete."""
        if not self._layout.levels:
            return place, None if data is None else Entry(self._key(place), (BytesPart(data),)), ()
        home, inside = find_home(place, self._per_shard)
        kept = None if data is None else BytesPart(data)
        if data is not None and self._keep is not None:
            kept = self._keep(chunk_name(self._path, place), data)
        with self._lock:
            if home not in self._open:
                self._open[home], self._missing[home] = {}, self._count(home)
            if kept is not None:
                self._open[home][inside] = kept
            self._missing[home] -= 1
            if self._missing[home]:
                return None
            del self._missing[home]
            chunks = self._open.pop(home)
        return self._finished(home, chunks)

    def finish(self) -> Iterator[FinishedValue]:
        """Yield the incomplete shards; their missing chunks belong to missing frames."""
        while self._open:
            yield self._finished(*self._open.popitem())

    def kept(self) -> list[Any]:
        """Return the chunks that wait for their shards."""
        with self._lock:
            return [chunk for chunks in self._open.values() for chunk in chunks.values()]

    def _finished(self, home: Lengths, chunks: dict[Lengths, Any]) -> FinishedValue:
        if not chunks:
            return home, None, ()
        parts = {at: self._part(chunk) for at, chunk in chunks.items()}
        return home, Entry(self._key(home), join_chunks(parts, self._per_shard)), tuple(chunks.values())

    def _key(self, place: Lengths) -> str:
        return self._prefix + self._layout.keys.encode(place)

    def _count(self, home: Lengths) -> int:
        """Return the number of chunks in a shard that lie inside the array."""
        sizes = zip(home, self._per_shard, self._layout.grid, strict=True)
        return math.prod(min(count, length - at * count) for at, count, length in sizes)


def checked_size(entry: Entry) -> Entry:
    """Return a chunk or shard; raise an error if it is larger than some readers support."""
    if entry.size > LARGEST_SHARD:
        raise UnsupportedError(
            f"{entry.key}: expected a value of at most {LARGEST_SHARD:,} bytes; found {entry.size:,}",
            hint="Some readers do not read larger entries: choose smaller chunks or shards.",
        )
    return entry


def find_home(place: Lengths, per_shard: Lengths) -> tuple[Lengths, Lengths]:
    """Return the place of a chunk's shard in the grid, and the place of the chunk in its shard."""
    home, inside = zip(*map(divmod, place, per_shard), strict=True)
    return home, inside


def chunk_name(array: str, place: Lengths) -> str:
    """Return the name of a chunk that waits for its shard."""
    return f"{array}/{'.'.join(map(str, place))}"


def parse_chunk_name(name: str) -> tuple[str, Lengths] | None:
    """Return the array and the grid position of a chunk, parsed from its name; None for other names."""
    array, _, place = name.rpartition("/")
    numbers = place.split(".")
    if not array or not all(number.isdecimal() and number.isascii() for number in numbers):
        return None
    return array, tuple(map(int, numbers))


def join_chunks(chunks: Mapping[Lengths, Part], per_shard: Lengths) -> tuple[Part, ...]:
    """Return the parts of a shard: `chunks`, by their places in the shard, in C order, then its index."""
    lengths = np.zeros(per_shard, np.int64)
    for place, chunk in chunks.items():
        lengths[place] = chunk.length
    return (*(chunks[place] for place in sorted(chunks)), BytesPart(build_index(None, lengths)))
