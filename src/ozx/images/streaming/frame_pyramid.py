"""The pyramid of an image whose frames arrive one by one, in any order and from any thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.images.writing.downsampling import Method
from ozx.images.writing.pyramid import (
    EncodedChunk,
    LevelGeometry,
    LevelWork,
    halvings,
    plan_stages,
    run_stage,
    stage_work,
)

Lengths = tuple[int, ...]


class FramePyramid:
    """The levels of an image; a chunk is encoded as soon as all its frames are present.

    A block of the first stage is one frame, or as many frames as chunks and halving need. Until all frames of a block
    are present, its pixels are kept decoded.
    """

    def __init__(
        self, levels: Sequence[LevelWork], method: Method, dtype: np.dtype[Any], channel: int | None = None
    ) -> None:
        self._levels = list(levels)
        self._dtype = dtype
        geometry = self._geometry
        plane = geometry[0].shape[-2:]
        alignment = (1,) * (len(geometry[0].shape) - 2) + plane
        # Blocks of 0 bytes: no larger than needed.
        self._stages = plan_stages(geometry, alignment, channel, dtype.itemsize, 0)
        self._works = [stage_work(stage, levels, method) for stage in self._stages]
        self._gathered: list[dict[Lengths, _Block]] = [{} for _ in self._stages]
        self._lock = threading.Lock()

    @property
    def _geometry(self) -> list[LevelGeometry]:
        return [work.level for work in self._levels]

    @property
    def waiting(self) -> int:
        """Size of all incomplete blocks in bytes."""
        with self._lock:
            return sum(block.pixels.nbytes for blocks in self._gathered for block in blocks.values())

    def add(self, corner: Lengths, pixels: NDArray[Any], number: int = 0) -> Iterator[EncodedChunk]:
        """Add pixels that start at `corner`, and yield the chunks that are now complete."""
        block, shape = self._stages[number].block, self._levels[self._stages[number].first].level.shape
        ends = [start + length for start, length in zip(corner, pixels.shape, strict=True)]
        ranges = [range(start // part, -(-end // part)) for start, end, part in zip(corner, ends, block, strict=True)]
        for place in product(*ranges):
            start = tuple(at * part for at, part in zip(place, block, strict=True))
            lengths = tuple(min(part, whole - at) for part, whole, at in zip(block, shape, start, strict=True))
            whole = pixels if start == corner and lengths == pixels.shape else None
            if whole is None:
                whole = self._put(number, start, lengths, corner, pixels)
            if whole is not None:
                yield from self._run(number, start, whole)

    def finish(self, axis: int, length: int) -> Iterator[EncodedChunk]:
        """Yield the chunks of the incomplete blocks.

        Missing frames are zero, and the image has the length `length` along `axis`.
        """
        self._cut(axis, length)
        for number, stage in enumerate(self._stages):
            shape = self._levels[stage.first].level.shape
            while self._gathered[number]:
                start, block = self._gathered[number].popitem()
                lengths = [max(0, whole - at) for whole, at in zip(shape, start, strict=True)]
                pixels = block.pixels[tuple(slice(0, part) for part in lengths)]
                if pixels.size:
                    yield from self._run(number, start, pixels)

    def copy(self) -> FramePyramid:
        """Return a copy that has its own incomplete blocks, so that its `finish` does not affect the original."""
        other = object.__new__(FramePyramid)
        other.__dict__.update(self.__dict__)
        other._levels = list(self._levels)
        other._lock = threading.Lock()
        with self._lock:
            other._gathered = [{start: block.copy() for start, block in blocks.items()} for blocks in self._gathered]
        return other

    def _cut(self, axis: int, length: int) -> None:
        for number, work in enumerate(self._levels):
            factor = halvings(self._geometry, 0, number)[axis]
            shape = list(work.level.shape)
            shape[axis] = -(-length // factor)
            self._levels[number] = replace(work, level=replace(work.level, shape=tuple(shape)))

    def _run(self, number: int, start: Lengths, pixels: NDArray[Any]) -> Iterator[EncodedChunk]:
        chunks, rest = run_stage(pixels, start, self._works[number])
        yield from chunks
        if rest is not None:
            stage = self._stages[number]
            factors = halvings(self._geometry, stage.first, stage.stop)
            corner = tuple(place // factor for place, factor in zip(start, factors, strict=True))
            yield from self.add(corner, rest, number + 1)

    def _put(
        self, number: int, start: Lengths, lengths: Lengths, corner: Lengths, pixels: NDArray[Any]
    ) -> NDArray[Any] | None:
        """Copy pixels into a block.

        Return the block to the thread that completes it, and None to other threads.
        """
        with self._lock:
            block = self._gathered[number].get(start)
            if block is None:
                block = self._gathered[number][start] = _Block(np.zeros(lengths, self._dtype))
        size = block.put(start, corner, pixels)
        with self._lock:
            block.missing -= size
            if block.missing:
                return None
            self._gathered[number].pop(start, None)
        return block.pixels


class _Block:
    """An incomplete block of pixels; threads fill separate parts of it."""

    def __init__(self, pixels: NDArray[Any]) -> None:
        self.pixels = pixels
        self.missing = pixels.size

    def copy(self) -> _Block:
        other = _Block(self.pixels.copy())
        other.missing = self.missing
        return other

    def put(self, start: Lengths, corner: Lengths, pixels: NDArray[Any]) -> int:
        """Copy the pixels that lie inside the block, and return their number; `pixels` start at `corner`."""
        into, out_of = [], []
        for at, whole, first, length in zip(start, self.pixels.shape, corner, pixels.shape, strict=True):
            begin, end = max(at, first), min(at + whole, first + length)
            into.append(slice(begin - at, end - at))
            out_of.append(slice(begin - first, end - first))
        taken = pixels[tuple(out_of)]
        self.pixels[tuple(into)] = taken
        return taken.size
