"""The chunk layout of a Zarr v2 array: each chunk is one stored value."""

from __future__ import annotations

from typing import Any

from ozx.errors import FormatError
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, check_chunk_count
from ozx.hierarchy.zarr_v2.documents import parse_v2_array


def parse_v2_layout(document: dict[str, Any], node: str) -> ArrayLayout:
    """Return the chunk layout of an array from its ``.zarray``, without its codecs."""
    array = parse_v2_array(document)
    if array.shape is None or array.chunks is None or len(array.shape) != len(array.chunks):
        raise FormatError(f"{node or 'the root'}: expected a .zarray; {', '.join(array.problems)}")
    separator = document.get("dimension_separator", ".")
    if separator not in (".", "/"):
        raise FormatError(f"{node or 'the root'}: expected dimension_separator . or /; found {separator!r}")
    chunks = tuple(max(1, length) for length in array.chunks)  # an empty array has no chunks at all
    check_chunk_count(array.shape, chunks, node or "the root")
    return ArrayLayout(
        shape=array.shape,
        chunks=chunks,
        levels=(),
        codecs=(),
        keys=ChunkKeys("v2", separator),
        item_size=array.item_size,
        dimension_names=(None,) * len(array.shape),
    )
