"""Answer what zarr-python asks of a codec pipeline: find the chunks of a request, and the place of their pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.codec_pipeline import fill_value_or_default

from ozx.archive.entry_blocks import EntrySpan
from ozx.codecs.chunk_codecs import ArrayCodecs, ChunkCodec, ShardCodec
from ozx.hierarchy.json.reading import check_value_length
from ozx.store.pixels.plan import SCRATCH, NotPlannedError, ReadPlan
from ozx.store.pixels.remote_plan import plan_for
from ozx.store.pixels.selections import Overlap, bounding_box, covers, has_no_arrays, is_basic, iter_overlaps
from ozx.store.reading import ArchiveSession

Selection = Any


class PixelRequest:
    """The chunks of one selection, and the output array for their pixels.

    `items`: what zarr-python passes to a codec pipeline: store path, specification of the chunk, selection in the
    chunk, selection in the result, and whether the selection is the complete chunk.
    """

    def __init__(
        self,
        session: ArchiveSession,
        codecs: ArrayCodecs,
        items: Sequence[Any],
        out: NDArray[Any],
        drop_axes: tuple[int, ...],
    ) -> None:
        self._session = session
        self._codecs = codecs
        self._items = items
        self._out = out
        self._drop_axes = drop_axes
        self.missing: list[bool] = []

    def plan(self) -> ReadPlan:
        """Return the bytes to read; set the pixels of missing chunks to the fill value."""
        plan = plan_for(self._session)
        plan.checked(lambda: self._add_all(plan))
        return plan

    def _add_all(self, plan: ReadPlan) -> None:
        rows = plan.find([item[0].path for item in self._items])
        self.missing = [row < 0 for row in rows]
        places = iter(plan.places([row for row in rows if row >= 0]))
        for item, is_missing in zip(self._items, self.missing, strict=True):
            if is_missing:
                self._out[item[3]] = fill_value_or_default(item[1])
            else:
                self._add(plan, item, next(places))

    def _add(self, plan: ReadPlan, item: Any, place: EntrySpan) -> None:
        """Add a chunk or shard that exists in the archive."""
        path, spec, inside, target = item[:4]
        codec, size = self._codecs.find(spec.shape, spec.dtype), plan.size_of(place)
        if codec is None or self._out.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        check_value_length(size, path.path)
        if isinstance(codec, ShardCodec):
            view, overlaps = self._overlaps(plan, inside, target, codec)
            plan.add_shard(place, codec, overlaps, view, path.path, fill_value_or_default(spec))
        elif is_basic(target) and covers(inside, codec.shape):
            plan.add(place, codec, None, self._out[(*target, ...)], "", None)
        else:
            plan.expect(codec, 1, size)
            plan.add_value(place, partial(self._put, codec), inside, target)

    def _put(self, codec: ChunkCodec, inside: Selection, target: Selection, data: memoryview) -> None:
        self._assign(target, codec.decode(data)[inside])

    def _assign(self, target: Selection, found: NDArray[Any]) -> None:
        self._out[target] = found.squeeze(axis=self._drop_axes) if self._drop_axes else found

    def _overlaps(
        self, plan: ReadPlan, selection: Selection, target: Selection, codec: ShardCodec
    ) -> tuple[NDArray[Any], Iterable[Overlap]]:
        """Return the array to decode inner chunks into (a view or a buffer), and the place of each chunk in it."""
        if not isinstance(selection, tuple) or len(selection) != len(codec.shape):
            raise NotPlannedError
        if has_no_arrays(selection) and is_basic(target) and not self._drop_axes:
            view = self._out[(*target, ...)]
            expanded = view[tuple(slice(None) if isinstance(part, slice) else None for part in selection)]
            return expanded, iter_overlaps(selection, codec.shape, codec.inner.shape)
        box = bounding_box(selection, codec.shape, codec.inner.shape)
        if box is None:
            raise NotPlannedError
        extents = codec.inner.shape
        array = np.empty([count * extent for count, extent in zip(box.shape, extents, strict=True)], self._out.dtype)
        plan.scratch += array.nbytes
        if plan.scratch > SCRATCH:
            raise NotPlannedError
        plan.last_steps.append(lambda: self._assign(target, array[box.selection]))
        return array, ((place, None, box.part(place, extents)) for place in box.chunks)
