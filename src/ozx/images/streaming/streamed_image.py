"""One image of a stream: frames in, finished values out."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from ozx.flow.entry import Entry
from ozx.hierarchy.ome.rendering import Window
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, parse_layout
from ozx.images.streaming.frame_order import FrameOrder
from ozx.images.streaming.frame_pyramid import FramePyramid
from ozx.images.streaming.open_shards import OpenShards
from ozx.images.streaming.samples import Samples
from ozx.images.streaming.stream_documents import ENDLESS, StreamDocuments
from ozx.images.writing.chunk_encoding import ChunkEncoder
from ozx.images.writing.pyramid import EncodedChunk, LevelWork
from ozx.images.writing.pyramid_plan import LevelGeometry

__all__ = ["StreamedImage"]

Lengths = tuple[int, ...]


class StreamedImage:
    """The levels of one image, made of frames in any order by any number of threads.

    Parameters
    ----------
    documents
        The metadata of the stream.
    path
        The image.
    order
        The places of its frames.
    growing
        The number of the axis that numbers frames most slowly; None for a single frame.
    is_endless
        Whether its length is unknown.
    """

    def __init__(
        self, documents: StreamDocuments, path: str, order: FrameOrder, growing: int | None, *, is_endless: bool
    ) -> None:
        self.path, self.order = path, order
        self._documents, self._growing = documents, growing
        planned = documents.image(path, ENDLESS if is_endless else None)
        self._image = image = planned.image
        arrays = documents.arrays(path, ENDLESS if is_endless else None)
        layouts = [parse_layout(document, array) for array, document in arrays]
        works = [
            LevelWork(
                LevelGeometry(level.shape, layout.chunks, layout.stored_shape, level.halved), ChunkEncoder(document)
            )
            for level, layout, (_, document) in zip(planned.levels, layouts, arrays, strict=True)
        ]
        source = image.levels[0].source
        self._pyramid = FramePyramid(works, image.pyramid.method, source.dtype, image.channel_axis)
        self._shards = [OpenShards(layout, array) for layout, (array, _) in zip(layouts, arrays, strict=True)]
        self._is_sampled = len(image.channels) < image.channel_count or any(
            channel.window is None for channel in image.channels
        )
        self._samples = Samples(source.shape, source.dtype, image.channel_axis, growing if is_endless else None)
        self._windows: dict[int, Window] = {}
        self._described = 0
        self._describing = threading.Lock()
        self._rows = _Rows(layouts, [work.level.halved for work in works], growing)
        self._from_order = [order.axes.index(axis) if axis in order.axes else None for axis in source.axes]

    @property
    def waiting(self) -> int:
        """Bytes of chunks and blocks that wait for frames."""
        return self._pyramid.waiting + sum(shards.waiting for shards in self._shards)

    @property
    def complete_length(self) -> int:
        """The length along the growing axis up to which all levels are stored."""
        return min(self._rows.length, max(1, self.order.length))

    def encode(self, index: Sequence[int], frame: NDArray[Any]) -> Iterator[Entry]:
        """Yield the values that a frame completes; it is not kept."""
        corner = tuple(0 if at is None else index[at] for at in self._from_order)
        pixels = frame.reshape((1,) * (len(corner) - frame.ndim) + frame.shape)
        if self._is_sampled:
            self._samples.add(corner, pixels)
        for chunk in self._pyramid.add(corner, pixels):
            yield from self._add(chunk)

    def finish(self) -> Iterator[Entry]:
        """Yield all values that lack frames; no more frames come."""
        for chunk in self._pyramid.finish(self._growing or 0, max(1, self.order.length)):
            yield from self._add(chunk)
        for shards in self._shards:
            for value in shards.finish():
                if value.entry is not None:
                    yield value.entry

    def describe(self) -> dict[str, bytes]:
        """Return the documents of the image with the frames that came, by key."""
        missing = sum(1 for _ in self.order.iter_missing()) // self._image.channel_count
        windows = self._samples.windows(missing) if self._is_sampled else {}
        return self._documents.of_image(self.path, max(1, self.order.length), windows)

    def draft(self, length: int) -> dict[str, bytes]:
        """Return the documents of the image with `length` along the growing axis, by key.

        The contrast is that of earlier frames: it is computed when their number has doubled.
        """
        with self._describing:
            if length >= 2 * self._described:
                self._described = length
                self._windows = self._samples.windows() if self._is_sampled else {}
        return self._documents.of_image(self.path, length, self._windows)

    def _add(self, chunk: EncodedChunk) -> Iterator[Entry]:
        value = self._shards[chunk.level].add(chunk.place, chunk.data)
        if value is None:
            return
        if value.entry is not None:
            yield value.entry
        self._rows.count(chunk.level, value.place)


class _Rows:
    """Count of stored values by their place along the growing axis: the length that is stored in all levels."""

    def __init__(self, layouts: Sequence[ArrayLayout], halved: Sequence[Lengths], growing: int | None) -> None:
        self._growing, self.length = growing, 0
        self._counts: dict[int, int] = {}
        self._lock = threading.Lock()
        axis = 0 if growing is None else growing
        depths, factor = [], 1
        for layout, axes in zip(layouts, halved, strict=True):
            factor *= 2 if axis in axes else 1
            depths.append(layout.stored_shape[axis] * factor)
        self._depth = depths[0]
        self._per_row = sum(
            math.prod(count for number, count in enumerate(layout.stored_grid) if number != axis) for layout in layouts
        )
        # Values of different depths make no common rows.
        self._is_counted = growing is not None and len(set(depths)) == 1

    def count(self, level: int, place: Lengths) -> None:
        """Count a stored value."""
        del level
        if not self._is_counted or self._growing is None:
            return
        row = place[self._growing]
        with self._lock:
            count = self._counts[row] = self._counts.get(row, 0) + 1
            if count == self._per_row:
                del self._counts[row]
                self.length = max(self.length, (row + 1) * self._depth)
