"""What readers of a growing file see: each image up to the first frame that is not complete."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ozx.hierarchy.zarr.chunk_layout import ArrayLayout
from ozx.store.live.index import IndexWriter

if TYPE_CHECKING:
    from ozx.images.streaming.streamed_image import StreamedImage

__all__ = ["CompleteRows", "LiveView"]

Lengths = tuple[int, ...]


class CompleteRows:
    """The rows of stored values of an image, across its growing axis; any number of threads may count.

    Parameters
    ----------
    layouts
        Those of the levels, full resolution first.
    factors
        For each level, the number of frames of the first level in one of its own, along the growing axis.
    growing
        The number of the growing axis; None for an image of one frame.
    """

    def __init__(self, layouts: Sequence[ArrayLayout], factors: Sequence[int], growing: int | None) -> None:
        self._growing = growing
        self._grids = [layout.stored_grid for layout in layouts]
        depths = [1 if growing is None else layout.stored_shape[growing] for layout in layouts]
        self._frames = [depth * factor for depth, factor in zip(depths, factors, strict=True)]
        self._counts: list[dict[int, int]] = [{} for _ in layouts]
        self._rows = [0] * len(layouts)
        self._lock = threading.Lock()

    @property
    def length(self) -> int:
        """The number of frames along the growing axis of which all values are stored, from the first one on."""
        return min(rows * frames for rows, frames in zip(self._rows, self._frames, strict=True))

    def count(self, level: int, place: Lengths) -> None:
        """Count a value that is stored, or that need not be, by its place in the grid."""
        row = 0 if self._growing is None else place[self._growing]
        with self._lock:
            counts, grid = self._counts[level], self._grids[level]
            counts[row] = counts.get(row, 0) + 1
            whole = math.prod(length for axis, length in enumerate(grid) if axis != self._growing)
            while counts.get(self._rows[level]) == whole:
                del counts[self._rows[level]]
                self._rows[level] += 1


class LiveView:
    """Lists the complete lengths of images in the index of their file.

    All documents of an image are listed again when its length has doubled, as its contrast may be another one.

    Parameters
    ----------
    index
        The index.
    images
        The images.
    """

    def __init__(self, index: IndexWriter, images: Iterable[StreamedImage]) -> None:
        self._index = index
        self._shown = {image.path: 0 for image in images}
        self._described = dict(self._shown)
        self._lock = threading.Lock()

    def follow(self, image: StreamedImage) -> None:
        """List the length of an image if it has grown."""
        if image.complete_length <= self._shown[image.path]:
            return
        with self._lock:
            length = image.complete_length
            if length <= self._shown[image.path]:
                return
            if length >= 2 * self._described[image.path]:
                self._described[image.path] = length
                self._index.show(image.draft(length))
            else:
                self._index.resize(image.shapes(length))
            self._shown[image.path] = length
