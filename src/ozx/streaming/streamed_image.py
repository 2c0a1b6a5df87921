"""One image of a stream: conversion of its frames to complete chunks and shards."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.chunk_codecs import take_buffer
from ozx.errors import UsageError
from ozx.flow.entry import Entry
from ozx.images.pictures.render import percentile_window
from ozx.images.writing.new_image import NewImage
from ozx.images.writing.pyramid import (
    EncodedChunk,
    choose_sampling,
    frame_pyramid,
    halvings,
    new_level,
    take_sample,
)
from ozx.images.writing.shard_assembly import FinishedValue, OpenShards, chunk_name
from ozx.ome.colors import Window
from ozx.streaming.frame_records import FrameRecords, Record
from ozx.streaming.open_chunks import KeptChunk, OpenChunks
from ozx.streaming.stream_images import StreamDocuments
from ozx.zarr.layout import ArrayLayout, parse_layout

# Complete rows of an image: grid positions along its growing axis at which all chunks or shards are stored.

Lengths = tuple[int, ...]


class CompleteRows:
    """Thread-safe counter of complete rows. A row is all chunks or shards at one grid position along the growing axis.

    `factors`: for each level, the number of full-resolution frames that one frame of the level covers along the growing
    axis.
    """

    def __init__(self, layouts: Sequence[ArrayLayout], factors: Sequence[int], growing: int | None) -> None:
        self._growing = growing
        self._grids = [layout.stored_grid for layout in layouts]
        depths = [1 if growing is None else layout.stored_shape[growing] for layout in layouts]
        self._frames = [depth * factor for depth, factor in zip(depths, factors, strict=True)]
        self._counts: list[dict[int, int]] = [{} for _ in layouts]
        self._rows = [0] * len(layouts)
        #: The length along the growing axis up to the end of the last stored chunk or shard of the full resolution.
        self.stored = 0
        self._lock = threading.Lock()

    @property
    def length(self) -> int:
        """The length of the complete part along the growing axis: all chunks or shards of this part are stored."""
        return min(rows * frames for rows, frames in zip(self._rows, self._frames, strict=True))

    def count(self, level: int, place: Lengths) -> None:
        """Record that the value (shard or unsharded chunk) at a grid position is stored, or need not be stored."""
        row = 0 if self._growing is None else place[self._growing]
        with self._lock:
            if level == 0 and self._growing is not None:
                self.stored = max(self.stored, (row + 1) * self._frames[0])
            counts, grid = self._counts[level], self._grids[level]
            counts[row] = counts.get(row, 0) + 1
            whole = math.prod(length for axis, length in enumerate(grid) if axis != self._growing)
            while counts.get(self._rows[level]) == whole:
                del counts[self._rows[level]]
                self._rows[level] += 1


# Samples of pixels from frames, from which the contrast of channels is computed.

# Frames of unknown number: this many of each channel are sampled at first, and at most twice as many are kept.
_FRAMES = 16


class Samples:
    """Sampled pixels of each channel of one image; thread-safe.

    If all lengths are known, `ozx.write_image` samples the same pixels. Else every frame is sampled at first, then
    every second frame, then every fourth, and so on.
    """

    def __init__(self, shape: Lengths, dtype: np.dtype[Any], channel: int | None, growing: int | None) -> None:
        self._channel, self._growing, self._dtype = channel, growing, dtype
        channels = 1 if channel is None else shape[channel]
        plane = shape[-2:]
        counted = shape if growing is None else (_FRAMES * channels, *plane)
        self._sampling = choose_sampling(counted, channels)
        self._size = math.prod(
            len(range(first, length, step)) for length, (first, step) in zip(plane, self._sampling, strict=True)
        )
        others = [length for axis, length in enumerate(shape[:-2]) if axis not in (channel, growing)]
        self._most = 2 * _FRAMES * max(1, math.prod(others))
        self._step = 1
        self._kept: dict[int, dict[Lengths, NDArray[Any]]] = {number: {} for number in range(channels)}
        self._lock = threading.Lock()

    def add(self, corner: Lengths, pixels: NDArray[Any]) -> None:
        """Sample a frame that starts at `corner`."""
        if self._growing is not None and corner[self._growing] % self._step:
            return
        sample = take_sample(pixels, corner, self._sampling).reshape(-1)
        with self._lock:
            kept = self._kept[0 if self._channel is None else corner[self._channel]]
            kept[corner] = sample
            if self._growing is not None and len(kept) > self._most:
                self._thin(self._growing)

    def _thin(self, growing: int) -> None:
        self._step *= 2
        for number, kept in self._kept.items():
            self._kept[number] = {corner: kept[corner] for corner in kept if corner[growing] % self._step == 0}

    def windows(self, missing: int = 0) -> dict[int, Window]:
        """Return the contrast of each channel, as if `missing` more frames with only zeros had been sampled."""
        none = np.zeros(0, self._dtype)
        with self._lock:
            return {
                number: percentile_window(
                    np.concatenate([none, *kept.values()]), missing * self._size if missing or kept else 1
                )
                for number, kept in self._kept.items()
            }


class StreamedImage:
    """The levels of one image, computed from frames in any order; thread-safe."""

    def __init__(self, documents: StreamDocuments, path: str, store: OpenChunks) -> None:
        order, growing, longest = documents.orders[path], documents.growing[path], documents.longest(path)
        self.path, self.order = path, order
        self._documents, self._store, self._growing = documents, store, growing
        self._image = image = documents.image(path, longest)
        arrays = documents.arrays(path, longest)
        layouts = [parse_layout(document, array) for array, document in arrays]
        works = [
            new_level(level, layout, document, take_buffer)
            for level, layout, (_, document) in zip(image.levels, layouts, arrays, strict=True)
        ]
        source = image.sources[0]
        self._pyramid = frame_pyramid(works, image.pyramid.method, source.dtype, image.channel_axis)
        self._shards = [
            OpenShards(layout, array, store.keep, store.part)
            for layout, (array, _) in zip(layouts, arrays, strict=True)
        ]
        self._arrays = [array for array, _ in arrays]
        self._is_sampled = image.lacks_windows
        self.frame_shape, self.dtype = source.shape[-2:], source.dtype
        sampled = None if longest is None else growing
        self._samples = Samples(image.levels[0].shape, source.dtype, image.channel_axis, sampled)
        self._windows: dict[int, Window] = {}
        self._described = 0
        self._describing = threading.Lock()
        self.records = FrameRecords(path, source.axes[:-2], order.axes, order.lengths, store)
        factors = [1 if growing is None else halvings(works, 0, level)[growing] for level in range(len(works))]
        self._complete = CompleteRows(layouts, factors, growing)
        self._from_order = [order.axes.index(axis) if axis in order.axes else None for axis in source.axes]

    @property
    def frame_bytes(self) -> int:
        """The size of a frame in bytes."""
        return math.prod(self.frame_shape) * self.dtype.itemsize

    @property
    def stored_length(self) -> int:
        """The length along the growing axis up to the end of the last stored chunk or shard."""
        return min(self._complete.stored, max(1, self.order.length))

    @property
    def complete_length(self) -> int:
        """The length of the complete part along the growing axis: it has all frames, and its chunks are stored."""
        return min(self._complete.length, max(1, self.order.length))

    def check_frame(self, frame: NDArray[Any]) -> None:
        """Raise an error if a frame has another shape or type than the frames of this image."""
        if frame.shape != self.frame_shape or frame.dtype.newbyteorder("=") != self.dtype:
            raise UsageError(
                f"expected a frame of the shape {self.frame_shape} and the type {self.dtype}; got {frame.shape} and "
                f"{frame.dtype}"
            )

    def encode(self, index: Sequence[int], frame: NDArray[Any], record: Record | None = None) -> Iterator[Entry]:
        """Yield the chunks and shards that a frame completes; write each entry before you request the next entry."""
        for value in self.records.add(index, record):
            yield from self._give(None, value)
        corner = tuple(0 if at is None else index[at] for at in self._from_order)
        pixels = frame.reshape((1,) * (len(corner) - frame.ndim) + frame.shape)
        if self._is_sampled:
            self._samples.add(corner, pixels)
        for chunk in self._pyramid.add(corner, pixels):
            yield from self._add(chunk)

    def finish(self) -> Iterator[Entry]:
        """Yield all incomplete chunks and shards; call this after the last frame."""
        for chunk in self._pyramid.finish(self._growing or 0, max(1, self.order.length)):
            yield from self._add(chunk)
        for level, shards in enumerate(self._shards):
            for value in shards.finish():
                yield from self._give(level, value)
        for value in self.records.finish():
            yield from self._give(None, value)

    def kept(self) -> list[KeptChunk]:
        """Return the complete chunks of unfinished shards."""
        return [chunk for shards in self._shards for chunk in shards.kept()] + self.records.kept()

    def drafts(self, length: int) -> Iterator[tuple[str, bytes | memoryview]]:
        """Return an iterator of the incomplete chunks of the image at `length`, by name; missing frames are zero."""
        chunks = self._pyramid.copy().finish(self._growing or 0, length)
        return ((chunk_name(self._arrays[level], place), data) for level, place, data in chunks if data is not None)

    def described(self, **given: Any) -> NewImage:
        """Return the plan of the image with new metadata, for `redescribe`; see `StreamDocuments.described`."""
        return self._documents.described(self.path, **given)

    def redescribe(self, image: NewImage) -> None:
        """Replace the metadata of the image."""
        self._documents.replace(self.path, image)

    def describe(self) -> dict[str, bytes]:
        """Return the image's ``zarr.json`` documents for the received frames, by key."""
        missing = self.order.missing_count // self._image.channel_count
        windows = self._samples.windows(missing) if self._is_sampled else {}
        return self._documents.of_image(self.path, max(1, self.order.length), windows)

    def draft(self, length: int) -> dict[str, bytes]:
        """Return the image's ``zarr.json`` documents for `length` along the growing axis, by key.

        The contrast is computed from the frames so far, each time that the length has doubled.
        """
        with self._describing:
            if length >= 2 * self._described:
                self._described = length
                self._windows = self._samples.windows() if self._is_sampled else {}
        return self._documents.of_image(self.path, length, self._windows)

    def _add(self, chunk: EncodedChunk) -> Iterator[Entry]:
        level, place, data = chunk
        value = self._shards[level].add(place, data)
        if value is not None:
            yield from self._give(level, value)

    def shapes(self, length: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays, by path, with `length` along the growing axis."""
        levels = self._documents.image(self.path, length).levels
        return {array: level.shape for array, level in zip(self._arrays, levels, strict=True)}

    def _give(self, level: int | None, value: FinishedValue) -> Iterator[Entry]:
        """Yield the entry of a finished chunk or shard; then count the chunk or shard as stored.

        A chunk or shard that is not stored has no entry. Records of frames have no `level`, and are not counted.
        """
        place, entry, chunks = value
        if entry is not None:
            yield entry
            # The caller has written the entry when it requests the next entry.
            self._store.release(chunks)
        if level is not None:
            self._complete.count(level, place)
