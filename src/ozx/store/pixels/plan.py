"""Plan the byte ranges of a file to read for some pixels, and where the decoded pixels go; then read and decode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.entry_blocks import EntryRange, entry_ranges, value_in_range
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED
from ozx.codecs.chunk_codecs import ChunkCodec, ShardCodec
from ozx.codecs.joined_chunks import JoinedChunk, Take, decoding
from ozx.crc32 import crc32, crc32_combine
from ozx.errors import FormatError
from ozx.places.byte_source import FileSource, read_exactly
from ozx.store.pixels.blocks import Block, Span, join_spans, read_blocks, tile_spans
from ozx.store.pixels.selections import Overlap, iter_overlaps
from ozx.store.reading import ArchiveSession
from ozx.threads import default_jobs
from ozx.zarr.layout import parse_index

# More keys than this are looked up together.
_FEW = 8
# A large chunk without compression goes from the file into the caller's array.
_LARGE = 1 << 19
# Memory besides the result.
SCRATCH = 48 << 20
# Threads are worth their hand-over for more effort than this, about a millisecond (`ChunkCodec.effort`).
_MUCH = 8_000_000


# The most bytes of shard indexes that are kept of an archive.
_MOST_KEPT = 32 << 20

# Offsets and lengths of the inner chunks of a shard, as plain integers by grid coordinates, with a length of 0 if
# missing; and the number of those that are stored.
_Index = tuple[memoryview, memoryview, int]


class NotPlannedError(Exception):
    """Error for a request that only the bounded pipeline (`ozx.codecs.bounded_arrays`) can answer."""


class WantedShard(NamedTuple):
    """Inner chunks of a shard that are wanted, and where their pixels go."""

    codec: ShardCodec
    overlaps: Iterable[Overlap]
    view: NDArray[Any]
    key: str  # for messages
    fill_value: Any  # of missing pixels
    start: int = -1  # the byte range in the file, once it is known
    length: int = 0


def _take_value(
    reader: ArchiveReader, place: EntryRange, take: Callable[[memoryview], object], data: memoryview
) -> None:
    take(value_in_range(reader, place, data))


class ReadPlan:
    """The spans and blocks to read for one or several selections of arrays in one archive."""

    fills_memory = True  # whether bytes can go from the file into the memory of the result

    def __init__(self, session: ArchiveSession) -> None:
        self.session = session
        self.reader = session.reader
        self.spans: list[Span] = []
        self.blocks: list[Block] = []
        self.last_steps: list[Callable[[], None]] = []
        self.scratch = 0
        self._largest_chunk = 0
        self._effort = 0
        self._indexes: dict[tuple[int, int, ShardCodec], _Index] = session.shard_indexes

    def find(self, keys: list[str]) -> list[int]:
        """Return the entry of each key; -1 for missing keys."""
        if len(keys) > _FEW and all(key.isascii() for key in keys):
            found: list[int] = self.reader.name_index.find_all([key.encode("ascii") for key in keys]).tolist()
            return found
        indices = [self.session.find(key) for key in keys]
        return [-1 if index is None else index for index in indices]

    def places(self, rows: list[int]) -> list[EntryRange]:
        """Return the places of entries; raise `NotPlannedError` if an entry is empty or compressed."""
        columns, present = self.reader.columns, np.array(rows, np.int64)
        if len(present) and ((columns.methods[present] != STORED).any() or not columns.compressed_sizes[present].all()):
            raise NotPlannedError
        return entry_ranges(self.reader, present)

    def size_of(self, place: EntryRange) -> int:
        """Return the length of a stored value."""
        return int(self.reader.columns.compressed_sizes[place.entry])

    def add(
        self, place: EntryRange, codec: ChunkCodec | ShardCodec, inside: Any, view: NDArray[Any], key: str, fill: Any
    ) -> None:
        """Read the chunk or shard at `place`; copy its part `inside`, or all of it if that is None, to `view`."""
        if isinstance(codec, ShardCodec):
            self.add_shard(place, WantedShard(codec, _inner_overlaps(codec, inside), view, key, fill))
            return
        size = place.stop - place.start
        self.expect(codec, 1, size)
        into = self._memory_for(codec, inside, view)
        if into is None:
            self.add_value(place, decoding(codec, inside, view))
        else:
            self._add_direct(place, into)

    def add_value(self, place: EntryRange, take: Take) -> None:
        """Read the value at `place`, verify it, and give it to `take`."""
        if isinstance(take, JoinedChunk):
            take = take._replace(verified=partial(value_in_range, self.reader, place))
        else:
            take = partial(_take_value, self.reader, place, take)
        self.spans.append((place.start, place.stop, take))

    def _memory_for(self, codec: ChunkCodec, inside: Any, view: NDArray[Any]) -> memoryview | None:
        """Return the memory of `view` if the bytes of a stored chunk can go from the file into it; else None."""
        if inside is not None or codec.size < _LARGE or not (codec.is_raw and self.fills_memory):
            return None
        stored = view.transpose(codec.order)
        if stored.dtype != codec.dtype or not stored.flags.c_contiguous:
            return None
        return stored.reshape(-1).view(np.uint8).data

    def _add_direct(self, place: EntryRange, into: memoryview) -> None:
        """Read an entry directly into the memory of the result."""
        reader, start = self.reader, self.reader.data_offset(place.entry)
        stop = start + self.size_of(place)
        if len(into) != stop - start:
            raise NotPlannedError
        self.blocks.append(
            Block(start, stop, [(start, stop, into)], lambda data: reader.check_crc32(place.entry, crc32(data)))
        )

    def expect(self, codec: ChunkCodec, count: int, longest: int) -> None:
        """Take account of chunks to decode; raise `NotPlannedError` if the longest stored one is too long.

        The other pipeline raises the error then.
        """
        if longest > codec.most_stored:
            raise NotPlannedError
        self._largest_chunk = max(self._largest_chunk, codec.size + longest)
        self._effort += count * codec.effort

    def open_shard(self, place: EntryRange, shard: WantedShard, start: int) -> WantedShard:
        """Return a shard with its byte range, which begins at `start`.

        Raise `NotPlannedError` if it is too long; the other pipeline raises the error.
        """
        length = self.size_of(place)
        if length > shard.codec.most_stored:
            raise NotPlannedError
        return shard._replace(start=start, length=length)

    def add_shard(self, place: EntryRange, shard: WantedShard) -> None:
        """Read inner chunks of a shard that is an entry; verify the shard's CRC-32 if all its chunks are read."""
        shard = self.open_shard(place, shard, self.reader.data_offset(place.entry))
        spans: list[Span] = []
        if self.add_inner(shard, spans):
            self.blocks += self._checked_blocks(place.entry, shard, spans)
        else:
            self.spans += spans

    def add_inner(self, shard: WantedShard, spans: list[Span]) -> bool:
        """Append the spans of the requested inner chunks; return whether these are all chunks of the shard."""
        inner, view, before = shard.codec.inner, shard.view, len(spans)
        offsets, lengths, stored = self._index_of(shard)
        longest = 0
        for place, inside, target in shard.overlaps:
            length, part = lengths[place], view[target] if target else view
            if not length:
                part[...] = shard.fill_value
                continue
            start = shard.start + offsets[place]
            if isinstance(inner, ShardCodec):
                key, found = f"{shard.key}, inner chunk {list(place)}", _inner_overlaps(inner, inside)
                self.add_inner(WantedShard(inner, found, part, key, shard.fill_value, start, length), spans)
                continue
            longest = max(longest, length)
            into = self._memory_for(inner, inside, part) if length == inner.size else None
            spans.append((start, start + length, into or decoding(inner, inside, part)))
        if isinstance(inner, ShardCodec):
            return False
        count = len(spans) - before
        self.expect(inner, count, longest)
        return 0 < count == stored

    def _index_of(self, shard: WantedShard) -> _Index:
        index = self.kept_index(shard)
        if index is not None:
            return index
        place = index_span(shard.length, shard.codec)
        data = read_exactly(self.session.source, shard.start + place.start, len(place), "the index of a shard")
        return self.keep_index(shard, data)

    def kept_index(self, shard: WantedShard) -> _Index | None:
        """Return the index of a shard if it was read before; else None."""
        return self._indexes.get((shard.start, shard.length, shard.codec))

    def keep_index(self, shard: WantedShard, data: bytes) -> _Index:
        """Parse the bytes of a shard's index, and keep it for later plans; when there are too many, begin again."""
        offsets, lengths = parse_index(data, shard.codec.grid, shard.length, shard.key, shard.codec.index)
        if (len(self._indexes) + 1) * 2 * offsets.nbytes > _MOST_KEPT:
            self._indexes.clear()
        index = offsets.data, lengths.data, int(np.count_nonzero(lengths))
        self._indexes[shard.start, shard.length, shard.codec] = index
        return index

    def _checked_blocks(self, entry: int, shard: WantedShard, spans: list[Span]) -> list[Block]:
        """Return blocks that cover a whole shard, so that its CRC-32 can be verified."""
        blocks = tile_spans(spans, shard.start, shard.start + shard.length, self.jobs())
        sums, reader = [0] * len(blocks), self.reader  # not the plan: a cycle would keep the pixels for longer

        def keep(number: int, data: memoryview) -> None:
            sums[number] = crc32(data)

        def compare() -> None:
            total = sums[0]
            for block, part in zip(blocks[1:], sums[1:], strict=True):
                total = crc32_combine(total, part, block.stop - block.start)
            reader.check_crc32(entry, total)

        for number, block in enumerate(blocks):
            block.finish = partial(keep, number)
        self.last_steps.append(compare)
        return blocks

    @property
    def is_short(self) -> bool:
        """Whether threads would take longer to start than the decoding takes."""
        return self._effort <= _MUCH

    def jobs(self) -> int:
        """Return the number of threads, which is limited by the memory that each of them needs."""
        if self.is_short:
            return 1
        return max(1, min(self._threads, (SCRATCH - self.scratch) // max(1, self._largest_chunk)))

    @cached_property
    def _threads(self) -> int:
        return default_jobs()

    def read(self) -> None:
        """Read, verify and decode the planned bytes."""
        source = self.reader.source
        if not isinstance(source, FileSource):
            raise NotPlannedError
        jobs = self.jobs()
        try:
            read_blocks(source, self.blocks + join_spans(self.spans, jobs), jobs)
            for step in self.last_steps:
                step()
        finally:  # another file under this name may look like damage
            source.check_unchanged()

    def checked(self, function: Callable[[], None]) -> None:
        """Call a function that plans; if it fails, because another file has this name now, say so."""
        try:
            function()
        except FormatError:
            self.session.source.check_unchanged()
            raise


def _inner_overlaps(codec: ShardCodec, inside: Any) -> Iterable[Overlap]:
    """Return the inner chunks in a part of a shard, or in all of it if that is None."""
    part = tuple(map(slice, codec.shape)) if inside is None else inside
    return iter_overlaps(part, codec.shape, codec.inner.shape)


def index_span(length: int, codec: ShardCodec) -> range:
    """Return the byte range of the index in a shard of this length."""
    count = prod(codec.grid)
    offset = max(0, codec.index.offset(count, length))
    return range(offset, offset + min(codec.index.size(count), length))
