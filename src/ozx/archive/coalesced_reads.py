"""Reading of many short pieces of a file with few read calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource

_T = TypeVar("_T")
_R = TypeVar("_R")

# Reading a gap of this length costs about as much as a second read.
_GAP = 1 << 14
_READ = 1 << 20
_BATCH = 4 << 20
# Simultaneous requests to a server.
_REQUESTS = 8
#: Bytes appended to each batch, so that a number may be read at a position near its end.
MARGIN = bytes(64)


class Pieces(NamedTuple):
    """Some of the requested pieces; piece i lies in `data` from ``positions[i]`` to ``ends[i]``."""

    data: bytes
    rows: slice
    positions: NDArray[np.int64]
    ends: NDArray[np.int64]


def read_pieces(source: ByteSource, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Iterator[Pieces]:
    """Yield the pieces of a file, given their offsets `starts` (sorted) and `stops`; read megabytes at a time."""
    furthest = np.maximum.accumulate(stops) if len(stops) else stops
    gap, longest = getattr(source, "coalescing", (_GAP, _READ))
    blocks: list[bytes] = []
    positions: list[NDArray[np.int64]] = []
    ends: list[NDArray[np.int64]] = []
    first = used = 0

    def read(run: tuple[int, int]) -> tuple[int, int, int, bytes]:
        begin = int(starts[run[0]])
        return *run, begin, source.read_at(begin, int(furthest[run[1] - 1]) - begin)

    runs = _runs(starts, furthest, gap, longest)
    for following, stop, begin, block in in_order(read, runs) if hasattr(source, "coalescing") else map(read, runs):
        blocks.append(block)
        positions.append(starts[following:stop] - begin + used)
        ends.append(np.minimum(stops[following:stop] - begin, len(block)) + used)
        used += len(block)
        if used >= _BATCH:
            yield _joined(blocks, slice(first, stop), positions, ends)
            blocks, positions, ends, first, used = [], [], [], stop, 0
    if blocks:
        yield _joined(blocks, slice(first, len(starts)), positions, ends)


def _runs(starts: NDArray[np.int64], furthest: NDArray[np.int64], gap: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces of each read: a whole run of close pieces, or as much of it as the longest read allows."""
    following = 0
    for run_end in np.append(np.flatnonzero(starts[1:] - furthest[:-1] > gap) + 1, len(starts)).tolist():
        while following < run_end:
            stop = int(np.searchsorted(starts[following:run_end], starts[following] + longest)) + following
            yield following, stop
            following = stop


def in_order(read: Callable[[_T], _R], items: Iterable[_T], most: int = _REQUESTS) -> Iterator[_R]:
    """Yield the result of `read` for each item; up to `most` requests run at the same time, ahead of the caller."""
    threads = ThreadPoolExecutor(most, "ozx-request")
    waiting: deque[Future[_R]] = deque()
    try:
        for item in items:
            if len(waiting) == most:
                yield waiting.popleft().result()
            waiting.append(threads.submit(read, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(cancel_futures=True)


def _joined(
    blocks: list[bytes], rows: slice, positions: list[NDArray[np.int64]], ends: list[NDArray[np.int64]]
) -> Pieces:
    return Pieces(b"".join((*blocks, MARGIN)), rows, np.concatenate(positions), np.concatenate(ends))
