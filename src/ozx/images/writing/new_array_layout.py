"""Layout of the arrays of new images: chunks, shards, and ``zarr.json`` documents.

That of existing arrays is chosen in `ozx.ome.relayout`.

============ ======================= ==================================================
axes         chunk                   shard
============ ======================= ==================================================
y, x         squares of 512 × 512    squares of chunks, up to 32 MiB decoded
z, t, others one plane               as many planes as then fit into 32 MiB
channels     one channel             one channel, unless a hierarchy would have more
                                     than 30,000 values
============ ======================= ==================================================

Chunks lie in one plane, because viewers show planes, and hold half a MiB of 16-bit pixels. Shards have only 32 MiB,
because they wait in memory for their last chunk. Along each axis, the number of chunks in a shard is a power of two, or
the shard spans the axis. So a shard of a lower level covers whole shards of the level above, and few shards wait at a
time. If pixels are decoded in squares that do not divide 512, chunks consist of whole squares, so that no square is
decoded twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ozx.errors import UnsupportedError
from ozx.ome.model import Axis
from ozx.ome.relayout.codec_choice import CodecChoice
from ozx.ome.relayout.layout_choice import Axes, LayoutChoice
from ozx.ome.relayout.shard_choice import MOST_ENTRIES
from ozx.zarr.chunk_grid import ChunkGrid
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import parse_layout, relayout_document

#: About as fast as zstd at level 1, with a result that is a quarter smaller.
DEFAULT_CODEC = CodecChoice("blosc", 1, "zstd")

_CHUNK = 512
_SHARD_BYTES = 32 << 20
# Squares with shorter sides are ignored: they are too small for chunks.
_LEAST_GRAIN = 64

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NewArray:
    """An array to be written."""

    shape: Lengths  # shape, pixel type and axes of the array
    dtype: np.dtype[Any]
    axes: tuple[Axis, ...]
    read_alignment: Lengths  # the unit of decoding of its pixels, see `PixelSource`; ones if unknown


def lay_out(arrays: Mapping[str, NewArray], choice: LayoutChoice) -> dict[str, Document]:
    """Return the ``zarr.json`` of each new array, by path.

    `choice`: the options; ``keep`` for shards has the effect of ``auto``. Chunks in shards end in a checksum unless
    `choice` says otherwise.
    """
    names: dict[str, Axes] = {
        path: tuple((axis.name, axis.type) for axis in array.axes) for path, array in arrays.items()
    }
    plain = {path: _document(array, choice.codec or DEFAULT_CODEC) for path, array in arrays.items()}
    plain = replace(choice, codec=None).new_documents(plain, names)
    if choice.shards not in ("auto", "keep"):
        return plain
    chunks = {path: parse_layout(relayout_document(document, None), path).chunks for path, document in plain.items()}
    chosen = {path: _shards(array, chunks[path], across=False) for path, array in arrays.items()}
    if sum(ChunkGrid(array.shape, chosen[path]).total for path, array in arrays.items()) > MOST_ENTRIES:
        chosen = {path: _shards(array, chunks[path], across=True) for path, array in arrays.items()}
    relaid = {}
    for path, document in plain.items():
        is_one_chunk = all(part >= whole for part, whole in zip(chunks[path], arrays[path].shape, strict=True))
        shards = None if is_one_chunk else chosen[path]
        relaid[path] = relayout_document(document, shards, choice.checksum_option(come_into_shards=shards is not None))
    return relaid


def grown(lengths: Sequence[int], shape: Sequence[int], order: Sequence[Sequence[int]], room: int) -> Lengths:
    """Double `lengths` axis by axis until they cover `shape`, but let their product grow at most `room`-fold.

    `order`: groups of axes, which are doubled one group after the other; within a group, the axis that has grown least
    is doubled next.

    Examples
    --------
    >>> grown((1, 512, 512), (40, 3000, 1000), [(1, 2), (0,)], 64)
    (4, 3072, 1024)
    """
    result = list(lengths)
    for group in order:
        while growing := [axis for axis in group if result[axis] < shape[axis]]:
            axis = min(growing, key=lambda axis: result[axis] // lengths[axis])
            whole = -(-shape[axis] // lengths[axis]) * lengths[axis]
            longer = min(2 * result[axis], whole)
            pixels = math.prod(result) // result[axis] * longer
            if pixels > room * math.prod(lengths):
                return tuple(result)
            result[axis] = longer
    return tuple(result)


def _document(array: NewArray, codec: CodecChoice) -> Document:
    dtype = array.dtype
    if dtype.kind not in "biufc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise UnsupportedError(
            f"OME-Zarr cannot store {dtype}: expected bool, integers, floats of at most 64 bits or complex numbers of "
            "at most 128 bits",
            hint="Convert the pixels to one of these types.",
        )
    # Zarr core 3.1, "bytes codec": endian is for items of several bytes.
    serializer: Document = {"name": "bytes"}
    if dtype.itemsize > 1:
        serializer["configuration"] = {"endian": "little"}
    fill = {"b": False, "f": 0.0, "c": [0.0, 0.0]}.get(dtype.kind, 0)
    names = [axis.name for axis in array.axes]
    return array_document(
        array.shape, names, _chunks(array), dtype.name, fill, [serializer, *codec.codecs(dtype.itemsize)]
    )


def array_document(
    shape: Lengths, names: Sequence[str | None], chunks: Lengths, data_type: str, fill: Any, codecs: Sequence[Document]
) -> Document:
    """Return the ``zarr.json`` of an array without shards."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": list(codecs),
        "attributes": {},
        "dimension_names": list(names),
    }


def _chunks(array: NewArray) -> Lengths:
    plane = len(array.shape) - 2
    return tuple(
        max(1, min(length, _fitting(read_alignment))) if axis >= plane else 1
        for axis, (length, read_alignment) in enumerate(zip(array.shape, array.read_alignment, strict=True))
    )


def _fitting(read_alignment: int) -> int:
    """Return a chunk length near 512 that is a multiple of `read_alignment` if possible.

    Examples
    --------
    >>> [_fitting(read_alignment) for read_alignment in (1, 240, 256, 768, 1024, 20_000)]
    [512, 480, 512, 768, 512, 512]
    """
    if not _LEAST_GRAIN <= read_alignment <= 2 * _CHUNK or _CHUNK % read_alignment == 0 or read_alignment % _CHUNK == 0:
        return _CHUNK
    return max(1, _CHUNK // read_alignment) * read_alignment


def _shards(array: NewArray, chunks: Lengths, *, across: bool) -> Lengths:
    room = max(1, _SHARD_BYTES // (math.prod(chunks) * array.dtype.itemsize))
    count = len(chunks)
    plane = tuple(range(max(0, count - 2), count))
    others = [axis for axis in reversed(range(plane[0])) if across or array.axes[axis].type != "channel"]
    # If whole rows are decoded together, shards of few rows are complete soon.
    is_striped = array.read_alignment[-1] > 2 * chunks[-1]
    order = [(axis,) for axis in plane[::-1]] if is_striped else [plane[::-1]]
    return grown(chunks, array.shape, [*order, *((axis,) for axis in others)], room)
