"""Read and write basic selections of one array without zarr-python, which needs longer than a small window itself.

Writing uses the caller's thread and those of the pool.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.archive.entry_blocks import EntryRange, value_range
from ozx.archive.reader import ArchiveReader
from ozx.codecs.bounded import UndecodableChunkError
from ozx.codecs.chunk_codecs import ShardCodec
from ozx.errors import OzxError
from ozx.store.pixels.pipeline import ArchivePipeline
from ozx.store.pixels.plan import ReadPlan
from ozx.store.pixels.remote_plan import plan_for
from ozx.store.pixels.selections import Bounds, Lengths, Overlap, overlaps
from ozx.store.pixels.write_plan import ChangedChunk, WritePlan
from ozx.store.reading import ArchiveSession
from ozx.store.writing import WriteSession
from ozx.zarr.keys import join_path

# The places of more chunks are not remembered; one takes about 300 bytes.
_MOST_KNOWN = 100_000
# zarr-python's setting for results in the memory of this computer.
_NUMPY_BUFFER = "zarr.buffer.cpu.NDBuffer"


# The bounds of a basic selection, and the shape of its pixels with and without the axes of integers.
_Window = tuple[list[Bounds], Lengths, Lengths]


class BasicAccess:
    """Reads or writes basic selections of an array; it remembers where the chunks are in a file that it reads."""

    def __init__(self, array: Any, session: ArchiveSession | WriteSession) -> None:
        self.metadata = array.metadata
        self._session = session
        self._prefix = join_path(array.store_path.path, "x")[:-1]
        self._chunk: Lengths = tuple(self.metadata.chunk_grid.chunk_shape)
        self._dtype: np.dtype[Any] = self.metadata.dtype.to_native_dtype()
        self._codec = array.codec_pipeline.codec_of(self._chunk, self.metadata.dtype)
        self._background = (self.metadata.fill_value, array.config.write_empty_chunks)
        self._known: dict[Lengths, EntryRange | None] = {}
        self._reader: ArchiveReader | None = None  # whose places are known

    @property
    def is_usable(self) -> bool:
        """Whether ozx itself supports the array's codecs, and zarr-python is to use numpy arrays."""
        return self._codec is not None and zarr.config.config.get("ndbuffer") == _NUMPY_BUFFER

    def _key(self, chunk: Lengths) -> str:
        return self._prefix + str(self.metadata.encode_chunk_key(chunk))

    def read(self, selections: Sequence[Any], out: NDArray[Any] | None = None) -> list[NDArray[Any]] | None:
        """Return the pixels of each selection, in the items of `out` if given; None if only zarr-python can read them.

        The error for a damaged chunk is left to zarr-python's way, which names the chunk.
        """
        if not isinstance(self._session, ArchiveSession):
            return None
        try:
            windows = [_window_of(selection, self.metadata.shape) for selection in selections]
            if out is None:
                found = [empty_pixels(shape, self._dtype) for _, _, shape in windows]
            else:
                found = [out[number, ...] for number in range(len(windows))]
            plan = plan_for(self._session)
            plan.checked(lambda: self._add_all(plan, windows, found))
            plan.read()
        except (OzxError, OSError):
            raise
        except Exception:  # noqa: BLE001 (damage of any kind, or an unsupported selection)
            return None
        return found

    def _add_all(self, plan: ReadPlan, windows: list[_Window], found: list[NDArray[Any]]) -> None:
        for (bounds, shape, result_shape), pixels in zip(windows, found, strict=True):
            if pixels.shape != result_shape:
                raise ValueError(result_shape)
            self._add(plan, bounds, pixels.reshape(shape))

    def _add(self, plan: ReadPlan, bounds: list[Bounds], out: NDArray[Any]) -> None:
        """Add the chunks of a selection to a plan; set the pixels of missing chunks."""
        codec, fill_value = self._codec, self.metadata.fill_value
        parts = list(overlaps(bounds, self._chunk))
        has_shards = isinstance(codec, ShardCodec)
        for (chunk, inside, target), place in zip(parts, self._places(plan, parts), strict=True):
            view = out[target] if target else out
            if place is None:
                view[...] = fill_value
            else:
                plan.add(place, codec, inside, view, self._key(chunk) if has_shards else "", fill_value)

    def _places(self, plan: ReadPlan, parts: list[Overlap]) -> list[EntryRange | None]:
        """Return the place of each chunk in the file; None for missing chunks."""
        if len(self._known) > _MOST_KNOWN or self._reader is not plan.reader:
            self._known, self._reader = {}, plan.reader
        known = self._known
        unknown = [chunk for chunk, _, _ in parts if chunk not in known]
        if unknown:
            rows = plan.find([self._key(chunk) for chunk in unknown])
            places = iter(plan.places([row for row in rows if row >= 0]))
            known.update((chunk, None if row < 0 else next(places)) for chunk, row in zip(unknown, rows, strict=True))
        found = [known[chunk] for chunk, _, _ in parts]
        for number, place in enumerate(found):
            if place is not None and not place.is_checked:
                found[number] = known[parts[number][0]] = value_range(plan.reader, place)
        return found

    def write(self, selection: Any, value: Any) -> bool:
        """Write the pixels of a selection; return False, and write nothing, if only zarr-python can write them."""
        if not isinstance(self._session, WriteSession):
            return False
        try:
            bounds, shape, result_shape = _window_of(selection, self.metadata.shape)
            pixels = self._pixels(value)
            if pixels.shape:
                if pixels.shape != result_shape:
                    return False
                pixels = pixels.reshape(shape)
            plan = WritePlan(self._session, self._changes(bounds), pixels)
        except OzxError:
            raise
        except Exception:  # noqa: BLE001 (an unsupported selection, or a value for which zarr-python raises the error)
            return False
        try:
            plan.write()
        except UndecodableChunkError as error:
            raise error.at(self._session.path) from error.__cause__
        return True

    def _pixels(self, value: Any) -> NDArray[Any]:
        """Return a scalar or an array with the array's data type; raise any error for other values."""
        if np.isscalar(value):
            return np.asarray(value, self._dtype)
        if type(value) is not np.ndarray:
            raise TypeError(value)
        return value if value.dtype.name == self._dtype.name else value.astype(self._dtype)

    def _changes(self, bounds: list[Bounds]) -> list[ChangedChunk]:
        """Return the changed chunks of a selection."""
        whole = tuple(slice(0, length) for length in self._chunk)
        changes = []
        for chunk, inside, target in overlaps(bounds, self._chunk):
            is_complete = inside is None or self._is_rest(chunk, inside)
            part = whole if inside is None else inside
            changes.append(ChangedChunk(self._key(chunk), self._codec, self._background, part, target, is_complete))
        return changes

    def _is_rest(self, chunk: Lengths, inside: tuple[slice, ...]) -> bool:
        """Return whether a part of a chunk is all of the chunk that is inside the array."""
        return all(
            part.start == 0 and part.step == 1 and part.stop == min(extent, length - number * extent)
            for number, part, extent, length in zip(chunk, inside, self._chunk, self.metadata.shape, strict=True)
        )


