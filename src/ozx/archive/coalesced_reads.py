"""Reading of many short pieces of a file with few read calls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ozx.places.byte_source import ByteSource
from ozx.threads import map_ahead

# Reading a gap of this length costs about as much as a second read.
_GAP = 1 << 14
_READ = 1 << 20
_BATCH = 4 << 20
#: Simultaneous requests to a server.
REQUESTS = 8
#: Bytes appended to each batch, so that a number may be read at a position near its end.
MARGIN = bytes(64)


#: Some of the requested pieces: bytes that hold those of `rows`, and the begin and the end of each in them.
Pieces = tuple[bytes, slice, NDArray[np.int64], NDArray[np.int64]]


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
    found = map_ahead(read, runs, REQUESTS) if hasattr(source, "coalescing") else map(read, runs)
    for following, stop, begin, block in found:
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


def _joined(
    blocks: list[bytes], rows: slice, positions: list[NDArray[np.int64]], ends: list[NDArray[np.int64]]
) -> Pieces:
    return b"".join((*blocks, MARGIN)), rows, np.concatenate(positions), np.concatenate(ends)
