"""Answer what zarr-python asks of a codec pipeline: find the chunks of a request, and the place of their pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

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


class Stored(NamedTuple):
    """An item of a request, with the codec, the byte range and the length of its chunk or shard."""

    item: Any
    codec: ChunkCodec | ShardCodec
    place: EntrySpan
    size: int


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
        plan.checked(lambda: self._add_all(plan, self._find(plan)))
        return plan

    def _find(self, plan: ReadPlan) -> list[Stored]:
        """Return the chunks and shards that exist in the archive."""
        rows = plan.find([item[0].path for item in self._items])
        self.missing = [row < 0 for row in rows]
        items = [item for item, row in zip(self._items, rows, strict=True) if row >= 0]
        places = plan.places([row for row in rows if row >= 0])
        return [
            Stored(item, self._codec(item[1]), place, plan.size_of(place))
            for item, place in zip(items, places, strict=True)
        ]

    def _codec(self, spec: Any) -> ChunkCodec | ShardCodec:
        codec = self._codecs.find(spec.shape, spec.dtype)
        if codec is None or self._out.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        return codec

    def _add_all(self, plan: ReadPlan, stored: list[Stored]) -> None:
        for item, is_missing in zip(self._items, self.missing, strict=True):
            if is_missing:
                self._out[item[3]] = fill_value_or_default(item[1])
        for one in stored:
            check_value_length(one.size, one.item[0].path)
            if isinstance(one.codec, ShardCodec):
                self._add_shard(plan, one, one.codec)
                continue
            inside, target = one.item[2], one.item[3]
            if is_basic(target) and covers(inside, one.codec.shape):
                plan.add(one.place, one.codec, None, self._out[(*target, ...)], "", None)
            else:
                plan.expect(one.codec, 1, one.size)
                plan.add_value(one.place, partial(self._put, one.codec), inside, target)

    def _put(self, codec: ChunkCodec, inside: Selection, target: Selection, data: memoryview) -> None:
        self._assign(target, codec.decode(data)[inside])

    def _assign(self, target: Selection, found: NDArray[Any]) -> None:
        self._out[target] = found.squeeze(axis=self._drop_axes) if self._drop_axes else found

    def _add_shard(self, plan: ReadPlan, stored: Stored, codec: ShardCodec) -> None:
        path, spec = stored.item[:2]
        view, overlaps = self._overlaps(plan, stored.item, codec)
        plan.add_shard(stored.place, codec, overlaps, view, path.path, fill_value_or_default(spec))

    def _overlaps(self, plan: ReadPlan, item: Any, codec: ShardCodec) -> tuple[NDArray[Any], Iterable[Overlap]]:
        """Return the array to decode inner chunks into (a view or a buffer), and the place of each chunk in it."""
        selection, target = item[2], item[3]
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
