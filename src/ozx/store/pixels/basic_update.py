"""Write basic selections of one array without zarr-python, in the caller's thread and in those of the pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.codecs.bounded import UndecodableChunkError
from ozx.errors import OzxError
from ozx.hierarchy.nodes import join_path
from ozx.store.pixels.basic import NUMPY_BUFFER, has_regular_chunks, window_of
from ozx.store.pixels.encoding import Background
from ozx.store.pixels.pipeline import ArchivePipeline
from ozx.store.pixels.selections import Bounds, Lengths, overlaps
from ozx.store.pixels.update import Change, PixelUpdate
from ozx.store.writing import WriteSession


class BasicWriter:
    """A writer of basic selections of an array."""

    def __init__(self, array: Any, session: WriteSession) -> None:
        self.metadata = array.metadata
        self._session = session
        self._prefix = join_path(array.store_path.path, "x")[:-1]
        self._chunk: Lengths = tuple(self.metadata.chunk_grid.chunk_shape)
        self._dtype: np.dtype[Any] = self.metadata.dtype.to_native_dtype()
        self._codec = array.codec_pipeline.codecs.find(self._chunk, self.metadata.dtype)
        self._background = Background(self.metadata.fill_value, array.config.write_empty_chunks)

    def write(self, selection: Any, value: Any) -> bool:
        """Write the pixels of a selection; return False, and write nothing, if only zarr-python can write them.

        Raises
        ------
        FormatError
            A chunk that changes in part cannot be decoded.
        UsageError, ResourceError
            The archive cannot be written.
        """
        if self._codec is None or zarr.config.config.get("ndbuffer") != NUMPY_BUFFER:
            return False
        try:
            window = window_of(selection, self.metadata.shape)
            pixels = self._pixels(value)
            if pixels.shape:
                if pixels.shape != window.result_shape:
                    return False
                pixels = pixels.reshape(window.shape)
            update = PixelUpdate(self._session, self._changes(window.bounds), pixels)
        except OzxError:
            raise
        except Exception:  # noqa: BLE001 (an unsupported selection, or a value for which zarr-python raises the error)
            return False
        try:
            update.write()
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

    def _changes(self, bounds: list[Bounds]) -> list[Change]:
        """Return the changed chunks of a selection."""
        whole = tuple(slice(0, length) for length in self._chunk)
        changes = []
        for chunk, inside, target in overlaps(bounds, self._chunk):
            key = self._prefix + str(self.metadata.encode_chunk_key(chunk))
            is_complete = inside is None or self._is_rest(chunk, inside)
            changes.append(
                Change(key, self._codec, self._background, whole if inside is None else inside, target, is_complete)
            )
        return changes

    def _is_rest(self, chunk: Lengths, inside: tuple[slice, ...]) -> bool:
        """Return whether a part of a chunk is all of the chunk that is inside the array."""
        return all(
            part.start == 0 and part.step == 1 and part.stop == min(extent, length - number * extent)
            for number, part, extent, length in zip(chunk, inside, self._chunk, self.metadata.shape, strict=True)
        )


def basic_writer(array: Any) -> BasicWriter | None:
    """Return a writer for an asynchronous array of zarr-python; None unless it is in an archive that is written."""
    session: Any = getattr(array.store_path.store, "write_session", None)
    if session is None or not isinstance(array.codec_pipeline, ArchivePipeline):
        return None
    if not has_regular_chunks(array.metadata) or array.metadata.fill_value is None:
        return None
    return BasicWriter(array, session)
