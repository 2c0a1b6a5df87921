"""The chunk grid ``rectilinear``, with a list of chunk lengths per axis (zarr-extensions, "Rectilinear chunk grid")."""

from __future__ import annotations

import itertools
import math
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.json.reading import Document, as_lengths
from ozx.hierarchy.zarr.array import item_size
from ozx.hierarchy.zarr.codecs import SHARDING, parse_codecs, parse_named
from ozx.hierarchy.zarr.layout import Edges, check_chunk_count

# So many lengths need little memory, however often a pair [length, count] repeats one.
MOST_LENGTHS = 1 << 20
# A chunk is decoded as a whole; blosc has the same limit. The last chunk may be far longer than its part of the array.
_LARGEST_CHUNK = 1 << 31
_HINT = "ozx pack and unpack, and repack without a new layout, copy the array unchanged."

_Runs = list[tuple[int, int]]


def parse_edges(document: Document, node: str) -> Edges | None:
    """Return the `ozx.hierarchy.zarr.layout.ArrayLayout.edges` of a rectilinear array; None for another grid."""
    grid, where = parse_named(document.get("chunk_grid")), node or "the root"
    if grid is None or grid.name != "rectilinear":
        return None
    if grid.configuration.get("kind") != "inline":
        kind = grid.configuration.get("kind")
        raise UnsupportedError(f"{where}: expected a rectilinear grid of the kind 'inline'; found {kind!r}", hint=_HINT)
    shape, axes = as_lengths(document.get("shape")), grid.configuration.get("chunk_shapes")
    if shape is None or not isinstance(axes, list) or len(axes) != len(shape):
        message = f"{where}: expected as many axes in the chunk_shapes of the rectilinear grid as in shape"
        raise FormatError(f"{message}; the numbers differ", hint=_HINT)
    if any(codec.name == SHARDING for codec in parse_codecs(document.get("codecs"))):
        raise UnsupportedError(f"{where}: ozx does not support shards in the chunk grid 'rectilinear'", hint=_HINT)
    runs = [_parse_runs(axis, whole, where) for axis, whole in zip(axes, shape, strict=True)]
    count = sum(count for axis in runs for _, count in axis)
    if count > MOST_LENGTHS:
        raise UnsupportedError(
            f"{where}: expected a rectilinear grid of up to {MOST_LENGTHS:,} lengths; found {count:,}", hint=_HINT
        )
    edges = tuple(_edges(axis, whole, where) for axis, whole in zip(runs, shape, strict=True))
    counts = tuple(len(axis) - 1 for axis in edges)
    check_chunk_count(counts, (1,) * len(counts), where)
    _check_size(document, edges, where)
    return edges


def regular_document(document: Document, edges: Edges) -> Document:
    """Return the document of a rectilinear array with a regular grid, whose chunks have the longest lengths."""
    lengths = [max(1, min(most, whole)) for most, whole in zip(_longest(edges), document["shape"], strict=True)]
    return {**document, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}}}


def _check_size(document: Document, edges: Edges, where: str) -> None:
    data_type = parse_named(document.get("data_type"))
    size = math.prod(_longest(edges)) * ((None if data_type is None else item_size(data_type)) or 1)
    if size > _LARGEST_CHUNK:
        raise UnsupportedError(
            f"{where}: expected chunks of up to 2 GiB in the rectilinear grid; the largest has {size:,} bytes",
            hint=_HINT,
        )


def _longest(edges: Edges) -> list[int]:
    return [max((stop - start for start, stop in itertools.pairwise(axis)), default=1) for axis in edges]


def _parse_runs(axis: Any, whole: int, where: str) -> _Runs:
    """Return the pairs of length and count of one axis."""
    if isinstance(axis, list):
        runs = [tuple(item) if isinstance(item, list) else (item, 1) for item in axis]
    else:
        # "repeat the integer until it defines a sequence with a sum greater than or equal to" the axis.
        runs = [(axis, -(-whole // axis) if type(axis) is int and axis > 0 else 0)]
    is_right = all(len(run) == 2 and all(type(number) is int for number in run) for run in runs)
    if not is_right or any(length < 1 or (count < 1 and isinstance(axis, list)) for length, count in runs):
        message = f"{where}: expected lengths of at least one pixel, and pairs [length, count], in the rectilinear grid"
        raise FormatError(f"{message}; found others", hint=_HINT)
    return runs


def _edges(runs: _Runs, whole: int, where: str) -> tuple[int, ...]:
    edges = [0]
    for length, count in runs:
        # "Overflowing by multiple chunks is permitted": readers ignore chunks outside of the array.
        for _ in range(min(count, -(-(whole - edges[-1]) // length))):
            edges.append(edges[-1] + length)
    if edges[-1] < whole:
        raise FormatError(
            f"{where}: expected lengths in the rectilinear grid that cover the {whole:,} pixels of the axis; "
            f"their sum is {edges[-1]:,}",
            hint=_HINT,
        )
    return tuple(edges)
