"""Division of an array into blocks of pixels, which are decoded and encoded together when the array gets new chunks.

One block is processed at a time. One group of blocks is written at a time: a shard, or a slab of chunks with
consecutive keys. Blocks and groups hold whole new chunks. Where possible, blocks also hold whole old chunks, so that no
old chunk is decoded twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

# Decoded size of a block, in bytes, if its group is large enough: smaller blocks mean overhead.
USUAL_BLOCK = 4 << 20
# Largest decoded size of a block in bytes, unless one new chunk is larger. If a block of whole old chunks would be
# larger, some old chunks are decoded again.
LARGEST_BLOCK = 64 << 20
# Cost of a chunk, expressed in bytes: the look-up, and the memory for decoding.
_COST_OF_CHUNK = 1 << 13
# Assumed size of an item of variable length, such as a string.
_GUESSED_ITEM = 64

Lengths = tuple[int, ...]
Box = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Rechunking:
    """Division of an array into blocks, which are transcoded one by one, and groups of blocks.

    The new chunks of a group are written when all blocks of the group are transcoded.
    """

    shape: Lengths
    # Present chunk lengths.
    old_chunks: Lengths
    # Lengths of groups and of blocks. A block begins at a multiple of its length, or where its group begins.
    groups: Lengths
    blocks: Lengths

    @property
    def group_grid(self) -> Lengths:
        """Number of groups of blocks along each dimension."""
        return tuple(-(-whole // part) for whole, part in zip(self.shape, self.groups, strict=True))

    def touched_groups(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sorted numbers of the block groups that overlap old chunks; `places` has one row per old chunk.

        Examples
        --------
        >>> Rechunking((100,), (30,), (25,), (25,)).touched_groups(np.array([[1]])).tolist()
        [1, 2]
        """
        grid = self.group_grid
        if not grid or not len(places):
            return np.zeros(min(1, len(places)), np.int64)
        lengths = np.array(self.groups)
        first = places * self.old_chunks // lengths
        last = (np.minimum((places + 1) * self.old_chunks, self.shape) - 1) // lengths
        found = []
        for step in itertools.product(*(range(int(most) + 1) for most in (last - first).max(axis=0))):
            reached = first + step
            reached = reached[(reached <= last).all(axis=1)]
            found.append(np.unique(np.ravel_multi_index(tuple(reached.T), grid)))
        return np.unique(np.concatenate(found)).astype(np.int64)

    def iter_blocks(self, group: Lengths) -> Iterator[Box]:
        """Yield the blocks of the group at these coordinates, in C order.

        Examples
        --------
        >>> list(Rechunking((100,), (30,), (50,), (40,)).iter_blocks((1,)))
        [(slice(50, 80, None),), (slice(80, 100, None),)]
        """
        ends = []
        for at, length, block, whole in zip(group, self.groups, self.blocks, self.shape, strict=True):
            start, stop = at * length, min((at + 1) * length, whole)
            inside = range((start // block + 1) * block, stop, block)
            ends.append([slice(*pair) for pair in itertools.pairwise([start, *inside, stop])])
        yield from itertools.product(*ends)


def plan_rechunking(old: ArrayLayout, new: ArrayLayout) -> Rechunking:
    """Return the division of an array into blocks and groups of blocks, to change its layout from `old` to `new`."""
    size = _GUESSED_ITEM if new.item_size is None else max(1, new.item_size)
    # Very small chunks cost more than their bytes.
    size = max(size, *(_COST_OF_CHUNK // max(1, math.prod(layout.chunks)) for layout in (old, new)))
    # The distance after which old and new chunks begin at the same pixel.
    common = tuple(
        min(math.lcm(*lengths), lengths[1] * max(1, count))
        for *lengths, count in zip(old.chunks, new.chunks, new.grid, strict=True)
    )
    groups = new.shards or _waiting_chunks(common, new, USUAL_BLOCK // (size * math.prod(new.chunks)))
    blocks = [min(lengths) for lengths in zip(common, groups, strict=True)]
    for dimension in reversed(range(len(blocks))):
        room = USUAL_BLOCK // (size * math.prod(blocks))
        blocks[dimension] = min(blocks[dimension] * max(1, room), groups[dimension])
    while blocks and size * math.prod(blocks) > LARGEST_BLOCK:
        counts = [whole // part for whole, part in zip(blocks, new.chunks, strict=True)]
        longest = max(range(len(counts)), key=counts.__getitem__)
        if counts[longest] == 1:
            break
        blocks[longest] = counts[longest] // 2 * new.chunks[longest]
    return Rechunking(new.shape, old.chunks, groups, tuple(blocks))


def _waiting_chunks(common: Lengths, new: ArrayLayout, room: int) -> Lengths:
    """Return the lengths, in pixels, of a group of chunks with consecutive keys.

    If possible, the group contains a box with the lengths `common`.

    The group is a slab: one chunk along the first dimensions, everything along the last ones.
    """
    lengths = list(new.chunks)
    for dimension in reversed(range(len(lengths))):
        chunk, count = new.chunks[dimension], max(1, new.grid[dimension])
        if any(both > own for both, own in zip(common[:dimension], new.chunks, strict=False)):
            taken = count
        else:
            needed = common[dimension] // chunk
            taken = min(count, max(1, room // needed) * needed)
            # Keys with dots are sorted as text (0.1, 0.10, 0.2): only one chunk, or all, have consecutive keys.
            if new.keys.separator == "." and 1 < taken < count:
                taken = count if needed > 1 else 1
        lengths[dimension] = taken * chunk
        room //= taken
        if taken < count:
            break
    return tuple(lengths)
