"""Read pixels of a remote archive in few round trips, with many requests at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from math import prod

from zarr.core.sync import sync

from ozx.archive.entry_blocks import EntryRange, value_position, value_range
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote_reading import predicted_data_offset
from ozx.codecs.joined_chunks import Take
from ozx.crc32 import crc32
from ozx.errors import FormatError
from ozx.places.remote.deadline import in_background
from ozx.places.remote.source import RemoteSource
from ozx.store.pixels.blocks import Block, Span, do_together, in_batches, join_spans, submit, take_spans
from ozx.store.pixels.plan import NotPlannedError, ReadPlan, WantedShard, index_span
from ozx.store.reading import ArchiveSession
from ozx.threads import default_jobs

# Measured at 0, 20 and 100 ms a request: docs/decisions/0020-codec-pipeline.md.
_GAP = 1 << 16
_JOINED = 1 << 20
_MOST_REQUESTS = 64
_MOST_BYTES = 64 << 20
# A shard up to this length is requested whole, without a request for its index first.
_SMALL_SHARD = 1 << 19
# A shard longer than this is never requested whole, because it would have to stay in memory.
_LARGE_SHARD = 16 << 20
# Bytes that one thread decodes at a time.
_BATCH = 1 << 18


class RemotePlan(ReadPlan):
    """The chunks of some selections of remote arrays; nothing is requested before `read`."""

    fills_memory = False  # responses have memory of their own

    def __init__(self, session: ArchiveSession) -> None:
        super().__init__(session)
        self._values: list[tuple[EntryRange, Take]] = []
        self._shards: list[tuple[EntryRange, WantedShard]] = []

    def add_value(self, place: EntryRange, take: Take) -> None:
        """Read the value at `place`, verify it, and give it to `take`."""
        self._values.append((place, take))

    def add_shard(self, place: EntryRange, shard: WantedShard) -> None:
        """Read inner chunks of a shard that is an entry."""
        self._shards.append((place, shard._replace(overlaps=[*shard.overlaps])))

    def read(self) -> None:
        """Request, verify and decode the planned bytes; a single request needs no event loop."""
        source = self._source()
        for blocks in self._round_trips():
            if len(blocks) == 1:
                _take_now(blocks[0], _received(source, blocks[0], _read_view(source, blocks[0])))
            elif blocks:
                sync(_fetch_all(source, blocks))
        for step in self.last_steps:
            step()

    async def read_async(self) -> None:
        """Do the same as `read`, without blocking the event loop."""
        source, round_trips = self._source(), self._round_trips()
        while (blocks := await asyncio.to_thread(next, round_trips, None)) is not None:
            await _fetch_all(source, blocks)
        for step in self.last_steps:
            step()

    def _source(self) -> RemoteSource:
        if not isinstance(self.reader.source, RemoteSource):
            raise NotPlannedError
        return self.reader.source

    def _round_trips(self) -> Iterator[list[Block]]:
        """Yield the blocks to request in each round trip, after those before were received; often there are none."""
        yield _once(self._headers())
        self._values = [(value_range(self.reader, place), take) for place, take in self._values]
        self._shards = [(value_range(self.reader, place), shard) for place, shard in self._shards]
        yield _once(self._missing_indexes())
        for place, take in self._values:
            super().add_value(place, take)
        for place, shard in self._shards:
            self._add_wanted(place, shard)
        yield self.blocks + join_spans(self.spans, 1, gap=_GAP, length=_JOINED)

    def _headers(self) -> Iterator[Block]:
        """Yield the local headers that must be read first, because the offset of the value is unknown."""
        places = [place for place, _ in self._values if place.stop < place.limit]
        for place, shard in self._shards:
            is_certain = place.stop == place.limit and (
                self._is_requested_whole(place, shard) or _predicted(self.reader, place) >= 0
            )
            places += [] if is_certain else [place]
        for place in places:
            if not place.is_checked:
                stop = min(place.stop - self.size_of(place), place.limit)
                yield Block(place.start, stop, [], partial(value_position, self.reader, place))

    def _missing_indexes(self) -> Iterator[Block]:
        """Yield the shard indexes that are not in the cache."""
        for place, shard in self._shards:
            size = self.size_of(place)
            if self._is_requested_whole(place, shard):
                continue
            start = _value_offset(self.reader, place)
            found = shard._replace(start=start, length=size)
            if self.kept_index(found) is None:
                span = index_span(size, shard.codec)
                yield Block(start + span.start, start + span.stop, [], partial(self._add_index, found))

    def _add_index(self, shard: WantedShard, data: memoryview) -> None:
        self.keep_index(shard, bytes(data))

    def _add_wanted(self, place: EntryRange, shard: WantedShard) -> None:
        if not self._is_requested_whole(place, shard):
            self.add_inner(self.open_shard(place, shard, _value_offset(self.reader, place)), self.spans)
            return
        block = Block(place.start, place.stop, [])
        block.finish = partial(self._open_whole, place, shard, block)
        if block.stop - block.start <= _JOINED:  # one request can read it and its neighbours
            self.spans.append((block.start, block.stop, partial(_take_opened, block)))
        else:
            self.blocks.append(block)

    def _open_whole(self, place: EntryRange, shard: WantedShard, block: Block, data: memoryview) -> None:
        """Verify the shard in a received block, and find its requested inner chunks."""
        block.finish = None  # it refers to the block: a cycle would keep the pixels for longer
        begin = value_position(self.reader, place, data)
        shard = self.open_shard(place, shard, block.start + begin)
        value = data[begin : begin + shard.length]
        self.reader.check_crc32(place.entry, crc32(value))
        span = index_span(shard.length, shard.codec)
        self._add_index(shard, value[span.start : span.stop])
        self.add_inner(shard, block.spans)

    def _is_requested_whole(self, place: EntryRange, shard: WantedShard) -> bool:
        """Return whether a whole shard must be requested.

        This is the case if most of the shard is needed, or if it is too small for a request of its index.
        """
        size = self.size_of(place)
        if size <= _SMALL_SHARD or size > _LARGE_SHARD:
            return size <= _SMALL_SHARD
        return 2 * len(list(shard.overlaps)) >= prod(shard.codec.grid)


def plan_for(session: ArchiveSession) -> ReadPlan:
    """Return an empty plan for an archive, which is remote or not."""
    return RemotePlan(session) if isinstance(session.source, RemoteSource) else ReadPlan(session)


def _once(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks without repetition: several selections may need the same header or index."""
    return list({block.start: block for block in blocks}.values())


