"""Read pixels of a remote archive with few requests, many of them concurrent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any

from ozx.archive.crc32 import crc32
from ozx.archive.entry_blocks import EntrySpan, value_position
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.reading import predicted_data_offset
from ozx.archive.remote.source import RemoteSource
from ozx.errors import FormatError
from ozx.flow.decoding.chunk_codecs import ShardCodec
from ozx.store.pixels.blocks import POOL, Block, Span, join_spans
from ozx.store.pixels.plan import NotPlannedError, ReadPlan
from ozx.store.pixels.request import PixelRequest, Stored
from ozx.store.pixels.selections import count_touched
from ozx.store.pixels.shard_indexes import index_span

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


class RemoteRequest(PixelRequest):
    """The chunks of one selection of a remote array; see `PixelRequest`."""

    async def answer(self) -> None:
        """Find, request, verify and decode the chunks."""
        await self._session.ensure_open()
        plan = ReadPlan(self._session)
        reader = plan.reader
        if not isinstance(reader.source, RemoteSource):
            raise NotPlannedError
        stored = await asyncio.to_thread(self._find, plan)
        unknown = [one.place.entry for one in stored if self._needs_header(reader, one)]
        if unknown:
            await asyncio.gather(*(_in_thread(partial(reader.data_offset, entry)) for entry in unknown))
            stored = await asyncio.to_thread(self._find, plan)
        indexes = await asyncio.to_thread(lambda: list(self._missing_indexes(plan, stored)))
        await _fetch_all(reader.source, indexes)
        await asyncio.to_thread(plan.checked, partial(self._add_all, plan, stored))
        await _fetch_all(reader.source, plan.blocks + join_spans(plan.spans, 1, gap=_GAP, length=_BLOCK))
        for step in plan.last_steps:
            step()

    def _needs_header(self, reader: ArchiveReader, stored: Stored) -> bool:
        """Return whether the local header must be read first, because the offset of the value is unknown."""
        item, codec, place, size = stored
        if place.is_checked or place.stop < place.limit:
            return not place.is_checked
        is_part = isinstance(codec, ShardCodec) and not _is_requested_whole(codec, item[2], size)
        return is_part and _predicted(reader, place) < 0

    def _missing_indexes(self, plan: ReadPlan, stored: list[Stored]) -> Iterator[Block]:
        """Yield the byte range to read for each shard index that is not in the cache, as a `Block`."""
        for item, codec, place, size in stored:
            if not isinstance(codec, ShardCodec) or _is_requested_whole(codec, item[2], size):
                continue
            start = _value_offset(plan.reader, place)
            if plan.indexes.kept(start, size, codec) is None:
                span = index_span(size, codec)
                add = partial(_add_index, plan, start, size, codec, item[0].path)
                yield Block(start + span.start, start + span.stop, [], add)

    def _add_shard(self, plan: ReadPlan, stored: Stored, codec: ShardCodec) -> None:
        item, _, place, size = stored
        if _is_requested_whole(codec, item[2], size):
            block = Block(place.start, place.stop, [])
            block.finish = partial(self._open_shard, plan, stored, codec, block)
            if block.stop - block.start <= _BLOCK:  # one request can read it and its neighbours
                plan.spans.append((block.start, block.stop, partial(_take_opened, block)))
            else:
                plan.blocks.append(block)
        else:
            shard = self._shard(plan, stored, codec, _value_offset(plan.reader, place))
            view, overlaps = self._overlaps(plan, item, codec)
            plan.add_inner(shard, codec, overlaps, view, plan.spans)

    def _open_shard(self, plan: ReadPlan, stored: Stored, codec: ShardCodec, block: Block, data: memoryview) -> None:
        """Verify the shard in a received block, and find its requested inner chunks."""
        item, _, place, _ = stored
        begin = value_position(plan.reader, place, data)
        shard = self._shard(plan, stored, codec, block.start + begin)
        value = data[begin : begin + shard.length]
        plan.reader.check_crc32(place.entry, crc32(value))
        span = index_span(shard.length, codec)
        _add_index(plan, shard.start, shard.length, codec, shard.key, value[span.start : span.stop])
        view, overlaps = self._overlaps(plan, item, codec)
        plan.add_inner(shard, codec, overlaps, view, block.spans)


def _add_index(plan: ReadPlan, start: int, length: int, codec: ShardCodec, where: str, data: memoryview) -> None:
    plan.indexes.add(start, length, codec, where, bytes(data))


def _predicted(reader: ArchiveReader, place: EntrySpan) -> int:
    return predicted_data_offset(reader.columns, place.entry, place.limit)


def _value_offset(reader: ArchiveReader, place: EntrySpan) -> int:
    """Return the offset of a value, computed from the central directory or from its local header."""
    offset = place.start if place.is_checked else _predicted(reader, place)
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
        size += span[1] - span[0]
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _take_spans(spans: list[Span], base: int, data: memoryview) -> None:
    for start, stop, take in spans:
        take(data[start - base : stop - base])


def _take_opened(block: Block, data: memoryview) -> None:
    if block.finish is not None:
        block.finish(data)
    _take_spans(block.spans, block.start, data)


async def _in_thread(function: Callable[[], object]) -> None:
    await asyncio.wrap_future(POOL.submit(function))
