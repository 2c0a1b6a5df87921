"""Move the encoded chunks of an array into other shards, or out of shards.

No chunk is decoded, and each chunk is read only when its entry is written: a new shard consists of spans of the old
values, a new index and, if requested, new checksums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError, UsageError
from ozx.flow.chunks.checksums import ChecksummedChunks
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.stored_chunks import StoredChunks, places_of
from ozx.flow.entry import BytesPart, Entry
from ozx.ome.relayout.shard_choice import LARGEST_SHARD
from ozx.zarr.codecs import ends_in_checksum
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.layout import ArrayLayout, IndexFormat, build_index

#: Maximal number of chunks per shard, read or written: the index of a shard takes 16 bytes for each chunk.
MOST_INNER_CHUNKS = 1 << 22

# Number of unsharded chunks that are looked up at once.
_BATCH = 4096


def iter_resharded(stored: StoredChunks, old: ArrayLayout, new: ArrayLayout, path: str) -> Iterator[Entry]:
    """Yield the stored values of an array in its new layout, in hierarchy order.

    Equal chunks give equal bytes, whatever their old layout: a shard holds them in C order, without gaps, before the
    index. A shard without chunks is not written.

    `old`, `new`: the layouts of the old document and of its `relayout_document`; both have the same array shape and
    chunks. If only one has a checksum at the end of each chunk, checksums are added, or compared and removed.
    """
    return iter_laid_out(moved_chunks(stored, old, new, path), new, path)


def moved_chunks(stored: StoredChunks, old: ArrayLayout, new: ArrayLayout, path: str) -> InnerChunks:
    """Return the chunks of an array as its new layout needs them; see `iter_resharded`."""
    if (old.shape, old.chunks) != (new.shape, new.chunks):
        raise UsageError(
            f"{path or 'the root'}: expected two layouts with equal array and chunk shapes; the shapes differ"
        )
    _check_shards(old, path)
    is_added = ends_in_checksum(new.codecs)
    if is_added == ends_in_checksum(old.codecs):
        return InnerChunks(stored, old)
    return ChecksummedChunks(stored, old, path, is_added=is_added)


def iter_laid_out(chunks: InnerChunks, new: ArrayLayout, path: str) -> Iterator[Entry]:
    """Yield the stored values of `chunks` in another layout with the same chunk grid; see `iter_resharded`."""
    _check_shards(new, path)
    if not new.levels:
        return _iter_chunks(chunks, new, path)
    if len(new.levels) > 1 or new.levels[0][1] != IndexFormat():
        raise UsageError(
            f"{path or 'the root'}: expected shards that are not nested and end in an index with a CRC-32C"
        )
    return _iter_shards(chunks, new, path)


def _check_shards(layout: ArrayLayout, path: str) -> None:
    if math.prod(layout.chunks_per_stored) > MOST_INNER_CHUNKS:
        raise UnsupportedError(
            f"{path or 'the root'}: expected shards of at most {MOST_INNER_CHUNKS:,} inner chunks; "
            f"shards of {'×'.join(map(str, layout.stored_shape))} pixels have {math.prod(layout.chunks_per_stored):,}",
            hint="Use smaller shards.",
        )


def _iter_chunks(chunks: InnerChunks, new: ArrayLayout, path: str) -> Iterator[Entry]:
    numbers = chunks.blocks((1,) * len(new.grid))
    for key, batch in _in_order(numbers, new, path, _BATCH):
        positions, _, parts = chunks.find(batch, is_joined=False)
        for position, part in zip(positions.tolist(), parts, strict=True):
            yield Entry(key[position], (part,))


def _iter_shards(chunks: InnerChunks, new: ArrayLayout, path: str) -> Iterator[Entry]:
    per_shard = new.chunks_per_stored
    for (key,), (number,) in _in_order(chunks.blocks(per_shard), new, path, 1):
        (place,) = places_of([int(number)], new.stored_grid)
        first = [at * per for at, per in zip(place, per_shard, strict=True)]
        # "The index always covers the full shard, also past the array's edge"; no chunks are there.
        box = [min(per, length - at) for per, length, at in zip(per_shard, new.grid, first, strict=True)]
        ranges = [np.arange(at, at + count) for at, count in zip(first, box, strict=True)]
        wanted = np.ravel_multi_index(np.ix_(*ranges), new.grid).ravel().astype(np.int64)
        positions, stored, parts = chunks.find(wanted, is_joined=True)
        inside = np.zeros(len(wanted), np.int64)
        inside[positions] = stored
        lengths = np.zeros(per_shard, np.int64)
        lengths[tuple(map(slice, box))] = inside.reshape(box)
        index = build_index(None, lengths)
        size = sum(stored.tolist()) + len(index)
        if size > LARGEST_SHARD:
            raise UnsupportedError(
                f"{key}: expected a shard of at most {LARGEST_SHARD:,} bytes; its chunks take {size:,} bytes",
                hint="Some readers cannot read larger entries; choose smaller shards.",
            )
        yield Entry(key, (*parts, BytesPart(index)))


def _in_order(
    numbers: NDArray[np.int64], layout: ArrayLayout, path: str, size: int
) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """Yield batches of at most `size` keys in hierarchy order, with the index of each key's value in the grid."""
    prefix, encode = f"{path}/" if path else "", layout.keys.encode
    if layout.keys.separator == ".":
        # Keys with a single component sort as text: c.0.10 before c.0.9.
        keys = [encode(place) for place in places_of(numbers, layout.stored_grid)]
        numbers = numbers[sorted(range(len(keys)), key=lambda row: hierarchy_order(keys[row]))]
    for start in range(0, len(numbers), size):
        batch = numbers[start : start + size]
        yield [prefix + encode(place) for place in places_of(batch, layout.stored_grid)], batch
