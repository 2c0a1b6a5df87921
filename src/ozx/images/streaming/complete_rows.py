"""Complete rows of an image: grid positions along its growing axis at which all chunks or shards are stored."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

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
        self._lock = threading.Lock()

    @property
    def length(self) -> int:
        """The length of the complete part along the growing axis: all chunks or shards of this part are stored."""
        return min(rows * frames for rows, frames in zip(self._rows, self._frames, strict=True))

    def count(self, level: int, place: Lengths) -> None:
        """Record that the value (shard or unsharded chunk) at a grid position is stored, or need not be stored."""
        row = 0 if self._growing is None else place[self._growing]
        with self._lock:
            counts, grid = self._counts[level], self._grids[level]
            counts[row] = counts.get(row, 0) + 1
            whole = math.prod(length for axis, length in enumerate(grid) if axis != self._growing)
            while counts.get(self._rows[level]) == whole:
                del counts[self._rows[level]]
                self._rows[level] += 1
