"""Encode changed chunks and shards from new pixels and the stored pixels around them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.flow.decoding.chunk_codecs import MORTON, ChunkCodec, ShardCodec
from ozx.hierarchy.zarr.layout import build_index, parse_index
from ozx.store.pixels.selections import Box, iter_overlaps

Lengths = tuple[int, ...]
Selection = Any

_INTEGER_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Background:
    """The value of pixels that are not stored, and whether a chunk with only this value is stored."""

    fill_value: Any
    is_stored: bool

    def is_all_of(self, pixels: NDArray[Any]) -> bool:
        """Return whether all pixels of a chunk have this value.

        Values are compared by their bits, so that minus zero differs from zero.
        """
        fill = np.asarray(self.fill_value, pixels.dtype).tobytes()
        if pixels[(slice(0, 1),) * pixels.ndim].tobytes() != fill:
            return False
        item = len(fill)
        unit = f"u{item if item in _INTEGER_SIZES else 1}"
        items = np.ascontiguousarray(pixels).reshape(-1).view(unit).reshape(pixels.size, -1)
        return bool((items == np.frombuffer(fill, unit)).all())


@dataclass(frozen=True, slots=True)
class ChunkEdit:
    """New pixels for one chunk."""

    codec: ChunkCodec | ShardCodec  # the codec of the chunk
    stored: memoryview | None  # the stored chunk; None if no chunk is stored, or if all its pixels change
    inside: Selection | None  # the part of the chunk that changes; None for all of it
    pixels: NDArray[Any]  # its new pixels
    background: Background  # the value of missing pixels

    @property
    def size(self) -> int:
        """The length of the decoded chunk in bytes."""
        return self.codec.size

    def encode(self) -> memoryview | None:
        """Return the encoded chunk; None if the chunk need not be stored."""
        if isinstance(self.codec, ShardCodec):
            return self._encode_shard(self.codec)
        chunk = self._merged(self.codec)
        if not self.background.is_stored and self.background.is_all_of(chunk):
            return None
        return self.codec.encode(chunk)

    def _merged(self, codec: ChunkCodec) -> NDArray[Any]:
        if self.inside is None:
            return np.broadcast_to(self.pixels, codec.shape)
        chunk = np.empty(codec.shape, self.pixels.dtype)
        _decode_into(chunk, codec, self.stored, self.background)
        chunk[self.inside] = self.pixels
        return chunk

    def _encode_shard(self, codec: ShardCodec) -> memoryview | None:
        whole = tuple(slice(0, extent) for extent in codec.shape)
        pixels = np.broadcast_to(self.pixels, codec.shape) if self.inside is None else self.pixels
        shard = ShardEdit(codec, self.stored, self.inside or whole, pixels, self.background)
        parts = shard.parts((place, edit.encode()) for place, edit in shard.iter_edits())
        return memoryview(b"".join(parts)) if parts else None


class ShardEdit:
    """New pixels for one shard: its changed inner chunks, its unchanged inner chunks, and the new index."""

    def __init__(
        self,
        codec: ShardCodec,
        stored: memoryview | None,
        selection: tuple[slice, ...] | Box,
        pixels: NDArray[Any],
        background: Background,
        where: str = "a shard",
    ) -> None:
        self._codec = codec
        self._selection = selection
        self._pixels = pixels
        self._background = background
        self._places = _ordered_places(codec.grid, codec.write_order)
        self._stored = {} if stored is None else _inner_chunks(codec, stored, where)
        self._lengths = np.zeros(codec.grid, np.int64)
        self._offsets = np.zeros(codec.grid, np.int64)

    def iter_edits(self) -> Iterator[tuple[Lengths, ChunkEdit]]:
        """Yield the changed inner chunks with their coordinates, in the order in which the shard stores chunks."""
        inner = self._codec.inner
        if isinstance(self._selection, Box):
            edits = self._edits_in(self._selection)
        else:
            edits = {
                place: ChunkEdit(
                    inner,
                    None if inside is None else self._stored.get(place),
                    inside,
                    self._pixels[target],
                    self._background,
                )
                for place, inside, target in iter_overlaps(self._selection, self._codec.shape, inner.shape)
            }
        for place in self._places:
            if place in edits:
                yield place, edits.pop(place)

    def _edits_in(self, box: Box) -> dict[Lengths, ChunkEdit]:
        """Decode the changed inner chunks of a box and insert the new pixels; return the resulting whole chunks."""
        inner = self._codec.inner
        if isinstance(inner, ShardCodec):
            raise TypeError("expected slices as the selection of an array with nested shards")
        lengths = tuple(count * extent for count, extent in zip(box.shape, inner.shape, strict=True))
        array = np.empty(lengths, self._pixels.dtype)
        targets = [box.part(place, inner.shape) for place in box.chunks]
        for place, target in zip(box.chunks, targets, strict=True):
            _decode_into(array[target], inner, self._stored.get(place), self._background)
        array[box.selection] = self._pixels
        return {
            place: ChunkEdit(inner, None, None, array[target], self._background)
            for place, target in zip(box.chunks, targets, strict=True)
        }

    def iter_chunks(self, encoded: Iterable[tuple[Lengths, memoryview | None]]) -> Iterator[memoryview]:
        """Yield the inner chunks of the new shard in file order: newly encoded chunks and unchanged stored chunks.

        `encoded` holds the result of each edit with its place, in the order of `iter_edits`.
        """
        form, edits = self._codec.index, iter(encoded)
        end = form.size(self._lengths.size) if form.location == "start" else 0
        changed = next(edits, None)
        for place in self._places:
            if changed is not None and changed[0] == place:
                chunk, changed = changed[1], next(edits, None)
            else:
                chunk = self._stored.get(place)
            if chunk is not None:
                self._offsets[place], self._lengths[place] = end, len(chunk)
                end += len(chunk)
                yield chunk

    def index(self) -> bytes:
        """Return the index of the new shard; call it after `iter_chunks` has ended."""
        return build_index(self._offsets, self._lengths, self._codec.index)

    def parts(self, encoded: Iterable[tuple[Lengths, memoryview | None]]) -> list[bytes | memoryview]:
        """Return the chunks and the index of the new shard, in file order.

        Return an empty result if the shard has no chunks.
        """
        chunks: list[bytes | memoryview] = [*self.iter_chunks(encoded)]
        if chunks:
            chunks.insert(0 if self._codec.index.location == "start" else len(chunks), self.index())
        return chunks


@functools.lru_cache(64)
def _ordered_places(grid: Lengths, order: str) -> list[Lengths]:
    """Return the coordinates in a grid in the order in which a shard stores its chunks."""
    places = [tuple(place) for place in np.argwhere(np.ones(grid, bool)).tolist()]
    if order == "colexicographic":
        places.sort(key=lambda place: place[::-1])
    elif order == MORTON:
        places.sort(key=_morton_number)
    return places


def _morton_number(place: Lengths) -> int:
    """Return the Morton number of coordinates: their bits interleaved, with the first axis in the lowest bits."""
    bits = max(number.bit_length() for number in place)
    return sum(
        (number >> bit & 1) << (bit * len(place) + axis) for bit in range(bits) for axis, number in enumerate(place)
    )


def _decode_into(target: NDArray[Any], codec: ChunkCodec, stored: memoryview | None, background: Background) -> None:
    if stored is None:
        target[...] = background.fill_value
    else:
        target[...] = codec.decode_bounded(stored)


def _inner_chunks(codec: ShardCodec, stored: memoryview, where: str) -> dict[Lengths, memoryview]:
    count = prod(codec.grid)
    offset = max(0, codec.index.offset(count, len(stored)))
    data = bytes(stored[offset : offset + codec.index.size(count)])
    offsets, lengths = parse_index(data, codec.grid, len(stored), where, codec.index)
    places = np.argwhere(lengths).tolist()
    return {
        tuple(place): stored[int(offsets[tuple(place)]) : int(offsets[tuple(place)]) + int(lengths[tuple(place)])]
        for place in places
    }
