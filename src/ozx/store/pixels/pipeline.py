"""Implement zarr-python's codec pipeline for arrays in an archive.

zarr-python's own pipeline asks the store for one chunk after the other. This one plans all chunks of a request at once.
It passes a request that it does not support, as a whole, to the bounded pipeline, which also raises the errors for
damaged chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.buffer import NDBuffer
from zarr.core.codec_pipeline import fill_value_or_default
from zarr.storage import FsspecStore, StorePath

from ozx.archive.entry_blocks import EntrySpan
from ozx.codecs.bounded import UndecodableChunkError
from ozx.codecs.bounded_arrays import BoundedPipeline
from ozx.codecs.chunk_codecs import ChunkCodec, ShardCodec, codec_document, compile_codecs
from ozx.errors import OzxError
from ozx.hierarchy.json.reading import check_value_length
from ozx.store.pixels.encoding import Background, Selection
from ozx.store.pixels.plan import SCRATCH, NotPlannedError, ReadPlan, Shard
from ozx.store.pixels.remote_plan import RemotePlan, plan_for
from ozx.store.pixels.selections import Lengths, Overlap, bounding_box, covers, has_no_arrays, is_basic, iter_overlaps
from ozx.store.pixels.update import PixelChange, PixelUpdate
from ozx.store.reading import ArchiveSession

# A hand-over to a thread takes longer than reading a few chunks.
_FEW = 4
_MISSING, _PRESENT = {"status": "missing"}, {"status": "present"}


class ArchivePipeline(BoundedPipeline):
    """A codec pipeline that reads and writes the chunks of a request together, with checks and size limits."""

    async def read(self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()) -> Any:
        """Read and decode the chunks of a request, and copy their pixels to the output."""
        items = list(batch_info)
        place, target = _archive_of(items), out.as_ndarray_like()
        if place is None or not isinstance(target, np.ndarray):
            return await super().read(items, out, drop_axes)
        session, prefix = place
        found = [(StorePath(path.store, prefix + path.path), *rest) for path, *rest in items] if prefix else items
        await session.ensure_open()
        request = _PixelRequest(session, self, found, target, drop_axes)
        try:
            await request.answer()
        except (OzxError, OSError):
            raise
        except Exception:  # noqa: BLE001 (damage of any kind, or an unsupported request)
            try:
                return await super().read(items, out, drop_axes)
            except UndecodableChunkError as error:
                raise error.at(session.source.name) from error.__cause__
        # The status of each chunk in the form that zarr-python 3.4 requires and 3.1 ignores.
        return tuple(_MISSING if is_missing else _PRESENT for is_missing in request.missing)

    async def write(self, batch_info: Iterable[Any], value: NDBuffer, drop_axes: tuple[int, ...] = ()) -> None:
        """Encode and store the chunks of a request; store each value once, in the order of the request."""
        items = list(batch_info)
        if not items:
            return
        # Inner chunks, which the bounded pipeline writes, have no store.
        session = getattr(getattr(items[0][0], "store", None), "write_session", None)
        pixels = value.as_ndarray_like()
        if session is None or not isinstance(pixels, np.ndarray):
            await super().write(items, value, drop_axes)
            return
        try:
            update = PixelUpdate(session, self._changes(items), pixels, drop_axes)
        except NotPlannedError:
            await super().write(items, value, drop_axes)
            return
        try:
            await asyncio.get_running_loop().run_in_executor(None, update.write)
        except UndecodableChunkError as error:
            raise error.at(session.path) from error.__cause__

    def _changes(self, items: list[Any]) -> list[PixelChange]:
        """Return what zarr-python passes to a codec pipeline for writing as the changed chunks of a selection."""
        changes = []
        for path, spec, selection, wanted, is_complete, *_ in items:
            background = Background(fill_value_or_default(spec), spec.config.write_empty_chunks)
            codec = self.codec_of(spec.shape, spec.dtype)
            changes.append(PixelChange(path.path, codec, background, selection, wanted, is_complete))
        return changes

    def codec_of(self, shape: Lengths, data_type: Any) -> ChunkCodec | ShardCodec | None:
        """Return the codec for chunks of a shape and a zarr data type; None if only zarr-python can decode them."""
        if shape not in self._compiled:
            documents = [codec_document(codec) for codec in self]
            self._compiled[shape] = compile_codecs(documents, shape, data_type.to_native_dtype())
        return self._compiled[shape]

    @cached_property
    def _compiled(self) -> dict[Lengths, ChunkCodec | ShardCodec | None]:
        return {}


class _PixelRequest:
    """The chunks of one selection, and the output array for their pixels.

    `items`: what zarr-python passes to a codec pipeline: store path, specification of the chunk, selection in the
    chunk, selection in the result, and whether the selection is the complete chunk.
    """

    def __init__(
        self,
        session: ArchiveSession,
        pipeline: ArchivePipeline,
        items: Sequence[Any],
        out: NDArray[Any],
        drop_axes: tuple[int, ...],
    ) -> None:
        self._session = session
        self._pipeline = pipeline
        self._items = items
        self._out = out
        self._drop_axes = drop_axes
        self.missing: list[bool] = []

    async def answer(self) -> None:
        """Read the pixels."""
        count = len(self._items)
        plan = self._plan() if count <= _FEW else await asyncio.to_thread(self._plan)
        if isinstance(plan, RemotePlan):
            await plan.read_async()
        elif count <= _FEW and plan.is_short:
            plan.read()
        else:
            await asyncio.to_thread(plan.read)

    def _plan(self) -> ReadPlan:
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
        codec, size = self._pipeline.codec_of(spec.shape, spec.dtype), plan.size_of(place)
        if codec is None or self._out.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        check_value_length(size, path.path)
        if isinstance(codec, ShardCodec):
            view, overlaps = self._overlaps(plan, inside, target, codec)
            plan.add_shard(place, Shard(codec, overlaps, view, path.path, fill_value_or_default(spec)))
        elif is_basic(target) and covers(inside, codec.shape):
            plan.add(place, codec, None, self._out[(*target, ...)], "", None)
        else:
            plan.expect(codec, 1, size)
            plan.add_value(place, partial(self._put, codec, inside, target))

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


def knows_store(store: Any) -> bool:
    """Return whether a store reads or writes an archive."""
    if isinstance(store, FsspecStore):
        return hasattr(store.fs, "archive_session_at")
    return any(getattr(store, name, None) is not None for name in ("archive_session", "write_session"))


def _archive_of(items: list[Any]) -> tuple[ArchiveSession, str] | None:
    """Return the archive that contains all chunks, and the prefix to add to their keys; None if there is no archive."""
    store = items[0][0].store if items and isinstance(items[0][0], StorePath) else None
    session: ArchiveSession | None = getattr(store, "archive_session", None)
    if session is not None:
        return session, ""
    # ``ozx://`` by fsspec: the store's path leads to an archive and a node in it.
    if not isinstance(store, FsspecStore) or not knows_store(store):
        return None
    session, node = store.fs.archive_session_at(store.path)
    return session, f"{node}/" if node else ""
