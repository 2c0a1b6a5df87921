"""Implement zarr-python's codec pipeline for arrays in an archive.

zarr-python's own pipeline asks the store for one chunk after the other. This one plans all chunks of a request at once
(`ozx.store.pixels.request`). It passes a request that it does not support, as a whole, to the bounded pipeline, which
also raises the errors for damaged chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from zarr.core.buffer import NDBuffer
from zarr.core.codec_pipeline import fill_value_or_default
from zarr.storage import FsspecStore, StorePath

from ozx.codecs.bounded import UndecodableChunkError
from ozx.codecs.bounded_arrays import BoundedPipeline
from ozx.codecs.chunk_codecs import ArrayCodecs
from ozx.errors import OzxError
from ozx.store.pixels.encoding import Background
from ozx.store.pixels.plan import NotPlannedError
from ozx.store.pixels.remote_plan import RemotePlan
from ozx.store.pixels.request import PixelRequest
from ozx.store.pixels.update import Change, PixelUpdate
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
        request = PixelRequest(session, self.codecs, found, target, drop_axes)
        try:
            await _answer(request, len(items))
        except (OzxError, OSError):
            raise
        except Exception:  # noqa: BLE001 (damage of any kind, or an unsupported request)
            try:
                return await super().read(items, out, drop_axes)
            except UndecodableChunkError as error:
                raise error.at(session.source.name) from error.__cause__
        return _results(request.missing)

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

    def _changes(self, items: list[Any]) -> list[Change]:
        """Return what zarr-python passes to a codec pipeline for writing as the changed chunks of a selection."""
        changes = []
        for path, spec, selection, wanted, is_complete, *_ in items:
            background = Background(fill_value_or_default(spec), spec.config.write_empty_chunks)
            codec = self.codecs.find(spec.shape, spec.dtype)
            changes.append(Change(path.path, codec, background, selection, wanted, is_complete))
        return changes

    @cached_property
    def codecs(self) -> ArrayCodecs:
        """The codecs of the array, as far as they are ours."""
        return ArrayCodecs(tuple(self))


async def _answer(request: PixelRequest, count: int) -> None:
    plan = request.plan() if count <= _FEW else await asyncio.to_thread(request.plan)
    if isinstance(plan, RemotePlan):
        await plan.read_async()
    elif count <= _FEW and plan.is_short:
        plan.read()
    else:
        await asyncio.to_thread(plan.read)


def _results(missing: list[bool]) -> tuple[dict[str, str], ...]:
    """Return the status of each chunk in the form that zarr-python 3.4 requires and 3.1 ignores."""
    return tuple(_MISSING if is_missing else _PRESENT for is_missing in missing)


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
