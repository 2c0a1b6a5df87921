"""The order and size of the blocks from which a pyramid is computed.

A *stage* takes blocks of one level, and makes their chunks at this level and at the lower levels whose chunks lie in
one block. It passes pixels of the next lower level to the next stage, which gathers these pixels into its own blocks.
With blocks of 2048 × 2048 pixels and chunks of 512 × 512, the first stage makes three levels, and passes on one pixel
for every 64::

    level 0   2048 × 2048   16 chunks ┐
    level 1   1024 × 1024    4 chunks ├ first stage, from the source
    level 2    512 × 512     1 chunk  ┘
    level 3    256 × 256    ────────→   second stage, from 8 × 8 blocks of the first

Blocks are sorted by the largest unit that each belongs to, then by the next smaller one, and so on: shards of lower
levels, blocks of later stages, shards of the full resolution. These are nested, so that about one of each is unfinished
at a time: memory grows with the number of levels, not with the image. (A walk along rows would leave a whole row of
shards unfinished at every level.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.images.writing.array_layout import grown

# Bytes to read, halve and encode at once. Larger blocks exceed the processor's cache, smaller ones make fewer levels.
_BLOCK_BYTES = 8 << 20
# A block is a common multiple of decoded pieces and chunks, if it is at most this many times the longer of the two.
_MOST_PIECES = 4

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LevelGeometry:
    """Shape and chunks of one level of a pyramid."""

    shape: Lengths  # the lengths of the level, and of its chunks
    chunks: Lengths
    stored: Lengths  # the lengths of the unit with a key: a shard, or a chunk
    halved: tuple[int, ...]  # numbers of the axes halved from the level before


@dataclass(frozen=True, slots=True)
class Stage:
    """A step that reads blocks of shape `block` from level `first`, and computes the levels before `stop`."""

    first: int
    stop: int
    block: Lengths


def halvings(levels: Sequence[LevelGeometry], start: int, stop: int) -> Lengths:
    """Return, for each axis, the number of pixels of level `start` that make one pixel of level `stop`.

    Examples
    --------
    >>> levels = [LevelGeometry((9, 9), (9, 9), (9, 9), ()), LevelGeometry((9, 5), (9, 5), (9, 5), (1,))]
    >>> halvings(levels, 0, 1)
    (1, 2)
    """
    factors = [1] * len(levels[start].shape)
    for level in levels[start + 1 : stop + 1]:
        for axis in level.halved:
            factors[axis] *= 2
    return tuple(factors)


def plan_stages(
    levels: Sequence[LevelGeometry],
    read_alignment: Lengths,
    channel: int | None,
    item_size: int,
    block_bytes: int = _BLOCK_BYTES,
) -> list[Stage]:
    """Return the stages that compute all levels of a pyramid.

    Examples
    --------
    >>> levels, length = [LevelGeometry((5000, 5000), (512, 512), (4096, 4096), ())], 5000
    >>> for length in (2500, 1250, 625, 313, 157):
    ...     chunk = min(length, 512)
    ...     levels.append(LevelGeometry((length, length), (chunk, chunk), (chunk, chunk), (0, 1)))
    >>> plan_stages(levels, (1, 1), None, 2)
    [Stage(first=0, stop=3, block=(2048, 2048)), Stage(first=3, stop=6, block=(1024, 1024))]
    """
    stages: list[Stage] = []
    first = 0
    while first < len(levels):
        alignment = read_alignment if first == 0 else (1,) * len(read_alignment)
        block = _block(levels, first, alignment, channel, block_bytes // item_size)
        stop = _stop(levels, first, block)
        stages.append(Stage(first, stop, block))
        first = stop
    return stages


def iter_corners(levels: Sequence[LevelGeometry], stages: Sequence[Stage]) -> Iterator[Lengths]:
    """Yield the start position of each block of the first stage, in processing order."""
    block, shape = stages[0].block, levels[0].shape
    grid = tuple(-(-whole // part) for whole, part in zip(shape, block, strict=True))
    numbers = np.arange(math.prod(grid), dtype=np.int64)
    places = np.unravel_index(numbers, grid)
    corners = np.stack([place * part for place, part in zip(places, block, strict=True)], axis=1)
    order = np.lexsort([numbers, *_columns(corners, _sorting_units(levels, stages))]) if len(numbers) > 1 else numbers
    for number in order.tolist():
        yield tuple(corners[number].tolist())


def _sorting_units(levels: Sequence[LevelGeometry], stages: Sequence[Stage]) -> list[Lengths]:
    """Return the shapes of the units whose blocks are computed one after another, in full-resolution pixels.

    The units are the shards of each level (its chunks if it has no shards), and the blocks of all later stages. The
    smallest unit is the first.
    """
    found = {
        tuple(part * factor for part, factor in zip(level.stored, halvings(levels, 0, number), strict=True))
        for number, level in enumerate(levels)
    }
    for stage in stages[1:]:
        factors = halvings(levels, 0, stage.first)
        found.add(tuple(part * factor for part, factor in zip(stage.block, factors, strict=True)))
    shape = levels[0].shape
    clipped = {tuple(min(part, whole) for part, whole in zip(unit, shape, strict=True)) for unit in found}
    return sorted(clipped, key=lambda unit: (math.prod(unit), unit))


def _columns(corners: NDArray[np.int64], units: Sequence[Lengths]) -> list[NDArray[Any]]:
    """Return the keys by which `numpy.lexsort` sorts the blocks at `corners`; the least important key is first."""
    return [corners[:, axis] // unit[axis] for unit in units for axis in reversed(range(len(unit)))]


def _block(
    levels: Sequence[LevelGeometry], first: int, read_alignment: Lengths, channel: int | None, most_pixels: int
) -> Lengths:
    level = levels[first]
    least = [_meeting(*lengths) for lengths in zip(level.chunks, read_alignment, level.shape, strict=True)]
    halved = levels[first + 1].halved if first + 1 < len(levels) else ()
    for axis in halved:
        # With an even length, each block begins at a whole pixel of the next level.
        if least[axis] % 2 and least[axis] < level.shape[axis]:
            least[axis] *= 2
    axes = range(len(least))
    plane = halved or tuple(axes[-2:])
    others = [axis for axis in reversed(axes) if axis not in plane and axis != channel]
    room = most_pixels // math.prod(least)
    return grown(least, level.shape, [plane[::-1], *((axis,) for axis in others)], max(1, room))


def _meeting(chunk: int, read_alignment: int, length: int) -> int:
    """Return a block length: a multiple of `chunk`, and also of `read_alignment` unless the result would be too long.

    Examples
    --------
    >>> _meeting(512, 256, 9000), _meeting(512, 768, 9000), _meeting(512, 240, 9000), _meeting(512, 9000, 9000)
    (512, 1536, 512, 9216)
    """
    whole = -(-length // chunk) * chunk
    both = math.lcm(chunk, read_alignment)
    if both <= _MOST_PIECES * max(chunk, read_alignment):
        return min(both, whole)
    return min(-(-read_alignment // chunk) * chunk, whole)


def _stop(levels: Sequence[LevelGeometry], first: int, block: Lengths) -> int:
    """Return the number of the first level that a stage leaves to the next stage.

    A stage computes a lower level only if each chunk of this level lies in one block of the stage.
    """
    shape = levels[first].shape
    # Axes that a block spans are complete.
    parts = [axis for axis in range(len(block)) if block[axis] < shape[axis]]
    stop = first + 1
    while stop < len(levels):
        factors = halvings(levels, first, stop)
        if any(block[axis] % (factors[axis] * levels[stop].chunks[axis]) for axis in parts):
            break
        stop += 1
    while stop < len(levels) and stop > first + 1:
        factors = halvings(levels, first, stop)
        if not any(block[axis] % factors[axis] for axis in parts):
            break
        stop -= 1
    return stop
