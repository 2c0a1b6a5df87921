"""Division of an array into blocks of pixels, which are decoded and encoded together when the array gets new chunks.

One block is processed at a time. One group of blocks is written at a time: a shard, or a slab of chunks with
consecutive keys. Blocks and groups hold whole new chunks. Where possible, blocks also hold whole old chunks, so that no
old chunk is decoded twice.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError
from ozx.ome.model import unknown_axis
from ozx.zarr.layout import ArrayLayout, Lengths

# Decoded size of a block, in bytes, if its group is large enough: smaller blocks mean overhead.
USUAL_BLOCK = 4 << 20
# Largest decoded size of a block in bytes, unless one new chunk is larger. If a block of whole old chunks would be
# larger, some old chunks are decoded again.
LARGEST_BLOCK = 64 << 20
# Cost of a chunk, expressed in bytes: the look-up, and the memory for decoding.
_COST_OF_CHUNK = 1 << 13
#: Assumed size of an item of variable length, such as a string.
GUESSED_ITEM = 64

Box = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class BlockGrid:
    """Division of an array into blocks, which are transcoded one by one, and groups of blocks.

    The new chunks of a group are written when all blocks of the group are transcoded.
    """

    shape: Lengths
    # Lengths of groups and of blocks. A block begins at a multiple of its length, or where its group begins.
    groups: Lengths
    blocks: Lengths

    @property
    def group_grid(self) -> Lengths:
        """Number of groups of blocks along each dimension."""
        return tuple(-(-whole // part) for whole, part in zip(self.shape, self.groups, strict=True))

    def touched_groups(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sorted numbers of the block groups that overlap old chunks.

        `starts` and `stops`: first pixels and ends of the old chunks, one row per chunk.
        """
        grid = self.group_grid
        if not grid or not len(starts):
            return np.zeros(min(1, len(starts)), np.int64)
        lengths = np.array(self.groups)
        first = starts // lengths
        last = (np.minimum(stops, self.shape) - 1) // lengths
        found = []
        for step in itertools.product(*(range(int(most) + 1) for most in (last - first).max(axis=0))):
            reached = first + step
            reached = reached[(reached <= last).all(axis=1)]
            found.append(np.unique(np.ravel_multi_index(tuple(reached.T), grid)))
        return np.unique(np.concatenate(found)).astype(np.int64)

    def iter_blocks(self, group: Lengths) -> Iterator[Box]:
        """Yield the blocks of the group at these coordinates, in C order."""
        ends = []
        for at, length, block, whole in zip(group, self.groups, self.blocks, self.shape, strict=True):
            start, stop = at * length, min((at + 1) * length, whole)
            inside = range((start // block + 1) * block, stop, block)
            ends.append([slice(*pair) for pair in itertools.pairwise([start, *inside, stop])])
        yield from itertools.product(*ends)


def plan_rechunking(old: ArrayLayout, new: ArrayLayout) -> BlockGrid:
    """Return the division of an array into blocks and groups of blocks, to change its layout from `old` to `new`."""
    size = GUESSED_ITEM if new.item_size is None else max(1, new.item_size)
    # Very small chunks cost more than their bytes.
    size = max(
        size, *(_COST_OF_CHUNK // max(1, math.prod(lengths)) for lengths in (_usual_chunk(old, new), new.chunks))
    )
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
    return BlockGrid(new.shape, groups, tuple(blocks))


def _usual_chunk(old: ArrayLayout, new: ArrayLayout) -> Lengths:
    """Return the lengths of an old chunk where a new chunk overlaps the most of them."""
    if old.edges is None:
        return old.chunks
    starts = [np.array(axis[:-1], np.int64) for axis in old.edges]
    most = (
        int((np.searchsorted(axis, axis + length) - np.arange(len(axis))).max(initial=1))
        for axis, length in zip(starts, new.chunks, strict=True)
    )
    return tuple(max(1, length // count) for length, count in zip(new.chunks, most, strict=True))


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


# Parsing of requested lengths in pixels by axis, such as ``y=4096,x=4096``.


def parse_axis_lengths(value: str | Mapping[str, int]) -> dict[str, int] | None:
    """Return lengths by axis from text or a mapping; None if `value` is malformed or contains a length below 1."""
    if not isinstance(value, str | Mapping):
        return None
    if not isinstance(value, str):
        lengths = {str(axis): length for axis, length in value.items()}
        return lengths if lengths and all(type(length) is int and length > 0 for length in lengths.values()) else None
    lengths = {}
    for item in value.split(","):
        match = re.fullmatch(r"\s*([^=\s]+)\s*=\s*([0-9]{1,18})\s*", item)
        if match is None or match[1] in lengths or int(match[2]) == 0:
            return None
        lengths[match[1]] = int(match[2])
    return lengths


def requested_axes(lengths: Mapping[str, int], names: Sequence[str | None]) -> list[str | None]:
    """Return the key in `lengths` of each dimension; None for a dimension without a requested length.

    The key is the name of the dimension, or its number if it has no name.
    """
    keys = (str(number) if name is None else name for number, name in enumerate(names))
    return [key if key in lengths else None for key in keys]


def check_axes(lengths: Mapping[str, int], arrays: Iterable[Sequence[str | None]]) -> None:
    """Check that each axis in `lengths` exists in at least one array; if there are no arrays, accept every axis."""
    all_names = list(arrays)
    found = {axis for names in all_names for axis in requested_axes(lengths, names)}
    missing = [axis for axis in lengths if axis not in found]
    if missing and all_names:
        names = [name for names in all_names for name in names if name is not None]
        error = unknown_axis(missing[0], names)
        raise error if names else UsageError(str(error), hint="Axes without names are numbered from 0.")
