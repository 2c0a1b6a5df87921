"""Reading of many short pieces of a file with few read calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource

__all__ = ["MARGIN", "Pieces", "read_pieces"]

# Reading a gap of this length costs about as much as a second read.
_GAP = 1 << 14
_READ = 1 << 20
_BATCH = 4 << 20
#: Bytes appended to each batch, so that a number may be read at a position near its end.
MARGIN = bytes(64)


class Pieces(NamedTuple):
    """Some of the requested pieces; piece i lies in `data` from ``positions[i]`` to ``ends[i]``."""

    data: bytes
    rows: slice
    positions: NDArray[np.int64]
    ends: NDArray[np.int64]


def read_pieces(source: ByteSource, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Iterator[Pieces]:
    """Yield the pieces of a file, given their offsets `starts` (sorted) and `stops`; read several megabytes at a time.

    Examples
    --------
    >>> from ozx.archive.byte_source import MemorySource
    >>> pieces = next(read_pieces(MemorySource(b"abcdefgh"), np.array([1, 5]), np.array([3, 9])))
    >>> [pieces.data[begin:end] for begin, end in zip(pieces.positions, pieces.ends)]
    [b'bc', b'fgh']
    """
    furthest = np.maximum.accumulate(stops) if len(stops) else stops
    # One read fetches a whole run, or as much of it as the length of a block allows.
    run_ends = np.append(np.flatnonzero(starts[1:] - furthest[:-1] > _GAP) + 1, len(starts)).tolist()
    blocks: list[bytes] = []
    positions: list[NDArray[np.int64]] = []
    ends: list[NDArray[np.int64]] = []
    first = following = used = 0
    for run_end in run_ends:
        while following < run_end:
            stop = int(np.searchsorted(starts[following:run_end], starts[following] + _READ)) + following
            begin = int(starts[following])
            block = source.read_at(begin, int(furthest[stop - 1]) - begin)
            blocks.append(block)
            positions.append(starts[following:stop] - begin + used)
            ends.append(np.minimum(stops[following:stop] - begin, len(block)) + used)
            used, following = used + len(block), stop
            if used >= _BATCH:
                yield _joined(blocks, slice(first, stop), positions, ends)
                blocks, positions, ends, first, used = [], [], [], stop, 0
    if blocks:
        yield _joined(blocks, slice(first, len(starts)), positions, ends)


def _joined(
    blocks: list[bytes], rows: slice, positions: list[NDArray[np.int64]], ends: list[NDArray[np.int64]]
) -> Pieces:
    return Pieces(b"".join((*blocks, MARGIN)), rows, np.concatenate(positions), np.concatenate(ends))
