"""Choice of shards for existing arrays.

Chunks and compressors are chosen in `ozx.ome.relayout.codec_choice`, the layout of new images in
`ozx.images.writing.new_array_layout`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ozx.errors import UsageError
from ozx.ome.relayout.rechunking import GUESSED_ITEM, check_axes, parse_axis_lengths, requested_axes
from ozx.zarr.chunk_grid import ChunkGrid
from ozx.zarr.layout import ArrayLayout, Lengths, index_size

#: The largest shard in bytes: readers drop or refuse larger entries.
LARGEST_SHARD = 1 << 31
#: The number of stored values in a hierarchy above which shards span times and channels: readers load the list of all
#: entries first, and some fail at 65,535.
MOST_ENTRIES = 30_000

# The largest decoded size of an automatically chosen shard: a decoder may hold a whole shard in memory.
_LARGEST_DECODED = 512 << 20
# The index, with 16 bytes for each chunk, is read before the first chunk.
_MOST_INNER_CHUNKS = 16_384
# Blosc, zstd and gzip expand incompressible data by less than 1/128 plus some bytes.
_GROWTH, _FRAME = 128, 512

_APART_NAMES = frozenset(("t", "c", "time", "channel"))
_APART_TYPES = frozenset(("time", "channel"))


#: The requested shard size: ``auto``, ``keep`` for the present shards, ``none``, or shard lengths in pixels by the name
#: of the axis or the number of the dimension. Along any other axis, a shard is one chunk long.
ShardPolicy = Literal["auto", "keep", "none"] | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ShardArray:
    """An array that gets new shards."""

    layout: ArrayLayout
    # Name and type of each dimension's axis, from OME-Zarr metadata; empty without such metadata.
    axes: tuple[tuple[str | None, str | None], ...] = ()

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the axes, from the image if possible, else from the array."""
        given = [name for name, _ in self.axes] if len(self.axes) == len(self.layout.shape) else []
        own = self.layout.dimension_names
        return tuple(a or b for a, b in zip(given, own, strict=True)) if given else own

    @property
    def are_apart(self) -> tuple[bool, ...]:
        """A flag for each dimension: whether viewers show one position at a time, as along a time axis."""
        types = [kind for _, kind in self.axes] if len(self.axes) == len(self.layout.shape) else []
        types = types or [None] * len(self.layout.shape)
        return tuple(
            kind in _APART_TYPES or (kind is None and name is not None and name.lower() in _APART_NAMES)
            for name, kind in zip(self.names, types, strict=True)
        )


def parse_shard_policy(value: str | Mapping[str, int]) -> ShardPolicy:
    """Parse a shard size: ``auto``, ``keep``, ``none`` or lengths by axis, as text or as a mapping."""
    if isinstance(value, str):
        kinds: tuple[Literal["auto", "keep", "none"], ...] = ("auto", "keep", "none")
        for kind in kinds:
            if value.strip() == kind:
                return kind
    lengths = parse_axis_lengths(value)
    if lengths is None:
        raise UsageError(f"expected auto, keep, none, or shard lengths in pixels as in y=4096,x=4096; got {value!r}")
    return lengths


def choose_shards(arrays: Mapping[str, ShardArray], policy: ShardPolicy) -> dict[str, Lengths | None]:
    """Return the shard lengths of each array; None for an array without shards.

    With ``auto``, a shard has at most 16,384 whole chunks, which decode to at most 512 MiB; it grows along the last
    axes first. It spans times or channels only if its chunks do, or if the hierarchy would have more than
    `MOST_ENTRIES` values. Present shards stay unless a shard could exceed `LARGEST_SHARD` or there would be too many
    values.
    """
    if policy == "none":
        return dict.fromkeys(arrays)
    if policy == "keep":
        return {path: array.layout.shards for path, array in arrays.items()}
    if not isinstance(policy, str):
        return _choose_requested(arrays, policy)
    chosen = {path: _kept(array) or _choose(array, across=False) for path, array in arrays.items()}
    if sum(_count(arrays[path], shards) for path, shards in chosen.items()) > MOST_ENTRIES:
        chosen = {path: _choose(array, across=True) for path, array in arrays.items()}
    return chosen


def _choose(array: ShardArray, *, across: bool) -> Lengths | None:
    layout = array.layout
    room = min(_LARGEST_DECODED // max(1, _decoded_size(layout, layout.chunks)), _MOST_INNER_CHUNKS)
    multiples = [1] * len(layout.shape)
    # The last axes first: a shard is a stack of whole planes, where planes fit.
    for dimension in reversed(range(len(multiples))):
        length = layout.grid[dimension]
        if array.are_apart[dimension] and not across and layout.chunks[dimension] == 1:
            continue
        most = min(length, room)
        if most > 1:
            # As few shards as possible, of equal lengths.
            multiples[dimension] = math.ceil(length / math.ceil(length / most))
            room //= multiples[dimension]
    if math.prod(multiples) <= 1:
        return None
    return tuple(multiple * part for multiple, part in zip(multiples, layout.chunks, strict=True))


def _kept(array: ShardArray) -> Lengths | None:
    shards = array.layout.shards
    return shards if shards is not None and _largest_size(array.layout, shards) <= LARGEST_SHARD else None


def _choose_requested(arrays: Mapping[str, ShardArray], lengths: Mapping[str, int]) -> dict[str, Lengths | None]:
    chosen: dict[str, Lengths | None] = {}
    check_axes(lengths, [array.names for array in arrays.values()])
    for path, array in arrays.items():
        axes = requested_axes(lengths, array.names)
        if not axes:  # a 0-d array has one chunk, and nothing to divide
            chosen[path] = None
            continue
        shards = tuple(_requested_length(array.layout, number, axis, lengths, path) for number, axis in enumerate(axes))
        size = _largest_size(array.layout, shards)
        if size > LARGEST_SHARD and shards != array.layout.chunks:
            raise UsageError(
                f"{path or 'the root'}: expected shards of at most {LARGEST_SHARD:,} bytes; "
                f"shards of {'×'.join(map(str, shards))} pixels can have {size:,} bytes",
                hint="Some readers do not read larger entries: choose smaller shards.",
            )
        chosen[path] = shards
    return chosen


def _requested_length(layout: ArrayLayout, number: int, axis: str | None, lengths: Mapping[str, int], path: str) -> int:
    chunk, whole = layout.chunks[number], max(1, layout.grid[number]) * layout.chunks[number]
    if axis is None:
        return chunk
    length = lengths[axis]
    if length >= layout.shape[number]:
        return whole
    if length % chunk:
        below = length // chunk * chunk
        nearest = [str(multiple) for multiple in (below, below + chunk) if multiple]
        raise UsageError(
            f"{path or 'the root'}: expected a multiple of the chunk's length along {axis}, {chunk}; got {length}",
            hint=f"The nearest {'is' if len(nearest) == 1 else 'are'} {' and '.join(nearest)}.",
        )
    return length


def _decoded_size(layout: ArrayLayout, lengths: Sequence[int]) -> int:
    return math.prod(lengths) * (GUESSED_ITEM if layout.item_size is None else layout.item_size)


def _largest_size(layout: ArrayLayout, shards: Lengths) -> int:
    """Return the largest possible size of a shard in bytes, for incompressible chunks."""
    chunks = math.prod(whole // part for whole, part in zip(shards, layout.chunks, strict=True))
    one = _decoded_size(layout, layout.chunks)
    return chunks * (one + one // _GROWTH + _FRAME) + index_size(chunks)


def _count(array: ShardArray, shards: Lengths | None) -> int:
    return ChunkGrid(array.layout.shape, shards or array.layout.chunks).total
