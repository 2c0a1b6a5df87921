"""Cache the indexes of shards."""

from __future__ import annotations

import threading
from collections import OrderedDict
from math import prod
from weakref import WeakKeyDictionary

from ozx.archive.byte_source import ByteSource, read_exactly
from ozx.flow.decoding.chunk_codecs import ShardCodec
from ozx.hierarchy.zarr.layout import ShardIndex, parse_index
from ozx.store.after_fork import renew_after_fork
from ozx.store.reading import ArchiveSession

_MOST_KEPT = 32 << 20


class ShardIndexes:
    """A cache of the most recently used shard indexes of one archive."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self._indexes: OrderedDict[tuple[object, ...], ShardIndex] = OrderedDict()
        self._bytes = 0
        self.renew_locks()
        renew_after_fork(self)

    def renew_locks(self) -> None:
        """Create a new lock, after a fork."""
        self._lock = threading.Lock()

    def find(self, start: int, length: int, codec: ShardCodec, where: str) -> ShardIndex:
        """Return the index of the shard at offset `start` of the file."""
        index = self.kept(start, length, codec)
        if index is not None:
            return index
        place = index_span(length, codec)
        data = read_exactly(self.source, start + place.start, len(place), "the index of a shard")
        return self.add(start, length, codec, where, data)

    def kept(self, start: int, length: int, codec: ShardCodec) -> ShardIndex | None:
        """Return the index of the shard at offset `start` if it is in the cache; else None."""
        key = (start, length, codec.grid, codec.index)
        with self._lock:
            index = self._indexes.get(key)
            if index is not None:
                self._indexes.move_to_end(key)
            return index

    def add(self, start: int, length: int, codec: ShardCodec, where: str, data: bytes) -> ShardIndex:
        """Parse the bytes of a shard index and add it to the cache; raise errors as `find` does."""
        key = (start, length, codec.grid, codec.index)
        index = parse_index(data, codec.grid, length, where, codec.index)
        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = index
                self._bytes += 2 * index.offsets.nbytes
                while self._bytes > _MOST_KEPT and len(self._indexes) > 1:
                    self._bytes -= 2 * self._indexes.popitem(last=False)[1].offsets.nbytes
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
