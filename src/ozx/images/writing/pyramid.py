"""Computation of an image pyramid in one pass: each full-resolution pixel is read once.

Blocks of the full resolution are independent: `make_block` reads one, halves it, and encodes its chunks, in any thread
or process. `Pyramid` takes the results in the order of `Pyramid.tasks`, and computes the later stages itself, which is
a small part of the work. So it gives the same chunks in the same order with any number of threads or processes.
`pyramid_plan` describes blocks, stages and their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.images.pixel_source import Part, PixelSource, part_of
from ozx.images.writing.chunk_encoding import ChunkEncoder
from ozx.images.writing.downsampling import Method, halve
from ozx.images.writing.pyramid_plan import LevelGeometry, Stage, halvings, iter_corners, plan_stages

# Pixels of each channel that determine its contrast.
_SAMPLE = 1 << 17

Lengths = tuple[int, ...]
Sampling = tuple[tuple[int, int], ...]


class EncodedChunk(NamedTuple):
    """An encoded chunk and its grid position; `data` is None if the chunk is not stored."""

    level: int
    place: Lengths
    data: bytes | memoryview | None


@dataclass(frozen=True, slots=True)
class LevelWork:
    """A level to compute, and the encoder of its chunks."""

    level: LevelGeometry
    encoder: ChunkEncoder


@dataclass(frozen=True, slots=True)
class StageWork:
    """The work for each block of a stage: the levels to compute, and the axes to halve for the next stage."""

    first: int
    levels: tuple[LevelWork, ...]
    onward: tuple[int, ...] | None
    method: Method


@dataclass(frozen=True, slots=True)
class BlockTask:
    """A task that computes one block; can be pickled."""

    part: Part  # the pixels of the block
    corner: Lengths  # the position of the first pixel
    work: StageWork  # the levels to compute from the pixels
    sampling: Sampling | None  # for rows and columns, start and step of the sample for the contrast, or None
    size: int  # the size of the pixels in bytes


@dataclass(frozen=True, slots=True)
class BlockResult:
    """The encoded chunks of a computed block, and its downsampled pixels for the next stage of the computation."""

    corner: Lengths  # as in the task
    size: int
    chunks: list[EncodedChunk]  # the encoded chunks
    # The pixels of the block at the first level that the next stage computes, or None after the last stage.
    rest: NDArray[Any] | None
    sample: NDArray[Any] | None  # the sampled pixels of the block, with all dimensions of the block, or None
    # Descriptions of the unreadable parts of the block, which became zeros. They are in the result, because another
    # process may have read the block.
    damage: tuple[str, ...] = ()


def make_block(task: BlockTask) -> BlockResult:
    """Read a block, and compute its levels and encoded chunks."""
    pixels = task.part.read()
    sample = None if task.sampling is None else take_sample(pixels, task.corner, task.sampling)
    chunks, rest = run_stage(pixels, task.corner, task.work)
    return BlockResult(task.corner, task.size, chunks, rest, sample, task.part.damage())


class Pyramid:
    """The pyramid of one image."""

    def __init__(
        self,
        source: PixelSource,
        levels: Sequence[LevelWork],
        method: Method,
        *,
        channel: int | None = None,
        is_sampled: bool = False,
    ) -> None:
        self._source = source
        self._geometry = [work.level for work in levels]
        self._channel = channel
        self._stages = plan_stages(self._geometry, source.read_alignment, self._channel, source.dtype.itemsize)
        self._works = [stage_work(stage, levels, method) for stage in self._stages]
        self._gathered: list[dict[Lengths, _Gathered]] = [{} for _ in self._stages]
        self._is_sampled = is_sampled
        self.samples: dict[int, list[NDArray[Any]]] = {}

    @property
    def size(self) -> int:
        """Size of the decoded full resolution in bytes."""
        return math.prod(self._source.shape) * self._source.dtype.itemsize

    def tasks(self) -> Iterator[BlockTask]:
        """Yield the tasks for all full-resolution blocks; pass their results to `accept` in the same order."""
        stage, shape = self._stages[0], self._source.shape
        channels = 1 if self._channel is None else shape[self._channel]
        sampling = choose_sampling(shape, channels) if self._is_sampled else None
        for corner in iter_corners(self._geometry, self._stages):
            region = _region(corner, stage.block, shape)
            size = math.prod(part.stop - part.start for part in region) * self._source.dtype.itemsize
            yield BlockTask(part_of(self._source, region), corner, self._works[0], sampling, size)

    def accept(self, result: BlockResult) -> Iterator[EncodedChunk]:
        """Yield the encoded chunks of a block, and the chunks of downsampled levels that this block completes."""
        yield from result.chunks
        if result.sample is not None:
            self._keep_sample(result.corner, result.sample)
        if result.rest is not None:
            yield from self._hand_on(1, self._at(0, result.corner), result.rest)

    def _at(self, number: int, corner: Lengths) -> Lengths:
        """Convert the start of a block of stage `number` to coordinates in the level that the next stage reads."""
        stage = self._stages[number]
        factors = halvings(self._geometry, stage.first, stage.stop)
        return tuple(place // factor for place, factor in zip(corner, factors, strict=True))

    def _hand_on(self, number: int, corner: Lengths, pixels: NDArray[Any]) -> Iterator[EncodedChunk]:
        """Copy pixels into the blocks of stage `number`, and process all blocks that are now complete.

        `pyramid_plan` explains stages.
        """
        block, shape = self._stages[number].block, self._geometry[self._stages[number].first].shape
        ends = [start + length for start, length in zip(corner, pixels.shape, strict=True)]
        ranges = [range(start // part, -(-end // part)) for start, end, part in zip(corner, ends, block, strict=True)]
        for place in product(*ranges):
            start = tuple(at * part for at, part in zip(place, block, strict=True))
            gathered = self._gathered[number].get(start)
            if gathered is None:
                gathered = self._gathered[number][start] = _Gathered(_region(start, block, shape), pixels.dtype)
            if gathered.put(corner, pixels):
                del self._gathered[number][start]
                chunks, rest = run_stage(gathered.pixels, start, self._works[number])
                yield from chunks
                if rest is not None:
                    yield from self._hand_on(number + 1, self._at(number, start), rest)

    def _keep_sample(self, corner: Lengths, sample: NDArray[Any]) -> None:
        if self._channel is None:
            self.samples.setdefault(0, []).append(sample.reshape(-1))
            return
        for number, pixels in enumerate(np.moveaxis(sample, self._channel, 0), corner[self._channel]):
            self.samples.setdefault(number, []).append(pixels.reshape(-1))


class _Gathered:
    """A block of a later stage, which is filled with pixels from several earlier blocks."""

    def __init__(self, region: tuple[slice, ...], dtype: np.dtype[Any]) -> None:
        self._region = region
        self.pixels = np.empty([part.stop - part.start for part in region], dtype)
        self._missing = self.pixels.size

    def put(self, corner: Lengths, pixels: NDArray[Any]) -> bool:
        """Copy the pixels that lie inside the block, and return whether it is complete; `pixels` start at `corner`."""
        into, out_of = [], []
        for part, start, length in zip(self._region, corner, pixels.shape, strict=True):
            first, last = max(part.start, start), min(part.stop, start + length)
            into.append(slice(first - part.start, last - part.start))
            out_of.append(slice(first - start, last - start))
        taken = pixels[tuple(out_of)]
        self.pixels[tuple(into)] = taken
        self._missing -= taken.size
        return self._missing == 0


def stage_work(stage: Stage, levels: Sequence[LevelWork], method: Method) -> StageWork:
    """Return the levels that a stage computes from each of its blocks, and the axes to halve for the next stage."""
    onward = levels[stage.stop].level.halved if stage.stop < len(levels) else None
    return StageWork(stage.first, tuple(levels[stage.first : stage.stop]), onward, method)


def run_stage(pixels: NDArray[Any], corner: Lengths, work: StageWork) -> tuple[list[EncodedChunk], NDArray[Any] | None]:
    """Return the chunks of a block that starts at `corner`, and the pixels for the next stage or None."""
    chunks: list[EncodedChunk] = []
    for number, level in enumerate(work.levels):
        if number:
            pixels = halve(pixels, level.level.halved, work.method)
            corner = tuple(at // 2 if axis in level.level.halved else at for axis, at in enumerate(corner))
        chunks += _encode(pixels, corner, work.first + number, level.encoder)
    return chunks, None if work.onward is None else halve(pixels, work.onward, work.method)


def _encode(pixels: NDArray[Any], corner: Lengths, level: int, encoder: ChunkEncoder) -> Iterator[EncodedChunk]:
    lengths = encoder.chunks
    steps = [range(0, whole, part) for whole, part in zip(pixels.shape, lengths, strict=True)]
    for start in product(*steps):
        chunk = pixels[tuple(slice(at, at + part) for at, part in zip(start, lengths, strict=True))]
        place = tuple((at + first) // part for at, first, part in zip(start, corner, lengths, strict=True))
        yield EncodedChunk(level, place, encoder.encode(chunk))


def _region(corner: Lengths, block: Lengths, shape: Lengths) -> tuple[slice, ...]:
    return tuple(
        slice(start, min(start + part, whole)) for start, part, whole in zip(corner, block, shape, strict=True)
    )


def choose_sampling(shape: Lengths, channels: int) -> Sampling:
    """Return start and step of the sampled rows and columns of an image with `channels` channels."""
    step = math.isqrt(math.prod(shape) // channels // _SAMPLE) or 1
    # Skip the edge, which is darker.
    return tuple((min(step, length) // 2, step) for length in shape[-2:])


def take_sample(pixels: NDArray[Any], corner: Lengths, sampling: Sampling) -> NDArray[Any]:
    """Return the sampled pixels of a block that starts at `corner`."""
    rows, columns = (
        slice((first - start) % step, None, step) for start, (first, step) in zip(corner[-2:], sampling, strict=True)
    )
    return pixels[..., rows, columns].copy()
