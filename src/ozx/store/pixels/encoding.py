"""Encode changed chunks and shards from new pixels and the stored pixels around them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from operator import add, mul, sub
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.chunk_codecs import MORTON, ChunkCodec, ShardCodec, filled_chunks, is_filled, take_buffer
from ozx.errors import OzxError
from ozx.store.pixels.selections import BoundingBox, Lengths
from ozx.zarr.layout import build_index, index_of

Selection = Any

# Copying a chunk up to this length takes less time than to handle it alone, which waits for other threads.
_SMALL = 1 << 16


#: The value of pixels that are not stored, and whether a chunk with only this value is stored.
Background = tuple[Any, bool]

#: Encoded chunks: the length of each in bytes, 0 if it need not be stored, and the bytes of all, in pieces.
Encoded = tuple[list[int], list[bytes | memoryview]]


def encode_chunk(
    codec: ChunkCodec | ShardCodec,
    stored: memoryview | None,
    inside: Selection | None,
    pixels: NDArray[Any],
    background: Background,
) -> memoryview | None:
    """Return a chunk with new pixels in its part `inside`, or in all of it if that is None; None if it is not stored.

    `stored` is the old chunk; None if no chunk is stored, or if all its pixels change.
    """
    fill_value, is_stored = background
    new = np.broadcast_to(pixels, codec.shape) if inside is None else pixels
    if isinstance(codec, ShardCodec):
        shard = ChangedShard(codec, stored, inside or tuple(map(slice, codec.shape)), new, background)
        parts = shard.parts([shard.encode(0, len(shard))])
        return memoryview(b"".join(parts)) if parts else None
    if inside is not None:
        new = np.empty(codec.shape, pixels.dtype)
        _decode_into(new, codec, stored, fill_value)
        new[inside] = pixels
    if not is_stored and is_filled(new, np.asarray(fill_value, new.dtype)):
        return None
    return codec.encode(new, take_buffer)


class ChangedShard:
    """New pixels for one shard: its changed inner chunks, its unchanged inner chunks, and the new index."""

    def __init__(
        self,
        codec: ShardCodec,
        stored: memoryview | None,
        selection: tuple[slice, ...] | BoundingBox,
        pixels: NDArray[Any],
        background: Background,
        where: str = "a shard",
    ) -> None:
        if not codec.shape:  # numpy indexes an array without axes in another way
            codec, selection, pixels = _with_axis(codec), (slice(0, 1),), pixels.reshape(1)
        self._codec = codec
        self._background = background
        self._stored = {} if stored is None else _inner_chunks(codec, stored, where)
        # The pixels, where they begin in the shard, and the changed chunks, of which those from `_whole[0]` on and
        # before `_whole[1]` change wholly; all in the order of the axes.
        if isinstance(selection, BoundingBox):
            self._pixels = self._merged(selection, pixels)
            self._start = _product(selection.first, codec.inner.shape)
            self._changed = np.array(selection.chunks)
            self._whole = np.array([selection.first, _sum(selection.first, selection.shape)])
        else:
            self._pixels = pixels
            bounds = [part.indices(length) for part, length in zip(selection, codec.shape, strict=True)]
            self._start, stop = tuple(part[0] for part in bounds), tuple(part[1] for part in bounds)
            extents = np.array(codec.inner.shape)
            first, last = np.array(self._start) // extents, -(-np.array(stop) // extents)
            self._changed = np.argwhere(np.ones(tuple(last - first), bool)) + first
            self._whole = np.stack([-(-np.array(self._start) // extents), np.array(stop) // extents])
        order = np.argsort(_ranks(codec.grid, codec.write_order)[tuple(self._changed.T)])
        self._changed = self._changed[order]
        self._lengths: list[int] = []
        self._order = self._changed

    def __len__(self) -> int:
        return len(self._changed)

    def encode(self, first: int, last: int) -> Encoded:
        """Return the changed inner chunks from number `first` on and before number `last`, encoded, in file order."""
        changed = self._changed[first:last]
        is_whole = ((changed >= self._whole[0]) & (changed < self._whole[1])).all(1)
        if is_whole.all():
            encoded = self._encode_whole(changed)
        else:
            found = iter(self._encode_whole(changed[is_whole]))
            encoded = [
                next(found) if flag else self._encode_part(tuple(place))
                for place, flag in zip(changed.tolist(), is_whole.tolist(), strict=True)
            ]
        return listed(encoded) if self._stored else _joined(encoded)

    def _encode_whole(self, places: NDArray[Any]) -> list[memoryview | None]:
        """Return chunks that change wholly, encoded."""
        inner = self._codec.inner
        if isinstance(inner, ShardCodec) or not len(places):
            return [self._encode_part(tuple(place)) for place in places.tolist()]
        # The whole chunks as an array of chunks.
        counts = (self._whole[1] - self._whole[0]).tolist()
        begin = _difference(_product(self._whole[0].tolist(), inner.shape), self._start)
        part = self._pixels[tuple(map(slice, begin, _sum(begin, _product(counts, inner.shape))))]
        grid = inner.grid_of(part)
        data = take_buffer(len(places) * inner.size)
        stored = data.view(inner.dtype).reshape(-1, *inner.stored_shape)
        numbers = _gather(grid, places - self._whole[0], stored)
        view, size = data.data, inner.size
        fill_value, is_stored = self._background
        is_missing = [False] * len(places) if is_stored else filled_chunks(stored, fill_value)
        return [
            None if is_missing[number] else inner.encode_stored(view[number * size : (number + 1) * size])
            for number in numbers
        ]

    def _encode_part(self, place: Lengths) -> memoryview | None:
        """Return a chunk, encoded, whose other pixels stay."""
        inner, begin = self._codec.inner, _product(place, self._codec.inner.shape)
        low = [max(0, start - first) for start, first in zip(self._start, begin, strict=True)]
        high = [
            min(extent, start + length - first)
            for extent, start, length, first in zip(inner.shape, self._start, self._pixels.shape, begin, strict=True)
        ]
        moved = _difference(begin, self._start)
        pixels = self._pixels[tuple(map(slice, _sum(low, moved), _sum(high, moved)))]
        inside = None if pixels.shape == inner.shape else tuple(map(slice, low, high))
        stored = None if inside is None else self._stored.get(place)
        try:
            return encode_chunk(inner, stored, inside, pixels, self._background)
        except OzxError:
            raise
        except ValueError as error:
            raise ValueError(f"inner chunk {list(place)}: {error}") from error

    def _merged(self, box: BoundingBox, pixels: NDArray[Any]) -> NDArray[Any]:
        """Return the pixels of a box: decoded, with the new ones."""
        inner = self._codec.inner
        if isinstance(inner, ShardCodec):
            raise TypeError("expected slices as the selection of an array with nested shards")
        array = np.empty(_product(box.shape, inner.shape), pixels.dtype)
        fill_value, _ = self._background
        for place in box.chunks:
            try:
                _decode_into(array[box.part(place, inner.shape)], inner, self._stored.get(place), fill_value)
            except OzxError:
                raise
            except ValueError as error:
                raise ValueError(f"inner chunk {list(place)}: {error}") from error
        array[box.selection] = pixels
        return array

    def iter_pieces(self, encoded: Iterable[Encoded]) -> Iterator[bytes | memoryview]:
        """Yield the new and the unchanged inner chunks of the new shard in file order, then an index at the end.

        `encoded` has all results of `encode`. A shard without chunks has no index.
        """
        if self._stored:
            encoded = [self._with_stored(encoded)]
        for lengths, pieces in encoded:
            self._lengths += lengths
            yield from pieces
        if any(self._lengths) and self._codec.index.location == "end":
            yield self._index()

    def _with_stored(self, encoded: Iterable[Encoded]) -> Encoded:
        """Return the changed chunks and the unchanged ones."""
        chunks: list[bytes | memoryview | None] = []
        for lengths, pieces in encoded:
            found = iter(pieces)
            chunks += [next(found) if length else None for length in lengths]
        places = map(tuple, self._changed.tolist())
        known = {**self._stored, **dict(zip(places, chunks, strict=True))}
        order = np.array([*known])
        self._order = order[np.argsort(_ranks(self._codec.grid, self._codec.write_order)[tuple(order.T)])]
        return listed([known[tuple(place)] for place in self._order.tolist()])

    def _index(self) -> bytes:
        form, places = self._codec.index, tuple(self._order.T)
        lengths, offsets = np.zeros(self._codec.grid, np.int64), np.zeros(self._codec.grid, np.int64)
        begin = form.size(lengths.size) if form.location == "start" else 0
        lengths[places] = self._lengths
        offsets[places] = begin + np.cumsum(self._lengths) - self._lengths
        return build_index(offsets, lengths, form)

    def parts(self, encoded: Iterable[Encoded]) -> list[bytes | memoryview]:
        """Return the chunks and the index of the new shard, in file order; nothing if it has no chunks."""
        pieces = [*self.iter_pieces(encoded)]
        if pieces and self._codec.index.location == "start":
            pieces.insert(0, self._index())
        return pieces


def listed(chunks: Sequence[bytes | memoryview | None]) -> Encoded:
    """Return chunks with one piece for each."""
    lengths = [0 if chunk is None else len(chunk) for chunk in chunks]
    return lengths, [chunk for chunk in chunks if chunk is not None]


def _with_axis(codec: Any) -> Any:
    """Return the codec of an array without axes as that of an array with one axis, of length 1."""
    if isinstance(codec, ShardCodec):
        return replace(codec, shape=(1,), grid=(1,), inner=_with_axis(codec.inner))
    return replace(codec, shape=(1,), order=(0,))


def _joined(chunks: list[memoryview | None]) -> Encoded:
    """Return chunks in one piece if they are small."""
    lengths, pieces = listed(chunks)
    return lengths, [b"".join(pieces)] if len(pieces) > 1 and sum(lengths) < _SMALL * len(pieces) else pieces


def _product(first: Iterable[int], second: Iterable[int]) -> Lengths:
    return tuple(map(mul, first, second))


def _sum(first: Iterable[int], second: Iterable[int]) -> Lengths:
    return tuple(map(add, first, second))


def _difference(first: Iterable[int], second: Iterable[int]) -> Lengths:
    return tuple(map(sub, first, second))


def _gather(grid: NDArray[Any], places: NDArray[Any], target: NDArray[Any]) -> Sequence[int]:
    """Copy chunks from an array of chunks to `target`; return the number in `target` of each of them."""
    low = places.min(0)
    shape = tuple((places.max(0) - low + 1).tolist())
    if prod(shape) != len(target):  # not a box
        for number, place in enumerate(places.tolist()):
            target[number] = grid[tuple(place)]
        return range(len(target))
    box = grid[tuple(map(slice, low.tolist(), _sum(low.tolist(), shape)))]
    target.reshape(*shape, *target.shape[1:])[...] = box
    numbers: list[int] = np.ravel_multi_index(tuple((places - low).T), shape).tolist()
    return numbers


@functools.lru_cache(64)
def _ranks(grid: Lengths, order: str) -> NDArray[np.int64]:
    """Return the number of each chunk of a grid in the order in which a shard stores its chunks."""
    places = [tuple(place) for place in np.argwhere(np.ones(grid, bool)).tolist()]
    if order == "colexicographic":
        places.sort(key=lambda place: place[::-1])
    elif order == MORTON:
        places.sort(key=_morton_number)
    ranks = np.empty(grid, np.int64)
    ranks[tuple(np.array(places).T)] = np.arange(len(places))
    return ranks


def _morton_number(place: Lengths) -> int:
    """Return the Morton number of coordinates: their bits interleaved, with the first axis in the lowest bits."""
    bits = max((number.bit_length() for number in place), default=0)
    return sum(
        (number >> bit & 1) << (bit * len(place) + axis) for bit in range(bits) for axis, number in enumerate(place)
    )


def _decode_into(target: NDArray[Any], codec: ChunkCodec, stored: memoryview | None, fill_value: Any) -> None:
    if stored is None:
        target[...] = fill_value
    else:
        target[...] = codec.decode_bounded(stored)


def _inner_chunks(codec: ShardCodec, stored: memoryview, where: str) -> dict[Lengths, memoryview]:
    offsets, lengths = index_of(stored, codec.grid, where, codec.index)
    is_stored = lengths > 0
    places = zip(np.argwhere(is_stored).tolist(), offsets[is_stored].tolist(), lengths[is_stored].tolist(), strict=True)
    return {tuple(place): stored[offset : offset + length] for place, offset, length in places}
