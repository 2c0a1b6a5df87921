"""Decode chunks to test that they can be decoded; discard the pixels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, ResourceError, UnsupportedError
from ozx.flow.chunks.block_transcoding import UndecodableError, open_decoded, parse_metadata, readable_document
from ozx.flow.decoding.bounded import decoding_reason
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.zarr.layout import ArrayLayout, IndexFormat, parse_index, relayout_document

if TYPE_CHECKING:
    from ozx.flow.decoding.chunk_codecs import ChunkCodec

Lengths = tuple[int, ...]

# Bytes decoded at once if chunks are small, and the largest chunk that is decoded.
_BLOCK = 64 << 20
_LARGEST = 2 << 30


class ChunkDecoder:
    """Decoder that uses zarr-python for the chunks of one array (the inner chunks if the array is sharded)."""

    def __init__(self, document: Document, layout: ArrayLayout, path: str) -> None:
        self._layout = layout
        self._bytes = math.prod(layout.chunks) * (layout.item_size or 1)
        if self._bytes > _LARGEST:
            raise UnsupportedError(
                f"{path or 'the root'}: expected chunks of at most 2 GiB; each chunk has {self._bytes:,} bytes"
            )
        if document.get("zarr_format") == 2:
            plain = {name: value for name, value in document.items() if name != "attributes"}
        else:
            plain = relayout_document(readable_document(document, path), None)
        self._metadata = parse_metadata(plain, path or "the root")
        from ozx.flow.decoding.chunk_codecs import compile_metadata  # noqa: PLC0415 (loads zarr, half a second)

        self._codec = compile_metadata(self._metadata)

    def decode(self, chunks: Mapping[Lengths, bytes]) -> None:
        """Decode `chunks`, encoded chunks by their coordinates in the array's chunk grid; discard the pixels."""
        if not chunks:
            return
        if self._codec is not None:
            chunks = {place: data for place, data in chunks.items() if not _is_decoded(self._codec, data)}
            for place, data in chunks.items():  # zarr-python words the error
                self._decode_one(place, data)
            return
        box = self._box_around(chunks)
        size = math.prod(span.stop - span.start for span in box) * (self._layout.item_size or 1)
        if size > max(_BLOCK, self._bytes) or not self._decodes(chunks, box):
            for place, data in chunks.items():
                self._decode_one(place, data)

    def _decodes(self, chunks: Mapping[Lengths, bytes], box: tuple[slice, ...]) -> bool:
        """Return whether one call decodes all of `chunks` without an error."""
        try:
            self._read(chunks, box)
        except Exception:  # noqa: BLE001 (codecs may raise any exception)
            return False
        return True

    def _decode_one(self, place: Lengths, data: bytes) -> None:
        try:
            self._read({place: data}, self._box_around([place]))
        except (MemoryError, ResourceError):
            # The verdict on a chunk must not depend on the machine's memory.
            raise UndecodableError(place, f"memory ran out while decoding it to {self._bytes:,} bytes") from None
        except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
            raise UndecodableError(place, decoding_reason(error)) from None

    def _read(self, chunks: Mapping[Lengths, bytes], box: tuple[slice, ...]) -> None:
        from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415 (loads zarr, half a second)

        from_bytes = default_buffer_prototype().buffer.from_bytes
        encode = self._metadata.encode_chunk_key
        stored = {encode(place): from_bytes(data) for place, data in chunks.items()}
        with warnings.catch_warnings(action="ignore"):
            np.asarray(open_decoded(self._metadata, stored)[box])

    def _box_around(self, places: Mapping[Lengths, bytes] | list[Lengths]) -> tuple[slice, ...]:
        spans = []
        axes = zip(zip(*places, strict=True), self._layout.chunks, self._layout.shape, strict=True)
        for positions, chunk, length in axes:
            spans.append(slice(min(positions) * chunk, min(length, (max(positions) + 1) * chunk)))
        return tuple(spans)


def _is_decoded(codec: ChunkCodec, data: bytes) -> bool:
    try:
        codec.decode_bounded(memoryview(data))
    except Exception:  # noqa: BLE001 (codecs may raise any exception)
        return False
    return True


def iter_inner_chunks(data: bytes, place: Lengths, layout: ArrayLayout, where: str) -> Iterator[tuple[Lengths, bytes]]:
    """Yield each chunk of a stored value with its coordinates, which may lie beyond the array's chunk grid."""
    found = [(place, data)]
    for level in layout.levels:
        per_shard, form = level.chunks_per_shard, level.index
        found = [inner for outer, shard in found for inner in _inner(shard, outer, per_shard, form, where)]
    yield from found


def _inner(
    shard: bytes, place: Lengths, grid: Lengths, form: IndexFormat, where: str
) -> Iterator[tuple[Lengths, bytes]]:
    count, size = math.prod(grid), len(shard)
    start = max(0, form.offset(count, size))
    index = parse_index(shard[start : start + form.size(count)], grid, size, where, form)
    _check_apart(index.offsets.ravel(), index.lengths.ravel(), where)
    for inside in zip(*np.nonzero(index.lengths), strict=True):
        offset, length = int(index.offsets[inside]), int(index.lengths[inside])
        at = tuple(outer * per + int(part) for outer, per, part in zip(place, grid, inside, strict=True))
        yield at, shard[offset : offset + length]


def _check_apart(offsets: NDArray[np.int64], lengths: NDArray[np.int64], where: str) -> None:
    """Raise `FormatError` if chunks overlap partly; several chunks may have the same span."""
    spans = np.unique(np.stack([offsets, offsets + lengths], axis=1)[lengths > 0], axis=0)
    shared = np.flatnonzero(spans[1:, 0] < spans[:-1, 1])
    if len(shared):
        (_, end), (begin, _) = spans[shared[0]].tolist(), spans[shared[0] + 1].tolist()
        raise FormatError(
            f"{where}: expected inner chunks that do not overlap; a chunk begins at byte {begin:,}, before the "
            f"previous one ends at {end:,}",
            rule="zarr/shard-index",
        )
