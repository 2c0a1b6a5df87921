"""Read pixels of a remote archive with few requests, many of them concurrent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ozx.archive.crc32 import crc32
from ozx.archive.entry_blocks import EntrySpan, value_position
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.reading import predicted_data_offset
from ozx.archive.remote.source import RemoteSource
from ozx.errors import FormatError
from ozx.flow.decoding.chunk_codecs import ChunkCodec, ShardCodec
from ozx.store.pixels.blocks import Block, Span, join_spans
from ozx.store.pixels.request import NotPlannedError, PixelRequest
from ozx.store.pixels.selections import count_touched
from ozx.store.pixels.shard_indexes import index_span
from ozx.store.pixels.threads import POOL

# Measured at 0, 20 and 100 ms a request: docs/decisions/0020-codec-pipeline.md.
_GAP = 1 << 16
_BLOCK = 1 << 20
_MOST_REQUESTS = 64
_MOST_BYTES = 64 << 20
# A shard up to this length is requested whole, without a request for its index first.
_SMALL_SHARD = 1 << 19
# A shard longer than this is never requested whole, because it would have to stay in memory.
_LARGE_SHARD = 16 << 20
# Pixels that one thread decodes at a time.
_BATCH = 1 << 20


class _Stored(NamedTuple):
    """An item of a request, with the codec and the byte range of its chunk or shard."""

    item: Any
    codec: ChunkCodec | ShardCodec
    place: EntrySpan


class RemoteRequest(PixelRequest):
    """The chunks of one selection of a remote array; see `PixelRequest`."""

    async def answer(self) -> None:
        """Find, request, verify and decode the chunks."""
        await self._session.ensure_open()
        reader = self._session.reader
        if not isinstance(reader.source, RemoteSource):
            raise NotPlannedError
        stored = await asyncio.to_thread(self._find_stored, reader)
        unknown = [place.entry for item, codec, place in stored if self._needs_header(reader, item, codec, place)]
        await asyncio.gather(*(_in_thread(partial(reader.data_offset, entry)) for entry in unknown))
        indexes = await asyncio.to_thread(lambda: list(self._missing_indexes(reader, stored)))
        await _fetch_all(reader.source, indexes)
        await asyncio.to_thread(self.plan)
        await _fetch_all(reader.source, self._blocks)
        for step in self._last_steps:
            step()

    def _find_stored(self, reader: ArchiveReader) -> list[_Stored]:
        """Return the items whose chunk or shard exists in the archive."""
        items = [item for item, row in zip(self._items, self._find_rows(reader), strict=True) if row >= 0]
        places = self._entry_spans(reader)
        return [_Stored(item, self._codec(item[1]), place) for item, place in zip(items, places, strict=True)]

    def _needs_header(self, reader: ArchiveReader, item: Any, codec: ChunkCodec | ShardCodec, place: EntrySpan) -> bool:
        """Return whether the local header must be read first, because the offset of the value is unknown."""
        if place.stop < place.limit:
            return True
        is_part = isinstance(codec, ShardCodec) and not _is_requested_whole(codec, item[2], _size(reader, place))
        return is_part and _predicted(reader, place) < 0

    def _missing_indexes(self, reader: ArchiveReader, stored: list[_Stored]) -> Iterator[Block]:
        """Yield the byte range to read for each shard index that is not in the cache, as a `Block`."""
        for item, codec, place in stored:
            size = _size(reader, place)
            if not isinstance(codec, ShardCodec) or _is_requested_whole(codec, item[2], size):
                continue
            start = _value_offset(reader, place)
            if self._indexes.kept(start, size, codec) is None:
                span = index_span(size, codec)
                add = partial(self._add_index, start, size, codec, item[0].path)
                yield Block(start + span.start, start + span.stop, [], add)

    def _add_index(self, start: int, length: int, codec: ShardCodec, where: str, data: memoryview) -> None:
        self._indexes.add(start, length, codec, where, bytes(data))

    def _chunk_span(self, reader: ArchiveReader, place: EntrySpan, put: Callable[[memoryview], None]) -> Span:
        if place.stop == place.limit:
            return super()._chunk_span(reader, place, put)
        start = reader.data_offset(place.entry)  # its header has been read by now

        def take(data: memoryview) -> None:
            reader.check_crc32(place.entry, crc32(data))
            put(data)

        return Span(start, start + _size(reader, place), take)

    def _plan_stored_shard(self, reader: ArchiveReader, item: Any, place: EntrySpan, codec: ShardCodec) -> None:
        if _is_requested_whole(codec, item[2], _size(reader, place)):
            start = place.start if place.stop == place.limit else reader.data_offset(place.entry)
            block = Block(start, place.stop if place.stop == place.limit else start + _size(reader, place), [])
            block.finish = partial(self._open_shard, reader, item, place, codec, block)
            if block.stop - block.start <= _BLOCK:  # one request can read it and its neighbours
                self._spans.append(Span(block.start, block.stop, partial(_take_opened, block)))
            else:
                self._blocks.append(block)
        else:
            shard = self._shard(reader, item, place, _value_offset(reader, place))
            self._spans += self._spans_of(codec, shard, item)[0]

    def _open_shard(
        self, reader: ArchiveReader, item: Any, place: EntrySpan, codec: ShardCodec, block: Block, data: memoryview
    ) -> None:
        """Verify the shard in a received block, and find its requested inner chunks."""
        begin = value_position(reader, place, data) if block.start == place.start else 0
        shard = self._shard(reader, item, place, block.start + begin)
        value = data[begin : begin + shard.length]
        reader.check_crc32(place.entry, crc32(value))
        span = index_span(shard.length, codec)
        self._indexes.add(shard.start, shard.length, codec, shard.key, bytes(value[span.start : span.stop]))
        block.spans = self._spans_of(codec, shard, item)[0]

    def _plan_direct(self, reader: ArchiveReader, codec: ChunkCodec, row: int, out_selection: Any) -> bool:
        del reader, codec, row, out_selection
        return False

    def _join_spans(self) -> None:
        self._blocks += join_spans(self._spans, 1, gap=_GAP, length=_BLOCK)


def _size(reader: ArchiveReader, place: EntrySpan) -> int:
    return int(reader.columns.compressed_sizes[place.entry])


def _predicted(reader: ArchiveReader, place: EntrySpan) -> int:
    return predicted_data_offset(reader.columns, place.entry, place.limit)


def _value_offset(reader: ArchiveReader, place: EntrySpan) -> int:
    """Return the offset of a value, computed from the central directory or from its local header."""
    offset = _predicted(reader, place)
    return reader.data_offset(place.entry) if offset < 0 else offset


def _is_requested_whole(codec: ShardCodec, selection: Any, size: int) -> bool:
    """Return whether a whole shard must be requested.

    This is the case if most of the shard is needed, or if it is too small for a request of its index.
    """
    if size <= _SMALL_SHARD or size > _LARGE_SHARD or not isinstance(selection, tuple):
        return size <= _SMALL_SHARD
    return 2 * count_touched(selection, codec.shape, codec.inner.shape) >= prod(codec.grid)


async def _fetch_all(source: RemoteSource, blocks: list[Block]) -> None:
    """Request blocks, many at a time; decode each block when it arrives."""
    largest = max((block.stop - block.start for block in blocks), default=1)
    gate = asyncio.Semaphore(max(1, min(_MOST_REQUESTS, _MOST_BYTES // largest)))

    async def fetch(block: Block) -> None:
        async with gate:
            data = memoryview(await source.read_view_async(block.start, block.stop - block.start))
            if len(data) != block.stop - block.start:
                raise FormatError(
                    f"expected {block.stop - block.start:,} bytes at offset {block.start:,}; found {len(data):,}",
                    path=source.name,
                    rule="zip/changed",
                )
            await _take(block, data)

    tasks = [asyncio.ensure_future(fetch(block)) for block in blocks]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _take(block: Block, data: memoryview) -> None:
    """Call `finish` of a block, which may add spans; then process all spans of the block in threads."""
    if block.finish is not None:
        await _in_thread(partial(block.finish, data))
    await asyncio.gather(
        *(_in_thread(partial(_take_spans, batch, block.start, data)) for batch in _batches(block.spans))
    )


def _batches(spans: list[Span]) -> Iterator[list[Span]]:
    batch: list[Span] = []
    size = 0
    for span in spans:
        batch.append(span)
        size += span.stop - span.start
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _take_spans(spans: list[Span], base: int, data: memoryview) -> None:
    for span in spans:
        span.take(data[span.start - base : span.stop - base])


def _take_opened(block: Block, data: memoryview) -> None:
    if block.finish is not None:
        block.finish(data)
    _take_spans(block.spans, block.start, data)


async def _in_thread(function: Callable[[], object]) -> None:
    await asyncio.wrap_future(POOL.submit(function))
