"""Crop an array to a box of whole chunks: rename the encoded chunks without decoding them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ozx.flow.chunks.inner_chunks import FoundChunks, InnerChunks
from ozx.flow.chunks.reshard import iter_laid_out
from ozx.flow.chunks.stored_chunks import SourceChunks
from ozx.flow.entry import Entry
from ozx.hierarchy.subset.levels import Box
from ozx.hierarchy.zarr.layout import ArrayLayout


def iter_cropped(stored: SourceChunks, box: Box, new: ArrayLayout) -> Iterator[Entry]:
    """Yield the stored values of a cropped array, in hierarchy order; see `iter_resharded`."""
    first = [at // chunk for at, chunk in zip(box.start, new.chunks, strict=True)]
    picked = None
    if box.picked is not None:
        picked = box.picked.dimension, box.picked.chunks(new.chunks[box.picked.dimension])
    # Listing the chunks of a shard reads its index: take only shards that reach into the box.
    per_stored = stored.layout.chunks_per_stored
    outer = [at // per for at, per in zip(first, per_stored, strict=True)]
    behind = [-(-(at + count) // per) for at, count, per in zip(first, new.grid, per_stored, strict=True)]
    places = np.stack(np.unravel_index(stored.numbers, stored.layout.stored_grid), axis=-1)
    inside = (places >= outer) & (places < behind)
    if picked is not None:
        dimension, chunks = picked
        inside[:, dimension] = np.isin(places[:, dimension], np.array(chunks, np.int64) // per_stored[dimension])
    within = replace(stored, numbers=stored.numbers[inside.all(axis=1)])
    return iter_laid_out(CroppedChunks(within, first, new.grid, picked), new, stored.path)


class CroppedChunks(InnerChunks):
    """The chunks in a box of an array, indexed by chunk number (the position in the box's grid in C order)."""

    def __init__(
        self,
        stored: SourceChunks,
        first: list[int],
        grid: tuple[int, ...],
        picked: tuple[int, tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(stored, stored.layout)
        self._whole = stored.layout.grid
        self._first = np.array(first, np.int64)
        self._picked = None if picked is None else (picked[0], np.array(picked[1], np.int64))
        self.grid = grid

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return the stored chunks with these numbers; see `InnerChunks.find`."""
        columns = np.unravel_index(numbers, self.grid)
        moved = [column + at for column, at in zip(columns, self._first, strict=True)]
        if self._picked is not None:
            dimension, chunks = self._picked
            moved[dimension] = chunks[columns[dimension]]
        return super().find(np.ravel_multi_index(moved, self._whole).astype(np.int64), is_joined=is_joined)

    def iter_places(self) -> Iterator[NDArray[np.int64]]:
        """Yield the coordinates of stored chunks in the box, as arrays with one row per chunk."""
        for places in super().iter_places():
            moved = places - self._first
            if self._picked is not None:
                dimension, chunks = self._picked
                is_picked = np.isin(places[:, dimension], chunks)
                moved = moved[is_picked]
                moved[:, dimension] = np.searchsorted(chunks, places[is_picked, dimension])
            yield moved[((moved >= 0) & (moved < np.array(self.grid))).all(axis=1)]