def _predicted(reader: ArchiveReader, place: EntryRange) -> int:
    return predicted_data_offset(reader.columns, place.entry, place.limit)


def _value_offset(reader: ArchiveReader, place: EntryRange) -> int:
    """Return the offset of a value, computed from the central directory or from its local header."""
    offset = place.start if place.is_checked else _predicted(reader, place)
    return reader.data_offset(place.entry) if offset < 0 else offset


async def _fetch_all(source: RemoteSource, blocks: list[Block]) -> None:
    """Request blocks, many at a time; decode each block when it arrives."""
    largest = max((block.stop - block.start for block in blocks), default=1)
    gate = asyncio.Semaphore(max(1, min(_MOST_REQUESTS, _MOST_BYTES // largest)))

    async def fetch(block: Block) -> None:
        async with gate:
            data = await source.read_view_async(block.start, block.stop - block.start)
            await _take(block, _received(source, block, data))

    tasks = [asyncio.ensure_future(fetch(block)) for block in blocks]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _read_view(source: RemoteSource, block: Block) -> bytes | memoryview:
    """Read the bytes of a block by one request; in the main thread, Ctrl-C does not wait for the server."""
    read = partial(source.read_view, block.start, block.stop - block.start)
    return in_background(read).result() if threading.current_thread() is threading.main_thread() else read()


def _received(source: RemoteSource, block: Block, data: bytes | memoryview) -> memoryview:
    """Return the bytes of a block, or raise an error if there are fewer."""
    length = block.stop - block.start
    if len(data) != length:
        raise FormatError(
            f"expected {length:,} bytes at offset {block.start:,}; found {len(data):,}",
            path=source.name,
            rule="zip/changed",
        )
    return memoryview(data)


async def _take(block: Block, data: memoryview) -> None:
    """Call `finish` of a block, which may add spans; then process all spans of the block in threads."""
    if block.finish is not None:
        await asyncio.wrap_future(submit(partial(block.finish, data)))
    await asyncio.gather(
        *(asyncio.wrap_future(submit(partial(take_spans, block.start, data, batch))) for batch in _batches(block.spans))
    )


def _take_now(block: Block, data: memoryview) -> None:
    """Do the same as `_take`, partly in the calling thread."""
    if block.finish is not None:
        block.finish(data)
    batches = list(_batches(block.spans))
    do_together(partial(take_spans, block.start, data), batches, min(default_jobs(), len(batches)) - 1)


def _batches(spans: list[Span]) -> Iterator[list[Span]]:
    return in_batches(spans, lambda span: span[1] - span[0], _BATCH)


def _take_opened(block: Block, data: memoryview) -> None:
    if block.finish is not None:
        block.finish(data)
    take_spans(block.start, data, block.spans)
