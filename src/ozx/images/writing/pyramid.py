"""Computation of an image pyramid in one pass: each full-resolution pixel is read once.

Blocks of the full resolution are independent: `make_block` reads one, halves it, and encodes its chunks, in any thread
or process. `Pyramid` takes the results in the order of `Pyramid.tasks`, and computes the later stages itself, which is
a small part of the work. So it gives the same chunks in the same order with any number of threads or processes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from ozx.codecs.chunk_codecs import BLOSC_SHUFFLES, SMALL_CHUNK, Allocate, ChunkCodec, compile_codecs, encode_gzip
from ozx.codecs.pixel_codec import PixelCodec
from ozx.errors import UnsupportedError
from ozx.images.pictures.render import percentile_window
from ozx.images.pixel_source import Part, PixelSource, part_of
from ozx.images.writing.downsampling import halve
from ozx.images.writing.new_array_layout import grown
from ozx.images.writing.new_image import PyramidLevel
from ozx.images.writing.shard_assembly import OpenShards
from ozx.ome.colors import Window
from ozx.ome.downscaling import Method
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import ArrayLayout

# The order and size of the blocks from which a pyramid is computed.
#
# A *stage* takes blocks of one level, and makes their chunks at this level and at the lower levels whose chunks lie in
# one block. It passes pixels of the next lower level to the next stage, which gathers these pixels into its own blocks.
# With blocks of 2048 × 2048 pixels and chunks of 512 × 512, the first stage makes three levels, and passes on one pixel
# for every 64::
#
#     level 0   2048 × 2048   16 chunks  ┐
#     level 1   1024 × 1024    4 chunks  ├ first stage, from the source
#     level 2    512 × 512     1 chunk   ┘
#     level 3    256 × 256     ────────→   second stage, from 8 × 8 blocks of the first
#
# Blocks are sorted by the largest unit that each belongs to, then by the next smaller one, and so on: shards of lower
# levels, blocks of later stages, shards of the full resolution. These are nested, so that about one of each is
# unfinished at a time: memory grows with the number of levels, not with the image. (A walk along rows would leave a
# whole row of shards unfinished at every level.)

# Bytes to read, halve and encode at once. Larger blocks exceed the processor's cache, smaller ones make fewer levels.
_BLOCK_BYTES = 8 << 20
# A block is a common multiple of decoded pieces and chunks, if it is at most this many times the longer of the two.
_MOST_PIECES = 4

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """A level to compute: shape, chunks and their codec; can be pickled, unless `allocate` cannot.

    A level without a codec is not stored: others are computed from it.
    """

    shape: Lengths  # the lengths of the level, and of its chunks
    chunks: Lengths
    stored: Lengths  # the lengths of the unit with a key: a shard, or a chunk
    halved: tuple[int, ...]  # numbers of the axes halved from the level before
    codec: ChunkCodec | PixelCodec | None
    allocate: Allocate | None = None  # memory of large chunks without compressor; by default, chunks are `bytes`
    fill_value: Any = 0  # of chunks that are not stored


@dataclass(frozen=True, slots=True)
class StagePlan:
    """A step that computes several levels from each block of the first of them."""

    first: int  # the number of this level
    block: Lengths  # the lengths of a block
    levels: tuple[LevelPlan, ...]
    onward: tuple[int, ...] | None  # the axes to halve for the next stage; None for the last stage
    method: Method

    @property
    def stop(self) -> int:
        """The number of the first level that is left to the next stage."""
        return self.first + len(self.levels)


def halvings(levels: Sequence[LevelPlan], start: int, stop: int) -> Lengths:
    """Return, for each axis, the number of pixels of level `start` that make one pixel of level `stop`."""
    factors = [1] * len(levels[start].shape)
    for level in levels[start + 1 : stop + 1]:
        for axis in level.halved:
            factors[axis] *= 2
    return tuple(factors)


def plan_stages(
    levels: Sequence[LevelPlan],
    read_alignment: Lengths,
    channel: int | None,
    item_size: int,
    method: Method,
    block_bytes: int = _BLOCK_BYTES,
) -> list[StagePlan]:
    """Return the stages that compute all levels of a pyramid."""
    stages: list[StagePlan] = []
    first = 0
    while first < len(levels):
        alignment = read_alignment if first == 0 else (1,) * len(read_alignment)
        block = _block(levels, first, alignment, channel, block_bytes // item_size)
        stop = _stop(levels, first, block)
        onward = levels[stop].halved if stop < len(levels) else None
        stages.append(StagePlan(first, block, tuple(levels[first:stop]), onward, method))
        first = stop
    return stages


def iter_corners(levels: Sequence[LevelPlan], stages: Sequence[StagePlan]) -> Iterator[Lengths]:
    """Yield the start position of each block of the first stage, in processing order."""
    block, shape = stages[0].block, levels[0].shape
    grid = tuple(-(-whole // part) for whole, part in zip(shape, block, strict=True))
    numbers = np.arange(math.prod(grid), dtype=np.int64)
    places = np.unravel_index(numbers, grid)
    corners = np.stack([place * part for place, part in zip(places, block, strict=True)], axis=1)
    # The least important key is first.
    keys = [
        corners[:, axis] // unit[axis] for unit in _sorting_units(levels, stages) for axis in reversed(range(len(unit)))
    ]
    order = np.lexsort([numbers, *keys]) if len(numbers) > 1 else numbers
    for number in order.tolist():
        yield tuple(corners[number].tolist())


def _sorting_units(levels: Sequence[LevelPlan], stages: Sequence[StagePlan]) -> list[Lengths]:
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


def _block(
    levels: Sequence[LevelPlan], first: int, read_alignment: Lengths, channel: int | None, most_pixels: int
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


def _stop(levels: Sequence[LevelPlan], first: int, block: Lengths) -> int:
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


# Blosc's default at level 1 is 32 KiB, which is a fifth slower and saves 1 to 4 % of the size.
_FAST_BLOCK = 128 << 10
# Pixels of each channel that determine its contrast.
_SAMPLE = 1 << 17

Sampling = tuple[tuple[int, int], ...]
#: The level of an encoded chunk, its place in the grid, and its bytes; None if the chunk is not stored.
EncodedChunk = tuple[int, Lengths, bytes | memoryview | None]
#: The chunks of a block; its pixels for the next stage; its sampled pixels; what of it was unreadable, now zeros.
Made = tuple[list[EncodedChunk], NDArray[Any] | None, NDArray[Any] | None, tuple[str, ...]]


def new_level(
    level: PyramidLevel, layout: ArrayLayout, document: Document, allocate: Allocate | None = None
) -> LevelPlan:
    """Return the plan of a level whose array has a layout that `lay_out` chose."""
    codec = _new_chunk_codec(layout, np.dtype(document["data_type"]))
    return LevelPlan(level.shape, layout.chunks, layout.stored_shape, level.halved, codec, allocate)


def _new_chunk_codec(layout: ArrayLayout, dtype: np.dtype[Any]) -> ChunkCodec:
    codec = compile_codecs(layout.codecs, layout.chunks, dtype)
    config = (codec.compressor if isinstance(codec, ChunkCodec) else None) or {"id": None}
    if not isinstance(codec, ChunkCodec) or config["id"] not in (None, "blosc", "gzip", "zstd"):
        raise UnsupportedError(f"expected blosc, zstd or gzip as the only compressor; found {layout.codecs!r}")
    if config["id"] == "gzip":
        return replace(codec, encoder=partial(encode_gzip, level=config["level"]))
    return replace(codec, encoder=partial(_encode_blosc, config, codec.dtype)) if config["id"] == "blosc" else codec


def _encode_blosc(settings: dict[str, Any], dtype: np.dtype[Any], data: memoryview) -> Any:
    codecs: Any = imagecodecs  # its type hints omit arrays
    # imagecodecs lets blosc shuffle items of the array's item size, whatever `typesize` is. One thread per chunk: the
    # order of the blocks, and so the bytes, would depend on several.
    return codecs.blosc_encode(
        np.frombuffer(data, dtype),
        level=settings["clevel"],
        compressor=settings["cname"],
        shuffle=BLOSC_SHUFFLES[settings["shuffle"]],
        blocksize=settings["blocksize"] or (_FAST_BLOCK if settings["clevel"] == 1 else 0),
        numthreads=1,
    )


def make_block(part: Part, corner: Lengths, stage: StagePlan, sampling: Sampling | None) -> Made:
    """Read a block that starts at `corner`, and compute its levels and encoded chunks, in any process."""
    source, region = part
    pixels = source.read(region)
    sample = None if sampling is None else take_sample(pixels, corner, sampling)
    return *run_stage(pixels, corner, stage), sample, source.damage_in(region)


class Pyramid:
    """A level whose pixels are read from a source, and the lower levels computed from these pixels.

    `shards` has those of the stored levels, by number. The contrast of each channel becomes one of the `windows`.
    """

    def __init__(
        self,
        source: PixelSource,
        levels: Sequence[LevelPlan],
        method: Method,
        shards: Mapping[int, OpenShards],
        *,
        channel: int | None = None,
        windows: dict[int, Window] | None = None,
    ) -> None:
        self._source = source
        self._levels = levels
        self._channel = channel
        self._stages = plan_stages(levels, source.read_alignment, channel, source.dtype.itemsize, method)
        self._later = BlockPyramid(levels, self._stages, source.dtype)
        self._windows = windows
        self._samples: dict[int, list[NDArray[Any]]] = {}
        self.shards = shards

    def tasks(self) -> Iterator[tuple[int, tuple[Part, Lengths, StagePlan, Sampling | None]]]:
        """Yield the size in bytes of each full-resolution block, and how `make_block` makes it.

        Pass what it makes to `accept` in the same order.
        """
        stage, shape = self._stages[0], self._source.shape
        channels = 1 if self._channel is None else shape[self._channel]
        sampling = None if self._windows is None else choose_sampling(shape, channels)
        for corner in iter_corners(self._levels, self._stages):
            bounds = zip(corner, stage.block, shape, strict=True)
            region = tuple(slice(start, min(start + part, whole)) for start, part, whole in bounds)
            size = math.prod(part.stop - part.start for part in region) * self._source.dtype.itemsize
            yield size, (part_of(self._source, region), corner, stage, sampling)

    def accept(self, corner: Lengths, made: Made) -> Iterator[EncodedChunk]:
        """Yield the encoded chunks of a block, and the chunks of downsampled levels that this block completes."""
        chunks, rest, sample, _ = made
        yield from chunks
        if sample is not None:
            channels = sample[None] if self._channel is None else np.moveaxis(sample, self._channel, 0)
            first = 0 if self._channel is None else corner[self._channel]
            for number, pixels in enumerate(channels, first):
                self._samples.setdefault(number, []).append(pixels.reshape(-1))
        if rest is not None:
            yield from self._later.hand_on(0, corner, rest)

    def finish(self) -> None:
        """Set the contrast of the channels from the sampled pixels, and delete the samples."""
        if self._windows is not None:
            self._windows |= {n: percentile_window(np.concatenate(found)) for n, found in self._samples.items()}
        self._samples.clear()


def run_stage(
    pixels: NDArray[Any], corner: Lengths, stage: StagePlan
) -> tuple[list[EncodedChunk], NDArray[Any] | None]:
    """Return the chunks of a block that starts at `corner`, and the pixels for the next stage or None."""
    chunks: list[EncodedChunk] = []
    for number, level in enumerate(stage.levels):
        if number:
            pixels = halve(pixels, level.halved, stage.method)
            corner = tuple(at // 2 if axis in level.halved else at for axis, at in enumerate(corner))
        chunks += _encode(pixels, corner, stage.first + number, level)
    return chunks, None if stage.onward is None else halve(pixels, stage.onward, stage.method)


def _encode(pixels: NDArray[Any], corner: Lengths, number: int, level: LevelPlan) -> Iterator[EncodedChunk]:
    """Yield the encoded chunks of a block, in C order."""
    codec = level.codec
    if not isinstance(codec, ChunkCodec):
        if codec is not None:
            yield from _encode_by_zarr(codec, pixels, corner, number)
        return
    is_small = codec.size <= SMALL_CHUNK
    # A stream uses the memory of a view again, which must not be that of compressed bytes.
    is_own = level.allocate is not None and codec.compressor is None and not is_small
    sizes = [*zip(pixels.shape, codec.shape, corner, strict=True)]
    whole = tuple(slice(0, length // part * part) for length, part, _ in sizes)
    small = codec.encode_all_unless_filled(pixels[whole], level.fill_value) if is_small else iter(())
    # For each axis: the first pixel of a chunk, the chunk's place in the grid, and whether it ends inside the block.
    axes = [
        [(at, (at + first) // part, at + part <= length) for at in range(0, length, part)]
        for length, part, first in sizes
    ]
    for chunk in product(*axes):
        place = tuple([at for _, at, _ in chunk])
        if is_small and all(is_whole for _, _, is_whole in chunk):
            yield number, place, next(small)
            continue
        part = tuple(slice(at, at + length) for (at, _, _), length in zip(chunk, codec.shape, strict=True))
        data = codec.encode_unless_filled(pixels[part], level.fill_value, level.allocate if is_own else None)
        yield number, place, data if data is None or is_own else bytes(data)


def _encode_by_zarr(codec: PixelCodec, pixels: NDArray[Any], corner: Lengths, number: int) -> Iterator[EncodedChunk]:
    """Yield the chunks of a block, encoded by codecs that only zarr-python has."""
    ranges = [range(0, length, part) for length, part in zip(pixels.shape, codec.shape, strict=True)]
    for starts in product(*ranges):
        part = pixels[tuple(slice(at, at + length) for at, length in zip(starts, codec.shape, strict=True))]
        (data,) = codec.encode([part])
        place = tuple((at + first) // length for at, first, length in zip(starts, corner, codec.shape, strict=True))
        yield number, place, data


def frame_pyramid(
    levels: Sequence[LevelPlan], method: Method, dtype: np.dtype[Any], channel: int | None = None
) -> BlockPyramid:
    """Return the pyramid of an image whose planes come one by one.

    A block of the first stage is one plane, or as many planes as chunks and halving need.
    """
    alignment = (1,) * (len(levels[0].shape) - 2) + levels[0].shape[-2:]
    # Blocks of 0 bytes: no larger than needed.
    return BlockPyramid(levels, plan_stages(levels, alignment, channel, dtype.itemsize, method, 0), dtype)


class BlockPyramid:
    """The levels of an image whose pixels come in any order and from any thread.

    A chunk is encoded as soon as all pixels of its block are present. Until then, the pixels of the block are kept
    decoded.
    """

    def __init__(self, levels: Sequence[LevelPlan], stages: Sequence[StagePlan], dtype: np.dtype[Any]) -> None:
        self._levels, self._stages, self._dtype = list(levels), stages, dtype
        # Of each stage, the incomplete blocks by their start, and how many pixels they lack.
        self._gathered: list[dict[Lengths, NDArray[Any]]] = [{} for _ in stages]
        self._missing: list[dict[Lengths, int]] = [{} for _ in stages]
        self._lock = threading.Lock()

    def add(self, corner: Lengths, pixels: NDArray[Any], number: int = 0) -> Iterator[EncodedChunk]:
        """Add pixels that start at `corner`, and yield the chunks that are now complete."""
        block, shape = self._stages[number].block, self._levels[self._stages[number].first].shape
        ends = [start + length for start, length in zip(corner, pixels.shape, strict=True)]
        ranges = [range(start // part, -(-end // part)) for start, end, part in zip(corner, ends, block, strict=True)]
        for place in product(*ranges):
            start = tuple(at * part for at, part in zip(place, block, strict=True))
            lengths = tuple(min(part, whole - at) for part, whole, at in zip(block, shape, start, strict=True))
            whole = pixels if start == corner and lengths == pixels.shape else None
            if whole is None:
                whole = self._gather(number, start, lengths, corner, pixels)
            if whole is not None:
                yield from self._run(number, start, whole)

    def hand_on(self, number: int, start: Lengths, rest: NDArray[Any]) -> Iterator[EncodedChunk]:
        """Add what stage `number` makes of its block at `start` to the blocks of the next stage."""
        stage = self._stages[number]
        factors = halvings(self._levels, stage.first, stage.stop)
        corner = tuple(place // factor for place, factor in zip(start, factors, strict=True))
        yield from self.add(corner, rest, number + 1)

    def finish(self, axis: int, length: int) -> Iterator[EncodedChunk]:
        """Yield the chunks of the incomplete blocks, with zeros for missing pixels, up to `length` along `axis`."""
        self._cut(axis, length)
        for number, stage in enumerate(self._stages):
            shape = self._levels[stage.first].shape
            while self._gathered[number]:
                start, block = self._gathered[number].popitem()
                lengths = [max(0, whole - at) for whole, at in zip(shape, start, strict=True)]
                pixels = block[tuple(slice(0, part) for part in lengths)]
                if pixels.size:
                    yield from self._run(number, start, pixels)

    def copy(self) -> BlockPyramid:
        """Return a copy that has its own incomplete blocks, so that its `finish` does not affect the original."""
        other = object.__new__(BlockPyramid)
        other.__dict__.update(self.__dict__)
        other._levels = list(self._levels)
        other._lock = threading.Lock()
        with self._lock:
            other._gathered = [{start: block.copy() for start, block in blocks.items()} for blocks in self._gathered]
            other._missing = [dict(counts) for counts in self._missing]
        return other

    def _cut(self, axis: int, length: int) -> None:
        for number, level in enumerate(self._levels):
            shape = list(level.shape)
            shape[axis] = -(-length // halvings(self._levels, 0, number)[axis])
            self._levels[number] = replace(level, shape=tuple(shape))

    def _run(self, number: int, start: Lengths, pixels: NDArray[Any]) -> Iterator[EncodedChunk]:
        chunks, rest = run_stage(pixels, start, self._stages[number])
        yield from chunks
        if rest is not None:
            yield from self.hand_on(number, start, rest)

    def _gather(
        self, number: int, start: Lengths, lengths: Lengths, corner: Lengths, pixels: NDArray[Any]
    ) -> NDArray[Any] | None:
        """Copy pixels into a block; return the block to the thread that completes it, and None to other threads."""
        with self._lock:
            block = self._gathered[number].get(start)
            if block is None:
                block = self._gathered[number][start] = np.zeros(lengths, self._dtype)
                self._missing[number][start] = block.size
        size = _put(block, start, pixels, corner)
        with self._lock:
            self._missing[number][start] -= size
            if self._missing[number][start]:
                return None
            self._gathered[number].pop(start, None)
            del self._missing[number][start]
        return block


def _put(block: NDArray[Any], start: Lengths, pixels: NDArray[Any], corner: Lengths) -> int:
    """Copy the pixels that lie inside a block that starts at `start`; return their number. `pixels` start at `corner`.

    Threads put separate parts into a block.
    """
    into, out_of = [], []
    for at, whole, first, length in zip(start, block.shape, corner, pixels.shape, strict=True):
        begin, end = max(at, first), min(at + whole, first + length)
        into.append(slice(begin - at, end - at))
        out_of.append(slice(begin - first, end - first))
    taken = pixels[tuple(out_of)]
    block[tuple(into)] = taken
    return taken.size


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
