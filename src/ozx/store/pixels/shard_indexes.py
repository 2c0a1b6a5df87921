"""Cache the indexes of shards."""

from __future__ import annotations

from math import prod
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ozx.archive.byte_source import ByteSource, read_exactly
from ozx.codecs.chunk_codecs import ShardCodec
from ozx.hierarchy.zarr.layout import parse_index
from ozx.store.reading import ArchiveSession

_MOST_KEPT = 32 << 20


class KeptIndex(NamedTuple):
    """The positions of the inner chunks of a shard, as plain integers by grid coordinates; a length of 0 if missing."""

    offsets: memoryview
    lengths: memoryview
    stored: int  # the number of inner chunks that are stored


class ShardIndexes:
    """A cache of the shard indexes of one archive, for any thread; a full cache starts again."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self._indexes: dict[tuple[int, int, ShardCodec], KeptIndex] = {}
        self._bytes = 0

    def find(self, start: int, length: int, codec: ShardCodec, where: str) -> KeptIndex:
        """Return the index of the shard at offset `start` of the file."""
        index = self.kept(start, length, codec)
        if index is not None:
            return index
        place = index_span(length, codec)
        data = read_exactly(self.source, start + place.start, len(place), "the index of a shard")
        return self.add(start, length, codec, where, data)

    def kept(self, start: int, length: int, codec: ShardCodec) -> KeptIndex | None:
        """Return the index of the shard at offset `start` if it is in the cache; else None."""
        return self._indexes.get((start, length, codec))

    def add(self, start: int, length: int, codec: ShardCodec, where: str, data: bytes) -> KeptIndex:
        """Parse the bytes of a shard index and add it to the cache; raise errors as `find` does."""
        offsets, lengths = parse_index(data, codec.grid, length, where, codec.index)
        index = KeptIndex(offsets.data, lengths.data, int(np.count_nonzero(lengths)))
        self._bytes += 2 * offsets.nbytes
        if self._bytes > _MOST_KEPT:
            self._indexes, self._bytes = {}, 2 * offsets.nbytes
        self._indexes[start, length, codec] = index
        return index


def index_span(length: int, codec: ShardCodec) -> range:
    """Return the byte range of the index in a shard of this length."""
    count = prod(codec.grid)
    offset = max(0, codec.index.offset(count, length))
    return range(offset, offset + min(codec.index.size(count), length))


_INDEXES: WeakKeyDictionary[ArchiveSession, ShardIndexes] = WeakKeyDictionary()


def indexes_of(session: ArchiveSession) -> ShardIndexes:
    """Return the index cache of the archive that a session reads."""
    indexes, source = _INDEXES.get(session), session.source
    if indexes is None or indexes.source is not source:
        indexes = _INDEXES[session] = ShardIndexes(source)
    return indexes
