"""Implement zarr-python's codec pipeline for arrays in an archive.

zarr-python's own pipeline asks the store for one chunk after the other. This one plans all chunks of a request at once.
It passes a request that it does not support, as a whole, to the bounded pipeline, which also raises the errors for
damaged chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.buffer import NDBuffer
from zarr.core.codec_pipeline import fill_value_or_default
from zarr.storage import FsspecStore, StorePath

from ozx.archive.entry_blocks import EntryRange
from ozx.codecs.bounded import UndecodableChunkError
from ozx.codecs.bounded_arrays import BoundedPipeline
from ozx.codecs.chunk_codecs import ChunkCodec, ShardCodec, codec_document, compile_codecs
from ozx.errors import OzxError
from ozx.store.pixels.encoding import Selection
from ozx.store.pixels.plan import SCRATCH, NotPlannedError, ReadPlan, WantedShard
from ozx.store.pixels.remote_plan import RemotePlan, plan_for
from ozx.store.pixels.selections import Lengths, Overlap, bounding_box, covers, has_no_arrays, is_basic, iter_overlaps
from ozx.store.pixels.write_plan import ChangedChunk, WritePlan
from ozx.store.reading import ArchiveSession
from ozx.zarr.json_reading import check_value_length

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
        try:
            is_missing = await self._read_pixels(session, found, target, drop_axes)
        except (OzxError, OSError):
            raise
        except Exception:  # noqa: BLE001 (damage of any kind, or an unsupported request)
            try:
                return await super().read(items, out, drop_axes)
            except UndecodableChunkError as error:
                raise error.at(session.source.name) from error.__cause__
        # The status of each chunk in the form that zarr-python 3.4 requires and 3.1 ignores.
        return tuple(_MISSING if missing else _PRESENT for missing in is_missing)

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
            plan = WritePlan(session, self._changes(items), pixels, drop_axes)
        except NotPlannedError:
            await super().write(items, value, drop_axes)
            return
        try:
            await asyncio.get_running_loop().run_in_executor(None, plan.write)
        except UndecodableChunkError as error:
            raise error.at(session.path) from error.__cause__

    def _changes(self, items: list[Any]) -> list[ChangedChunk]:
        """Return what zarr-python passes to a codec pipeline for writing as the changed chunks of a selection."""
        changes = []
        for path, spec, selection, wanted, is_complete, *_ in items:
            background = (fill_value_or_default(spec), spec.config.write_empty_chunks)
            codec = self.codec_of(spec.shape, spec.dtype)
            changes.append(ChangedChunk(path.path, codec, background, selection, wanted, is_complete))
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

    # Reading. The items are what zarr-python passes to a codec pipeline: store path, specification of the chunk,
    # selection in the chunk, selection in the result, and whether the selection is the complete chunk.

    async def _read_pixels(
        self, session: ArchiveSession, items: Sequence[Any], out: NDArray[Any], drop_axes: tuple[int, ...]
    ) -> list[bool]:
        """Read the chunks of one selection into the output array; return for each of them whether it is missing."""
        count, planned = len(items), partial(self._plan, session, items, out, drop_axes)
        plan, is_missing = planned() if count <= _FEW else await asyncio.to_thread(planned)
        if isinstance(plan, RemotePlan):
            await plan.read_async()
        elif count <= _FEW and plan.is_short:
            plan.read()
        else:
            await asyncio.to_thread(plan.read)
        return is_missing

    def _plan(
        self, session: ArchiveSession, items: Sequence[Any], out: NDArray[Any], drop_axes: tuple[int, ...]
    ) -> tuple[ReadPlan, list[bool]]:
        """Return the bytes to read, and which chunks are missing, whose pixels are set to the fill value."""
        plan, is_missing = plan_for(session), list[bool]()

        def add_all() -> None:
            rows = plan.find([item[0].path for item in items])
            is_missing.extend(row < 0 for row in rows)
            places = iter(plan.places([row for row in rows if row >= 0]))
            for item, missing in zip(items, is_missing, strict=True):
                if missing:
                    out[item[3]] = fill_value_or_default(item[1])
                else:
                    self._add(plan, item, next(places), out, drop_axes)

        plan.checked(add_all)
        return plan, is_missing

    def _add(self, plan: ReadPlan, item: Any, place: EntryRange, out: NDArray[Any], drop_axes: tuple[int, ...]) -> None:
        """Add a chunk or shard that exists in the archive."""
        path, spec, inside, target = item[:4]
        codec, size = self.codec_of(spec.shape, spec.dtype), plan.size_of(place)
        if codec is None or out.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        check_value_length(size, path.path)
        assign = partial(_assign, out, target, drop_axes)
        if isinstance(codec, ShardCodec):
            if is_basic(target) and not drop_axes and isinstance(inside, tuple) and has_no_arrays(inside):
                view, overlaps = _view_overlaps(inside, out[(*target, ...)], codec)
            else:
                view, overlaps = _box_overlaps(plan, inside, codec, out.dtype, assign)
            plan.add_shard(place, WantedShard(codec, overlaps, view, path.path, fill_value_or_default(spec)))
        elif is_basic(target) and covers(inside, codec.shape):
            plan.add(place, codec, None, out[(*target, ...)], "", None)
        else:
            plan.expect(codec, 1, size)
            plan.add_value(place, partial(_put, codec, inside, assign))


def _put(codec: ChunkCodec, inside: Selection, assign: Callable[[NDArray[Any]], None], data: memoryview) -> None:
    assign(codec.decode(data)[inside])


def _assign(out: NDArray[Any], target: Selection, drop_axes: tuple[int, ...], found: NDArray[Any]) -> None:
    out[target] = found.squeeze(axis=drop_axes) if drop_axes else found


def _view_overlaps(
    selection: tuple[Any, ...], view: NDArray[Any], codec: ShardCodec
) -> tuple[NDArray[Any], Iterable[Overlap]]:
    """Return the part of the result to decode inner chunks into, with all axes, and the place of each chunk in it."""
    if len(selection) != len(codec.shape):
        raise NotPlannedError
    expanded = view[tuple(slice(None) if isinstance(part, slice) else None for part in selection)]
    return expanded, iter_overlaps(selection, codec.shape, codec.inner.shape)


def _box_overlaps(
    plan: ReadPlan,
    selection: Selection,
    codec: ShardCodec,
    dtype: np.dtype[Any],
    assign: Callable[[NDArray[Any]], None],
) -> tuple[NDArray[Any], Iterable[Overlap]]:
    """Return a buffer to decode inner chunks into, from which `assign` gets the pixels, and the place of each chunk."""
    is_plain = isinstance(selection, tuple) and len(selection) == len(codec.shape)
    box = bounding_box(selection, codec.shape, codec.inner.shape) if is_plain else None
    if box is None:
        raise NotPlannedError
    extents = codec.inner.shape
    array = np.empty([count * extent for count, extent in zip(box.shape, extents, strict=True)], dtype)
    plan.scratch += array.nbytes
    if plan.scratch > SCRATCH:
        raise NotPlannedError
    plan.last_steps.append(lambda: assign(array[box.selection]))
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
