"""Find the encoded chunks of an array; each chunk is a stored value or lies in a (nested) shard."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.flow.chunks.stored_chunks import StoredChunks, distinct, places_of
from ozx.flow.entry import Part, Span, read_part
from ozx.zarr.layout import ArrayLayout, IndexFormat, Lengths, ShardIndex, read_index

_CACHED_BYTES = 32 << 20


#: Stored chunks: their positions among the requested chunks, ascending; their lengths in bytes; their bytes, one chunk
#: after the other.
FoundChunks = tuple[NDArray[np.int64], NDArray[np.int64], list[Part]]


class InnerChunks:
    """The chunks of an array, indexed by chunk number (the position in the chunk grid in C order).

    Inner chunks beyond the array's edge, which zarr-python may write, are excluded.
    """

    def __init__(self, stored: StoredChunks, layout: ArrayLayout) -> None:
        self._stored = stored
        self._layout = layout
        self.grid = layout.grid
        # All chunks of a shard are read through the same part, so that a change between two reads is noticed.
        self._shards: dict[int, Span] = {}
        self._indexes: OrderedDict[int, ShardIndex] = OrderedDict()
        self._cached_bytes = 0

    def blocks(self, per_block: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the ascending positions of blocks with stored chunks; a block has `per_block` chunks per dimension."""
        blocks = tuple(-(-length // block) for length, block in zip(self.grid, per_block, strict=True))
        found = [np.empty(0, np.int64)]
        for places in self.iter_places():
            inside = [places[:, d] // per_block[d] for d in range(len(blocks))]
            found.append(distinct(_ravel(inside, blocks, len(places))))
        return distinct(np.concatenate(found))

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return the stored chunks with these numbers."""
        return self._find_in_shards(numbers, is_joined=is_joined) if self._layout.levels else self._find_whole(numbers)

    def _find_whole(self, numbers: NDArray[np.int64]) -> FoundChunks:
        stored = self._stored.numbers
        places = np.searchsorted(stored, numbers)
        is_stored = np.zeros(len(numbers), bool)
        inside = places < len(stored)
        is_stored[inside] = stored[places[inside]] == numbers[inside]
        positions = np.flatnonzero(is_stored)
        wanted: list[int] = numbers[positions].tolist()
        parts = self._stored.parts(wanted)
        lengths = [part.length for part in parts]
        if 0 in lengths:
            # No codec encodes to zero bytes: a writer was interrupted, or a disk was full.
            raise FormatError(
                f"{self._stored.name(wanted[lengths.index(0)])}: expected an encoded chunk; the value is empty",
                rule="zarr/chunk-data",
                hint="Delete the value, so that the chunk reads as fill values, or write it again.",
            )
        return positions, np.array(lengths, np.int64), parts

    def _find_in_shards(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        layout = self._layout
        columns = np.unravel_index(numbers, layout.grid)
        per_shard = layout.chunks_per_stored
        outer = [column // per for column, per in zip(columns, per_shard, strict=True)]
        inner = tuple(column % per for column, per in zip(columns, per_shard, strict=True))
        shards = np.ravel_multi_index(outer, layout.stored_grid).astype(np.int64)
        offsets, lengths = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
        present = distinct(shards)
        for shard in present[np.isin(present, self._stored.numbers)].tolist():
            rows = np.flatnonzero(shards == shard)
            index = self._index(shard)
            place = tuple(column[rows] for column in inner)
            offsets[rows], lengths[rows] = index.offsets[place], index.lengths[place]
        positions = np.flatnonzero(lengths)
        shards, offsets, lengths = shards[positions], offsets[positions], lengths[positions]
        starts = np.arange(len(positions))
        if is_joined and len(positions):
            follows = (shards[1:] == shards[:-1]) & (offsets[1:] == offsets[:-1] + lengths[:-1])
            starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
        sizes = np.add.reduceat(lengths, starts) if len(starts) else lengths
        spans = zip(shards[starts].tolist(), offsets[starts].tolist(), sizes.tolist(), strict=True)
        parts: list[Part] = [self._shard(shard).span(offset, size) for shard, offset, size in spans]
        return positions, lengths, parts

    def iter_places(self) -> Iterator[NDArray[np.int64]]:
        """Yield the coordinates of stored chunks, as arrays with one row per chunk."""
        layout, numbers = self._layout, self._stored.numbers
        if not len(numbers):
            return
        outer = np.array(places_of(numbers, layout.stored_grid), np.int64).reshape(len(numbers), len(layout.grid))
        if not layout.levels:
            yield outer
            return
        for number, place in zip(numbers.tolist(), outer, strict=True):
            places = np.argwhere(self._index(number).lengths) + place * np.array(layout.chunks_per_stored)
            yield places[(places < np.array(layout.grid)).all(axis=1)]

    def _shard(self, number: int) -> Span:
        if number not in self._shards:
            (part,) = self._stored.parts([number])
            self._shards[number] = cast("Span", part)  # see StoredChunks
        return self._shards[number]

    def _index(self, number: int) -> ShardIndex:
        index = self._indexes.pop(number, None)
        if index is None:
            index = _read_index(self._shard(number), self._layout.levels, self._stored.name(number))
            self._cached_bytes += index.offsets.nbytes + index.lengths.nbytes
        self._indexes[number] = index
        while self._cached_bytes > _CACHED_BYTES and len(self._indexes) > 1:
            _, old = self._indexes.popitem(last=False)
            self._cached_bytes -= old.offsets.nbytes + old.lengths.nbytes
        return index


def _read_index(shard: Span, levels: tuple[tuple[Lengths, IndexFormat], ...], where: str) -> ShardIndex:
    """Read the index of the innermost chunks of a shard; the index has the shape of the grid of these chunks."""
    (grid, form), *deeper = levels

    def read(offset: int, length: int) -> bytes:
        return read_part(shard.span(offset, length))

    index = read_index(read, shard.length, grid, where, form)
    if not deeper:
        return index
    below = tuple(math.prod(column) for column in zip(*(inner for inner, _ in deeper), strict=True))
    shape = tuple(own * inner for own, inner in zip(grid, below, strict=True))
    whole = ShardIndex(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    for place in map(tuple, np.argwhere(index.lengths).tolist()):
        start, length = int(index.offsets[place]), int(index.lengths[place])
        inner_where = f"{where}, inner shard {place}"
        inside = _read_index(shard.span(start, length), tuple(deeper), inner_where)
        box = tuple(slice(at * per, (at + 1) * per) for at, per in zip(place, below, strict=True))
        whole.offsets[box] = np.where(inside.lengths > 0, inside.offsets + start, 0)
        whole.lengths[box] = inside.lengths
    return whole


def _ravel(columns: list[NDArray[np.int64]], shape: tuple[int, ...], count: int) -> NDArray[np.int64]:
    if not shape:
        return np.zeros(count, np.int64)
    return np.ravel_multi_index(columns, shape).astype(np.int64)