def _window_of(selection: Any, shape: Lengths) -> _Window:
    """Return a selection of an array of this shape as a window; raise any error if it is not basic."""
    parts = selection if isinstance(selection, tuple) else (selection,)
    if len(parts) < len(shape) or Ellipsis in parts:
        parts = _completed(parts, len(shape))
    bounds, lengths, kept = [], [], []
    for part, length in zip(parts, shape, strict=True):
        if type(part) is slice:
            start, stop, step = each = part.indices(length)
            if step < 1:
                raise IndexError(part)
            count = (stop - start + step - 1) // step if stop > start else 0
            kept.append(count)
        elif type(part) is int or isinstance(part, np.integer):
            start = range(length)[part]
            each, count = (start, start + 1, 1), 1
        else:
            raise IndexError(part)
        bounds.append(each)
        lengths.append(count)
    return bounds, tuple(lengths), tuple(kept)


def _completed(parts: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Return a selection with whole axes instead of its ellipsis, or at its end."""
    first = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = parts[first + 1 :]
    return (*parts[:first], *(slice(None),) * (count - first - len(rest)), *rest)


def basic_access(array: Any) -> BasicAccess | None:
    """Return the access to an asynchronous array of zarr-python; None if only zarr-python can read and write it.

    An archive that is read must be finished: it never changes while it is open, so that the places of chunks stay.
    """
    store, config = array.store_path.store, array.config
    session: Any = getattr(store, "archive_session", None) or getattr(store, "write_session", None)
    if type(session) is ArchiveSession:
        is_usual = config.order == "C" and getattr(config, "read_missing_chunks", True)
    else:
        is_usual = isinstance(session, WriteSession) and array.metadata.fill_value is not None
    if not (is_usual and isinstance(array.codec_pipeline, ArchivePipeline) and _has_regular_chunks(array.metadata)):
        return None
    return BasicAccess(array, session)


def _has_regular_chunks(metadata: Any) -> bool:
    """Return whether all chunks of an array have one shape, which is not empty."""
    grid: Any = getattr(metadata, "chunk_grid", None)  # Zarr v2 has none
    return type(grid).__name__.startswith("RegularChunkGrid") and all(grid.chunk_shape)


# The length of a huge page of Linux on most processors; elsewhere the advice has less effect, but no harm.
_HUGE_PAGE = 2 << 20


def empty_pixels(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array without values, as `numpy.empty` does.

    Fresh memory of 2 MiB has 512 pages of the usual size, and to get these takes longer than to read their bytes from
    the system's cache. numpy asks for huge pages, too, but only from 4 MiB on, and its memory begins between two pages.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _HUGE_PAGE or dtype.hasobject or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    octets = np.frombuffer(memory, np.uint8)
    start = -octets.ctypes.data % _HUGE_PAGE
    with suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE, start, size // _HUGE_PAGE * _HUGE_PAGE)
    return octets[start : start + size].view(dtype).reshape(shape)
