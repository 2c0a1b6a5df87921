"""Join neighbouring spans of a file into blocks, which a few threads read and decode."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ozx.archive.byte_source import FileSource
from ozx.errors import FormatError
from ozx.store.pixels.threads import POOL

# Reading a gap of this length costs about as much as a second read.
_GAP = 1 << 14
# Blocks of this size keep threads busy and stay in the processor's cache.
_LARGEST_BLOCK = 2 << 20
_SMALLEST_BLOCK = 1 << 18
_BLOCKS_PER_THREAD = 4


class Span:
    """A byte range of a file, and the function to call with its bytes."""

    __slots__ = ("start", "stop", "take")

    def __init__(self, start: int, stop: int, take: Callable[[memoryview], None]) -> None:
        self.start = start
        self.stop = stop
        self.take = take


class Block:
    """The spans of a single read, and a function to call with the bytes of the whole block."""

    __slots__ = ("finish", "into", "spans", "start", "stop")

    def __init__(
        self,
        start: int,
        stop: int,
        spans: list[Span],
        finish: Callable[[memoryview], None] | None = None,
        into: memoryview | None = None,
    ) -> None:
        self.start = start
        self.stop = stop
        self.spans = spans
        self.finish = finish
        self.into = into


def join_spans(spans: Iterable[Span], jobs: int, *, gap: int = _GAP, length: int | None = None) -> list[Block]:
    """Return blocks that cover the spans, in file order.

    Gaps up to `gap` bytes are read too. A block ends at `length` bytes; the default makes a few blocks for each job.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    if length is None:
        length = _block_length(sum(span.stop - span.start for span in ordered), jobs)
    blocks: list[Block] = []
    block: Block | None = None
    for span in ordered:
        is_full = block is not None and span.stop - block.start > length and span.start >= block.stop
        if block is None or is_full or span.start - block.stop > gap:
            block = Block(span.start, span.stop, [])
            blocks.append(block)
        block.spans.append(span)
        block.stop = max(block.stop, span.stop)
    return blocks


def tile_spans(spans: Iterable[Span], start: int, stop: int, jobs: int) -> list[Block]:
    """Return the blocks of `join_spans`, plus blocks without spans for all other bytes from `start` to `stop`."""
    length = _block_length(stop - start, jobs)
    tiles: list[Block] = []
    for block in (*join_spans(spans, jobs), Block(stop, stop, [])):
        tiles += [Block(first, min(first + length, block.start), []) for first in range(start, block.start, length)]
        if block.spans:
            tiles.append(block)
        start = block.stop
    return tiles


def _block_length(total: int, jobs: int) -> int:
    return min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, total // (jobs * _BLOCKS_PER_THREAD)))


class BlockReader:
    """A reader of blocks, which works in the calling thread and in threads of a shared pool."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._waiting: deque[Block] = deque()

    def run(self, blocks: Sequence[Block], jobs: int) -> None:
        """Read the blocks; call `Span.take` and `Block.finish` with the bytes that were read."""
        self._waiting.extend(blocks)
        helpers = [POOL.submit(self._work) for _ in range(min(jobs, len(blocks)) - 1)]
        try:
            self._work()
        finally:
            self._waiting.clear()  # after an error
            # A helper that has not begun is not needed: the pool may be full of requests that wait for their helpers.
            for helper in [helper for helper in helpers if not helper.cancel()]:
                helper.result()

    def _work(self) -> None:
        while True:
            try:
                block = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._read(block)
            except BaseException:
                self._waiting.clear()
                raise

    def _read(self, block: Block) -> None:
        length = block.stop - block.start
        buffer = _buffer(length) if block.into is None else block.into
        if self._source.read_into_at(buffer, block.start) != length:
            raise FormatError(
                f"expected {length:,} bytes at offset {block.start:,}; the file shrank while it was read",
                path=self._source.name,
                rule="zip/changed",
            )
        for span in block.spans:
            span.take(buffer[span.start - block.start : span.stop - block.start])
        if block.finish is not None:
            block.finish(buffer)


_kept = threading.local()


def _buffer(length: int) -> memoryview:
    """Return a buffer that this thread reuses for its next block."""
    buffer: bytearray | None = getattr(_kept, "buffer", None)
    if buffer is None or len(buffer) < length:
        buffer = bytearray(max(length, _SMALLEST_BLOCK))
        if length <= 2 * _LARGEST_BLOCK:
            _kept.buffer = buffer
    return memoryview(buffer)[:length]
