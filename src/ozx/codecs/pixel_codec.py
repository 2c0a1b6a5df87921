"""The codecs of an array's chunks: ozx's own, or those of zarr-python where only it has them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.chunk_codecs import ChunkCodec, compile_codecs, compile_v2, is_filled
from ozx.codecs.zarr_errors import check_codecs_installed, missing_codec, words_of
from ozx.errors import UnsupportedError
from ozx.ome.relayout.layout_choice import understands_relayout
from ozx.zarr.json_reading import Document
from ozx.zarr.keys import METADATA
from ozx.zarr.layout import relayout_document
from ozx.zarr.normalisation import DECODING_POINTS, normalise_document
from ozx.zarr.v2_arrays import parse_v2_layout

if TYPE_CHECKING:
    import zarr

Lengths = tuple[int, ...]

# zarr-python counts chunks with floating-point numbers, which are exact up to this number.
_LONGEST = 1 << 53
# Bytes that zarr-python decodes at once if chunks are small.
_TOGETHER = 64 << 20
_FIELDS_OF_V2 = ("zarr_format", "shape", "chunks", "dtype", "compressor", "filters", "order", "dimension_separator")


@dataclass(frozen=True, slots=True)
class PixelCodec:
    """The decoder and the encoder of an array's chunks, without its shards; picklable for other processes."""

    metadata: Any  # zarr-python's metadata of an array of one chunk
    codec: ChunkCodec | None  # None if only zarr-python has these codecs

    @property
    def shape(self) -> Lengths:
        """Lengths of a chunk in pixels."""
        return tuple(self.metadata.chunks)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of decoded pixels."""
        dtype: np.dtype[Any] = self.metadata.dtype.to_native_dtype()
        return dtype

    @property
    def fill_value(self) -> Any:
        """The value of missing pixels."""
        return self.metadata.fill_value

    def of_shape(self, shape: Lengths) -> PixelCodec:
        """Return the codec for chunks of other lengths, as in a rectilinear grid (Zarr v3 only)."""
        if shape == self.shape:
            return self
        grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
        return _compiled(replace(self.metadata, shape=shape, chunk_grid=grid))

    def iter_decoded(self, chunks: Sequence[bytes]) -> Iterator[NDArray[Any]]:
        """Yield each chunk decoded; it is valid until the next one. Errors are those of zarr-python for this chunk."""
        size = math.prod(self.shape) * self.dtype.itemsize
        count = max(1, _TOGETHER // max(1, size)) if self.codec is None and self.shape else 1
        for start in range(0, len(chunks), count):
            batch = chunks[start : start + count]
            found = None
            if len(batch) > 1:
                with suppress(Exception):  # of one of the chunks
                    found = self._decode(batch)
            yield from map(self.decode, batch) if found is None else found

    def decode(self, data: bytes) -> NDArray[Any]:
        """Return a decoded chunk; it is valid until this thread decodes another chunk."""
        if self.codec is not None:
            with suppress(Exception):  # codecs may raise any exception; zarr-python words the error
                return self.codec.decode_bounded(memoryview(data))
        return self._decode([data])[0]

    def _decode(self, chunks: Sequence[bytes]) -> list[NDArray[Any]]:
        """Decode chunks by zarr-python, as an array with one chunk after the other: each call waits for its threads."""
        from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415 (loads zarr, half a second)

        from_bytes = default_buffer_prototype().buffer.from_bytes
        found = self._open({self._key(at): from_bytes(data) for at, data in enumerate(chunks)}, len(chunks))
        # For text in an array without dimensions, zarr returns a str; numpy alone would choose a type of its length.
        pixels = np.asarray(found[...], found.dtype)
        return [pixels] if len(chunks) == 1 else np.split(pixels, len(chunks))

    def encode(self, pieces: Sequence[NDArray[Any]]) -> list[bytes | None]:
        """Return encoded chunks; None for a chunk of only fill values. Pixels may end at the edge of the array.

        Bits are compared, so that nothing is lost: minus zero and NaNs with another payload do not count as fill
        values.
        """
        if self.codec is not None:
            encoded = (self.codec.encode_unless_filled(pixels, self.fill_value) for pixels in pieces)
            return [None if data is None else bytes(data) for data in encoded]
        is_filled_at = [is_filled(pixels, np.asarray(self.fill_value, pixels.dtype)) for pixels in pieces]
        kept = [pixels for pixels, is_all in zip(pieces, is_filled_at, strict=True) if not is_all]
        keys = iter(map(self._key, range(len(kept))))
        stored = self._encode(kept) if kept else {}
        return [None if is_all else bytes(stored[next(keys)].to_bytes()) for is_all in is_filled_at]

    def _encode(self, pieces: Sequence[NDArray[Any]]) -> dict[str, Any]:
        """Encode chunks by zarr-python, see `_decode`."""
        stored: dict[str, Any] = {}
        array = self._open(stored, len(pieces))
        if not self.shape:
            array[...] = pieces[0]
            return stored
        values = np.full(array.shape, self.fill_value, array.dtype)
        for number, pixels in enumerate(pieces):
            values[number * self.shape[0] :][tuple(map(slice, pixels.shape))] = pixels
        array[...] = values
        return stored

    def _key(self, number: int) -> str:
        return str(self.metadata.encode_chunk_key((number, *(0,) * (len(self.shape) - 1)) if self.shape else ()))

    def _open(self, stored: dict[str, Any], count: int) -> zarr.Array[Any]:
        """Return an array whose chunks are in a dictionary; a value larger than a chunk raises an error."""
        import zarr  # noqa: PLC0415 (half a second)
        from zarr.storage import MemoryStore, StorePath  # noqa: PLC0415

        from ozx.codecs.bounded_arrays import bound_array  # noqa: PLC0415 (loads zarr)

        # ozx itself finds the chunks that hold only fill values, because zarr treats all NaNs as equal.
        metadata = self.metadata if count == 1 else self.metadata.update_shape((count * self.shape[0], *self.shape[1:]))
        array = zarr.AsyncArray(metadata, StorePath(MemoryStore(stored)), config={"write_empty_chunks": True})
        opened: zarr.Array[Any] = bound_array(zarr.Array(array))
        return opened


def open_codec(document: Document, path: str) -> PixelCodec:
    """Return the codec of the (inner) chunks of an array from its ``zarr.json`` or ``.zarray``."""
    where = path or "the root"
    if document.get("zarr_format") == 2:
        kept = {field: document[field] for field in _FIELDS_OF_V2 if field in document}
        plain = {**kept, "chunks": list(parse_v2_layout(document, path).chunks), "fill_value": None}
        metadata = _parse_metadata(plain, where)
        settings, shape, dtype = plain.get("compressor"), tuple(metadata.chunks), metadata.dtype.to_native_dtype()
        return PixelCodec(metadata, compile_v2(settings, plain.get("filters"), plain.get("order", "C"), shape, dtype))
    plain = relayout_document(readable_document(document, path), None)
    return _compiled(_parse_metadata(plain, where))


def _compiled(metadata: Any) -> PixelCodec:
    codecs = [codec.to_dict() for codec in metadata.codecs]
    codec = compile_codecs(codecs, tuple(metadata.chunks), metadata.dtype.to_native_dtype())
    return PixelCodec(metadata, codec if isinstance(codec, ChunkCodec) else None)


def readable_document(document: Document, path: str) -> Document:
    """Return a ``zarr.json`` in a form that zarr-python accepts; leave out attributes and dimension names."""
    from ozx.codecs.codec_support import zarr_understands  # noqa: PLC0415 (loads zarr, half a second)

    plain = {**document, "attributes": {}}
    plain.pop("dimension_names", None)

    def understands(point: str, value: Any) -> bool:
        # If ozx can move chunks under an extension, zarr-python can decode these chunks, provided that it has the
        # codecs.
        is_handled = point not in DECODING_POINTS and understands_relayout(point, value)
        return is_handled or zarr_understands(point, value)

    readable: Document = json.loads(normalise_document(json.dumps(plain).encode(), path, understands))
    return readable


def _parse_metadata(document: Document, where: str) -> Any:
    """Return zarr-python's metadata of an array."""
    import zarr  # noqa: PLC0415 (half a second)
    from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415
    from zarr.storage import MemoryStore  # noqa: PLC0415

    lengths = document.get("shape")
    if isinstance(lengths, list) and any(type(length) is int and length > _LONGEST for length in lengths):
        raise UnsupportedError(f"{where}: expected at most 2**53 pixels along each dimension; found more")
    version: Literal[2, 3] = 2 if document.get("zarr_format") == 2 else 3
    data = default_buffer_prototype().buffer.from_bytes(json.dumps(document).encode())
    try:
        # zarr-python warns of unregistered extensions; ozx has already reported them.
        with warnings.catch_warnings(action="ignore"):
            store = MemoryStore({".zarray" if version == 2 else METADATA: data})
            metadata = zarr.open_array(store, mode="r", zarr_format=version).metadata
    except Exception as error:  # noqa: BLE001 (zarr-python may raise any exception for an unexpected document)
        missing = missing_codec(error, where)
        message = f"{where}: expected an array that zarr-python can open; its error: {words_of(error)}"
        raise missing or UnsupportedError(message) from None
    check_codecs_installed(metadata, where)
    return metadata.update_shape(tuple(metadata.chunks))
