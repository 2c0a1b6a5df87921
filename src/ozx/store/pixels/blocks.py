"""Join neighbouring spans of a file into blocks, which a few threads read and decode."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from operator import itemgetter
from typing import Any, TypeVar

from ozx.codecs.joined_chunks import JoinedChunk, put_joined
from ozx.errors import FormatError
from ozx.places.byte_source import FileSource
from ozx.threads import default_jobs

# Reading a gap of this length costs about as much as a second read.
_GAP = 1 << 14
# Blocks of this size keep threads busy and stay in the processor's cache.
_LARGEST_BLOCK = 2 << 20
_SMALLEST_BLOCK = 1 << 18
_SMALLEST_FOR_THREADS = 1 << 14
_BLOCKS_PER_THREAD = 4


T = TypeVar("T")


# The threads that read blocks now: a request needs no helpers while others keep the processors busy.
_readers: set[int] = set()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool of all requests of this process, whose threads start on first use."""
    return ThreadPoolExecutor(default_jobs(), "ozx-pixels")


def _forget_threads() -> None:
    """Forget the threads, which do not exist in a forked child process."""
    _pool.cache_clear()
    _readers.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_threads)


def submit(function: Callable[[], T]) -> Future[T]:
    """Run `function` in a thread of the pool."""
    return _pool().submit(function)


def in_batches(items: Iterable[T], size_of: Callable[[T], int], size: int) -> Iterator[list[T]]:
    """Yield lists of items whose sizes add up to `size` or a little more; the last one may be smaller."""
    batch: list[T] = []
    length = 0
    for item in items:
        batch.append(item)
        length += size_of(item)
        if length >= size:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


#: A byte range of a file, and the function to call with its bytes, or the chunk to decode with others, or the memory of
#: a result to read them into; a plain tuple, as there may be very many.
Span = tuple[int, int, Any]


class Block:
    """The spans of a single read, and a function to call with the bytes of the whole block."""

    __slots__ = ("finish", "spans", "start", "stop")

    def __init__(
        self, start: int, stop: int, spans: list[Span], finish: Callable[[memoryview], object] | None = None
    ) -> None:
        self.start = start
        self.stop = stop
        self.spans = spans
        self.finish = finish

    @property
    def into(self) -> memoryview | None:
        """The memory to read the block into, if the block is a single span with memory of its own."""
        if len(self.spans) != 1:
            return None
        start, stop, take = self.spans[0]
        return take if isinstance(take, memoryview) and (start, stop) == (self.start, self.stop) else None


def join_spans(spans: Sequence[Span], jobs: int, *, gap: int = _GAP, length: int | None = None) -> list[Block]:
    """Return blocks that cover the spans, in file order.

    Gaps up to `gap` bytes are read too. A block ends at `length` bytes; the default makes a few blocks for each job.
    A span with memory is a block of its own, unless it overlaps another span.
    """
    if len(spans) <= 1:
        return [Block(start, stop, [*spans]) for start, stop, _ in spans]
    ordered = sorted(spans, key=itemgetter(0))
    if length is None:
        length = _block_length(sum([stop - start for start, stop, _ in ordered]), jobs)
    blocks: list[Block] = []
    end = limit = -1
    for span in ordered:
        start, stop, take = span
        if start > end + gap or (stop > limit and start >= end) or not blocks:
            block = Block(start, stop, [])
            blocks.append(block)
            end, limit = stop, start + (0 if isinstance(take, memoryview) else length)
        block.spans.append(span)
        if stop > end:
            block.stop = end = stop
    return blocks


def tile_spans(spans: Sequence[Span], start: int, stop: int, jobs: int) -> list[Block]:
    """Return the blocks of `join_spans`, plus blocks without spans for all other bytes from `start` to `stop`.

    Gaps of a few bytes, such as the index of a shard, belong to the block before or after them.
    """
    length = _block_length(stop - start, jobs)
    tiles: list[Block] = []
    for block in join_spans(spans, jobs):
        if block.start - start <= _GAP and block.into is None:
            block.start = start
        tiles += [Block(first, min(first + length, block.start), []) for first in range(start, block.start, length)]
        tiles.append(block)
        start = block.stop
    if tiles and stop - start <= _GAP and tiles[-1].into is None:
        tiles[-1].stop = stop
        return tiles
    return tiles + [Block(first, min(first + length, stop), []) for first in range(start, stop, length)]


def _block_length(total: int, jobs: int) -> int:
    smallest = _SMALLEST_BLOCK if jobs == 1 else _SMALLEST_FOR_THREADS
    return min(_LARGEST_BLOCK, max(smallest, total // (jobs * _BLOCKS_PER_THREAD)))


def read_blocks(source: FileSource, blocks: Sequence[Block], jobs: int) -> None:
    """Read blocks in the calling thread and in threads of the pool; call `take` and `finish` with their bytes."""
    if len(blocks) <= 1:
        for block in blocks:
            _read(source, block)
        return
    _readers.add(threading.get_ident())
    try:
        do_together(partial(_read, source), blocks, min(jobs, len(blocks)) - len(_readers))
    finally:
        _readers.discard(threading.get_ident())


def do_together(do: Callable[[T], None], items: Iterable[T], helpers: int) -> None:
    """Call a function for each item, in the calling thread and in threads of the pool."""
    waiting = deque(items)
    threads = [submit(partial(_work, do, waiting)) for _ in range(helpers)]
    try:
        _work(do, waiting)
    finally:
        waiting.clear()  # after an error
        # A helper that has not begun is not needed: the pool may be full of requests that wait for their helpers.
        for thread in [thread for thread in threads if not thread.cancel()]:
            thread.result()


def _work(do: Callable[[T], None], waiting: deque[T]) -> None:
    while True:
        try:
            item = waiting.popleft()
        except IndexError:
            return
        try:
            do(item)
        except BaseException:
            waiting.clear()
            raise


def _read(source: FileSource, block: Block) -> None:
    begin, length = block.start, block.stop - block.start
    into = block.into
    buffer = _buffer(length) if into is None else into
    if source.read_into_at(buffer, begin) != length:
        raise FormatError(
            f"expected {length:,} bytes at offset {begin:,}; the file shrank while it was read",
            path=source.name,
            rule="zip/changed",
        )
    if into is None:
        take_spans(begin, buffer, block.spans)
    if block.finish is not None:
        block.finish(buffer)


def take_spans(base: int, data: memoryview, spans: Iterable[Span]) -> None:
    """Give each span its part of the data, which begin at the offset `base` of the file."""
    joined = []
    for start, stop, take in spans:
        part = data[start - base : stop - base]
        if type(take) is JoinedChunk:
            joined.append((take, part))
        elif isinstance(take, memoryview):
            take[:] = part
        else:
            take(part)
    if joined:
        put_joined(joined)


_kept = threading.local()


def _buffer(length: int) -> memoryview:
    """Return a buffer that this thread reuses for its next block."""
    buffer: bytearray | None = getattr(_kept, "buffer", None)
    if buffer is None or len(buffer) < length:
        buffer = bytearray(max(length, _SMALLEST_BLOCK))
        if length <= 2 * _LARGEST_BLOCK:
            _kept.buffer = buffer
    return memoryview(buffer)[:length]
