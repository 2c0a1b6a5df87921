"""Test that chunks can be decoded; discard the pixels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.bounded import decoding_reason
from ozx.codecs.pixel_codec import open_codec
from ozx.errors import FormatError, ResourceError, UnsupportedError
from ozx.flow.chunks.block_transcoding import UndecodableError
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.zarr.layout import ArrayLayout, IndexFormat, index_of

Lengths = tuple[int, ...]

# The largest chunk that is decoded.
_LARGEST = 2 << 30


class ChunkDecoder:
    """Decoder of the chunks of one array (the inner chunks if the array is sharded)."""

    def __init__(self, document: Document, layout: ArrayLayout, path: str) -> None:
        self._bytes = math.prod(layout.chunks) * (layout.item_size or 1)
        if self._bytes > _LARGEST:
            raise UnsupportedError(
                f"{path or 'the root'}: expected chunks of at most 2 GiB; each chunk has {self._bytes:,} bytes"
            )
        self._codec = open_codec(document, path)

    def decode(self, chunks: Mapping[Lengths, bytes]) -> None:
        """Decode encoded chunks by their coordinates in the array's chunk grid; discard the pixels."""
        decoded = self._codec.iter_decoded(list(chunks.values()))
        for place in chunks:
            try:
                with warnings.catch_warnings(action="ignore"):
                    next(decoded)
            except (MemoryError, ResourceError):
                # The verdict on a chunk must not depend on the machine's memory.
                raise UndecodableError(place, f"memory ran out while decoding it to {self._bytes:,} bytes") from None
            except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
                raise UndecodableError(place, decoding_reason(error)) from None


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
    index = index_of(shard, grid, where, form)
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
