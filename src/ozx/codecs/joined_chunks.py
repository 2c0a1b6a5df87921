"""Decode many small chunks by one call of the decompressor.

A call for a chunk of 8 KiB spends half of its time on memory of the decompressor, and takes Python's lock again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ozx.codecs.bounded import OversizeError, parse_zstd_header
from ozx.codecs.chunk_codecs import TOGETHER, ChunkCodec, decompress_into, scratch


class JoinedChunk(NamedTuple):
    """A chunk to be decoded together with others."""

    codec: ChunkCodec
    inside: tuple[slice, ...] | None  # the part to copy, or None for the whole chunk
    target: NDArray[Any]
    verified: Callable[[memoryview], memoryview] | None = None  # returns the stored chunk in the bytes of its span


#: What to do with the bytes of a chunk: a function, or to decode it with others.
Take = Callable[[memoryview], object] | JoinedChunk


def decoding(codec: ChunkCodec, inside: tuple[slice, ...] | None, target: NDArray[Any]) -> Take:
    """Return how to decode a chunk, and to copy its part `inside`, or all of it, to the target."""
    if codec.is_joinable:
        return JoinedChunk(codec, inside, target)
    return partial(codec.put, inside, target)


def put_joined(chunks: Sequence[tuple[JoinedChunk, memoryview]]) -> None:
    """Decode chunks, and copy each, or its part, to its target; raise the error of the first damaged chunk."""
    stored = [(chunk, data if chunk.verified is None else chunk.verified(data)) for chunk, data in chunks]
    for _, same in groupby(stored, key=lambda pair: id(pair[0].codec)):
        group = list(same)
        codec = group[0][0].codec
        count = max(1, TOGETHER // codec.size)
        for first in range(0, len(group), count):
            _put_batch(codec, group[first : first + count])


def _put_batch(codec: ChunkCodec, batch: list[tuple[JoinedChunk, memoryview]]) -> None:
    try:
        decoded = _decoded(codec, [data for _, data in batch])
    except (ValueError, OversizeError):
        for chunk, data in batch:
            codec.put(chunk.inside, chunk.target, data)
        return
    for (chunk, _), pixels in zip(batch, decoded, strict=True):
        chunk.target[...] = pixels if chunk.inside is None else pixels[chunk.inside]


def _decoded(codec: ChunkCodec, chunks: list[memoryview]) -> NDArray[Any]:
    """Return an array of the chunks, valid until this thread decodes others; raise `ValueError` if one is odd.

    The decompressor checks that each frame has the length that its header declares. So all chunks must begin with the
    same header, which declares the length of a chunk: a damaged chunk does not shift those after it. Only a file made
    for it could pass two frames in one chunk, and one frame in two, of which each decoded alone is an error.
    """
    frames = [codec.without_checksums(data) for data in chunks] if codec.checksums_outside else chunks
    header, declared = parse_zstd_header(frames[0])
    if declared != codec.size or any(frame[: len(header)] != header for frame in frames):
        raise ValueError(f"expected frames of zstd with the same header, each of {codec.size:,} bytes")
    octets = scratch(len(frames) * codec.size)
    decompress_into({"id": "zstd"}, memoryview(b"".join(frames)), octets)
    pixels = octets.view(codec.dtype).reshape(len(frames), *codec.stored_shape)
    return pixels.transpose(0, *(axis + 1 for axis in codec.inverse)) if codec.is_transposed else pixels
