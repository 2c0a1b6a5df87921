"""Transcode an array: decode its chunks, then encode them with another chunk shape or codec.

Pixels stay the same, bit for bit. `ozx.flow.chunks.reshard`, which moves chunks between shards without decoding,
also assembles the new shards of this module.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from ozx.codecs.bounded_filters import largest_stored
from ozx.codecs.pixel_codec import readable_document
from ozx.errors import FormatError, UsageError
from ozx.flow.chunks.block_transcoding import (
    StoredBlock,
    Transcode,
    UndecodableError,
    open_transcoding,
)
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.reshard import iter_resharded
from ozx.flow.chunks.stored_chunks import StoredChunks, places_of
from ozx.flow.entry import Entry, Part, open_spool, read_part
from ozx.ome.relayout.rechunking import BlockGrid, plan_rechunking
from ozx.threads import Workers, in_order
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import ArrayLayout, Edges, parse_layout, relayout_document
from ozx.zarr.v2_arrays import parse_v2_layout

Lengths = tuple[int, ...]
_Chunks = list[tuple[Lengths, bytes]]


def iter_transcoded(
    stored: StoredChunks,
    old: Document,
    new: Document,
    path: str,
    workers: Workers,
    edges: Edges | None = None,
) -> Iterator[Entry]:
    """Yield the stored values of an array after transcoding, in hierarchy order.

    Equal chunks give equal bytes in every run. A new chunk that holds only fill values is not written; a missing chunk
    reads as the fill value of `new`, even if `old` has no fill value.

    Memory holds two blocks for each job of `workers`, whose executor may run them in other processes. A block usually
    decodes to 4 MiB, and to at most 64 MiB unless it is one larger chunk. Memory also holds up to 128 MiB of the chunks
    of a shard until the shard is written; further chunks wait in a temporary file. If the iterator is closed, or after
    an error, blocks not yet begun are cancelled.

    `new`: the document to write, made by `ozx.ome.relayout.codec_choice.transcoded_document`; for Zarr v2, made
    from the result of `ozx.zarr.v2_arrays.upgrade_array`.

    `edges`: `ozx.zarr.layout.ArrayLayout.edges` if the old chunks have different lengths; the grid of `old`
    is then regular, see `ozx.zarr.layout.regular_document`.
    """
    from ozx.codecs.codec_support import zarr_understands  # noqa: PLC0415 (loads zarr, half a second)

    if old.get("zarr_format") == 2:
        old_layout = parse_v2_layout(old, path)
    else:
        old_layout = replace(parse_layout(readable_document(old, path), path, zarr_understands), edges=edges)
    transcode, new = open_transcoding(old, new, path), readable_document(new, path)
    new_layout = parse_layout(new, path, zarr_understands)
    if old_layout.shape != new_layout.shape:
        raise UsageError(f"{path or 'the root'}: expected two documents of the same array; their shapes differ")
    unsharded = parse_layout(relayout_document(new, None), path, zarr_understands)
    return _TranscodedArray(stored, old_layout, new_layout, unsharded, transcode, path).iter_entries(workers)


class _TranscodedArray:
    """An array that is transcoded block by block."""

    def __init__(
        self,
        stored: StoredChunks,
        old: ArrayLayout,
        new: ArrayLayout,
        unsharded: ArrayLayout,
        transcode: Transcode,
        path: str,
    ) -> None:
        self._stored = stored
        self._old = old
        self._new = new
        self._unsharded = unsharded  # the new layout without shards
        self._transcode = transcode
        self._path = path
        self._chunks = InnerChunks(stored, old)
        self._plan: BlockGrid = plan_rechunking(old, new)

    def iter_entries(self, workers: Workers) -> Iterator[Entry]:
        with contextlib.closing(self._iter_results(workers.executor, 2 * workers.jobs)) as results:
            for _, group in itertools.groupby(results, key=lambda result: result[0]):
                yield from self._assemble(chunk for _, chunks in group for chunk in chunks)

    def _assemble(self, chunks: Iterator[tuple[Lengths, bytes]]) -> Iterator[Entry]:
        """Yield the stored values assembled from the chunks of one group of blocks."""
        keep, found, unsharded = open_spool(), dict[int, Part](), self._unsharded
        for place, data in chunks:
            found[_number(place, unsharded.grid)] = keep(data)
        if found:
            encoded = StoredChunks(
                np.array(sorted(found), np.int64),
                lambda number: f"{self._path or 'the root'}, chunk {number}",
                lambda numbers: [found[number] for number in numbers],
            )
            yield from iter_resharded(encoded, unsharded, self._new, self._path)

    def _iter_results(self, executor: Executor, most: int) -> Generator[tuple[int, _Chunks]]:
        """Yield for each block, in order, its chunks and the number of its group of blocks (see `BlockGrid`).

        At most `most` tasks run at the same time.
        """
        submitted = ((number, executor.submit(self._transcode, block)) for number, block in self._iter_blocks())
        try:
            yield from in_order(submitted, most)
        except UndecodableError as error:
            place, reason = error.args
            raise self._undecodable(place, reason) from None

    def _iter_blocks(self) -> Iterator[tuple[int, StoredBlock]]:
        for number in self._ordered_groups():
            for box in self._plan.iter_blocks(*places_of([number], self._plan.group_grid)):
                block = self._read(box)
                if block is not None:
                    yield number, block

    def _ordered_groups(self) -> list[int]:
        """Return the groups of blocks that contain old chunks, in hierarchy order."""
        old, new, plan = self._old, self._new, self._plan
        found = self._chunks.blocks((1,) * len(old.grid))
        places = np.array(places_of(found, old.grid), np.int64).reshape(len(found), len(old.grid))
        numbers: list[int] = plan.touched_groups(*old.bounds(places)).tolist()
        if new.keys.separator == ".":
            # Keys with a single component sort as text: c.0.10 before c.0.9.
            values = [whole // part for whole, part in zip(plan.groups, new.stored_shape, strict=True)]
            firsts = [
                [at * count for at, count in zip(group, values, strict=True)]
                for group in places_of(numbers, plan.group_grid)
            ]
            order = sorted(range(len(numbers)), key=lambda row: hierarchy_order(new.keys.encode(firsts[row])))
            numbers = [numbers[row] for row in order]
        return numbers

    def _read(self, box: tuple[slice, ...]) -> StoredBlock | None:
        """Return a block with its stored chunks; None if the block has no stored chunk."""
        old = self._old
        spans = tuple(old.spans(dimension, part.start, part.stop) for dimension, part in enumerate(box))
        places = list(itertools.product(*spans))
        wanted = np.array([_number(place, old.grid) for place in places], np.int64)
        found, _, parts = self._chunks.find(wanted, is_joined=False)
        if not parts:
            return None
        positions = found.tolist()
        for row, part in zip(positions, parts, strict=True):
            lengths = [span[at].stop - span[at].start for span, at in zip(spans, places[row], strict=True)]
            most = largest_stored(math.prod(lengths) * old.item_size) if old.item_size else None
            if most is not None and part.length > most:
                raise self._undecodable(places[row], f"expected a chunk of up to {most:,} bytes; found {part.length:,}")
        chunks = {places[row]: read_part(part) for row, part in zip(positions, parts, strict=True)}
        return StoredBlock(box, spans, chunks, tuple(place for place in places if place not in chunks))

    def _undecodable(self, place: Lengths, reason: str) -> FormatError:
        old = self._old
        stored_place = tuple(at // count for at, count in zip(place, old.chunks_per_stored, strict=True))
        key = self._stored.name(_number(stored_place, old.stored_grid))
        return FormatError(
            f"{key}: expected chunk {place} encoded by the codecs of the array; decoding failed ({reason})",
            rule="zarr/chunk-data",
            hint="Copy or download the file again. Without a new codec and shape, the chunk is copied undecoded.",
        )


def _number(place: Lengths, grid: Lengths) -> int:
    """Return the number of a chunk: its position in a grid in C order."""
    number = 0
    for at, length in zip(place, grid, strict=True):
        number = number * length + at
    return number
