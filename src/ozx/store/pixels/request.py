"""Plan a request for pixels: the bytes to read of each entry, and the place of the decoded pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.codec_pipeline import fill_value_or_default

from ozx.archive.byte_source import FileSource
from ozx.archive.crc32 import crc32, crc32_combine
from ozx.archive.entry_blocks import EntrySpan, entry_spans, value_in_span
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED
from ozx.errors import FormatError
from ozx.flow.decoding.bounded_filters import largest_stored
from ozx.flow.decoding.chunk_codecs import ArrayCodecs, ChunkCodec, ShardCodec
from ozx.flow.workers import default_jobs
from ozx.hierarchy.json.reading import check_value_length
from ozx.store.pixels.blocks import Block, BlockReader, Span, join_spans, tile_spans
from ozx.store.pixels.selections import Overlap, bounding_box, covers, is_basic, iter_overlaps
from ozx.store.pixels.shard_indexes import indexes_of
from ozx.store.reading import ArchiveSession

# More keys than this are looked up together.
_FEW = 8
# A large chunk without compression goes from the file into the caller's array.
_LARGE = 1 << 19
# Memory besides the result.
_SCRATCH = 48 << 20

Selection = Any


class NotPlannedError(Exception):
    """Error for a request that only the bounded pipeline (`ozx.flow.decoding.bounded_arrays`) can answer."""


class PixelRequest:
    """The chunks of one selection, and the output array for their pixels.

    `items`: what zarr-python passes to a codec pipeline: store path, specification of the chunk, selection in the
    chunk, selection in the result, and whether the selection is the complete chunk.
    """

    def __init__(
        self,
        session: ArchiveSession,
        codecs: ArrayCodecs,
        items: Sequence[Any],
        out: NDArray[Any],
        drop_axes: tuple[int, ...],
    ) -> None:
        self._session = session
        self._indexes = indexes_of(session)
        self._codecs = codecs
        self._items = items
        self._out = out
        self._drop_axes = drop_axes
        self._blocks: list[Block] = []
        self._spans: list[Span] = []
        self._last_steps: list[Callable[[], None]] = []
        self._scratch = 0
        self._largest_chunk = 0
        self._rows: list[int] | None = None
        self.missing: list[bool] = []

    @property
    def size(self) -> int:
        """The number of bytes to read; known after `plan`."""
        return sum(block.stop - block.start for block in self._blocks)

    def plan(self) -> None:
        """Find the bytes to read; set the pixels of missing chunks to the fill value."""
        try:
            self._plan()
        except FormatError:  # another file under this name may look like damage
            self._session.source.check_unchanged()
            raise

    def _plan(self) -> None:
        reader = self._session.reader
        rows = self._find_rows(reader)
        self.missing = [row < 0 for row in rows]
        spans = iter(self._entry_spans(reader))
        for item, row in zip(self._items, rows, strict=True):
            if row < 0:
                self._out[item[3]] = fill_value_or_default(item[1])
            else:
                self._plan_entry(reader, item, next(spans))
        self._join_spans()

    def _join_spans(self) -> None:
        self._blocks += join_spans(self._spans, self._jobs())

    def read(self) -> None:
        """Read, verify and decode the bytes that `plan` found."""
        source = self._session.reader.source
        if not isinstance(source, FileSource):
            raise NotPlannedError
        try:
            BlockReader(source).run(self._blocks, self._jobs())
            for step in self._last_steps:
                step()
        finally:  # another file under this name may look like damage
            source.check_unchanged()

    def _jobs(self) -> int:
        return max(1, min(default_jobs(), (_SCRATCH - self._scratch) // max(1, self._largest_chunk)))

    def _find_rows(self, reader: ArchiveReader) -> list[int]:
        """Return the entry index of each item; -1 for missing items."""
        if self._rows is None:
            self._rows = self._look_up(reader)
        return self._rows

    def _entry_spans(self, reader: ArchiveReader) -> list[EntrySpan]:
        """Return the spans of the existing entries; raise `NotPlannedError` if an entry is empty or compressed."""
        columns = reader.columns
        present = np.array([row for row in self._find_rows(reader) if row >= 0], np.int64)
        if len(present) and ((columns.methods[present] != STORED).any() or not columns.compressed_sizes[present].all()):
            raise NotPlannedError
        return entry_spans(reader, present)

    def _look_up(self, reader: ArchiveReader) -> list[int]:
        keys = [item[0].path for item in self._items]
        if len(keys) > _FEW and all(key.isascii() for key in keys):
            found: list[int] = reader.name_index.find_all([key.encode("ascii") for key in keys]).tolist()
            return found
        indices = [self._session.find(key) for key in keys]
        return [-1 if index is None else index for index in indices]

    def _codec(self, spec: Any) -> ChunkCodec | ShardCodec:
        codec = self._codecs.find(spec.shape, spec.dtype)
        if codec is None or self._out.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        return codec

    def _plan_entry(self, reader: ArchiveReader, item: Any, place: EntrySpan) -> None:
        store_path, spec, chunk_selection, out_selection, *_ = item
        row = place.entry
        codec, size = self._codec(spec), int(reader.columns.compressed_sizes[row])
        check_value_length(size, store_path.path)
        if isinstance(codec, ShardCodec):
            if size > largest_stored(codec.size, is_shard=True):
                raise NotPlannedError  # the other pipeline raises the error
            self._plan_stored_shard(reader, item, place, codec)
            return
        self._check_length(codec, size)
        is_whole = isinstance(out_selection, tuple) and is_basic(out_selection) and covers(chunk_selection, codec.shape)
        if is_whole and size >= _LARGE and codec.is_raw and self._plan_direct(reader, codec, row, out_selection):
            return
        put = partial(_put, codec, None if is_whole else chunk_selection, self._out, out_selection, self._drop_axes)
        self._spans.append(self._chunk_span(reader, place, put))

    def _chunk_span(self, reader: ArchiveReader, place: EntrySpan, put: Callable[[memoryview], None]) -> Span:
        return Span(place.start, place.stop, lambda data: put(value_in_span(reader, place, data)))

    def _plan_stored_shard(self, reader: ArchiveReader, item: Any, place: EntrySpan, codec: ShardCodec) -> None:
        shard = self._shard(reader, item, place, reader.data_offset(place.entry))
        spans, is_whole = self._spans_of(codec, shard, item)
        if is_whole:
            self._blocks += self._checked_blocks(reader, place.entry, shard, spans)
        else:
            self._spans += spans

    def _shard(self, reader: ArchiveReader, item: Any, place: EntrySpan, start: int) -> _Shard:
        size = int(reader.columns.compressed_sizes[place.entry])
        return _Shard(start, size, item[0].path, fill_value_or_default(item[1]))

    def _spans_of(self, codec: ShardCodec, shard: _Shard, item: Any) -> tuple[list[Span], bool]:
        """Return the spans of the requested inner chunks, and whether these are all chunks of the shard."""
        spans: list[Span] = []
        return spans, self._plan_shard(codec, shard, item[2], self._out, item[3], self._drop_axes, spans)

    def _plan_direct(self, reader: ArchiveReader, codec: ChunkCodec, row: int, out_selection: Selection) -> bool:
        """Plan to read an entry directly into the output array; return whether that is possible."""
        target = self._out[(*out_selection, ...)]
        stored = target.transpose(codec.order)
        if stored.dtype != codec.dtype or not stored.flags.c_contiguous:
            return False
        start = reader.data_offset(row)
        into = stored.reshape(-1).view(np.uint8)
        if into.size != int(reader.columns.compressed_sizes[row]):
            raise NotPlannedError
        self._blocks.append(
            Block(start, start + into.size, [], lambda data: reader.check_crc32(row, crc32(data)), into.data)
        )
        return True

    def _check_length(self, codec: ChunkCodec, length: int) -> None:
        if length > largest_stored(codec.size):
            raise NotPlannedError  # the other pipeline raises the error
        self._largest_chunk = max(self._largest_chunk, codec.size + length)

    def _plan_shard(
        self,
        codec: ShardCodec,
        shard: _Shard,
        chunk_selection: Selection,
        target: NDArray[Any],
        target_selection: Selection,
        drop_axes: tuple[int, ...],
        spans: list[Span],
    ) -> bool:
        """Append the spans of the requested inner chunks; return whether these are all chunks of the shard."""
        index = self._indexes.find(shard.start, shard.length, codec, shard.key)
        offsets, lengths = index.offsets, index.lengths
        inner = codec.inner
        inner_shape = inner.shape
        view, overlaps = self._overlaps(codec, chunk_selection, target, target_selection, drop_axes)
        count = 0
        for place, inside, part in overlaps:
            length = int(lengths[place])
            if not length:
                view[part] = shard.fill_value
                continue
            start = shard.start + int(offsets[place])
            if isinstance(inner, ShardCodec):
                nested = _Shard(start, length, f"{shard.key}, inner chunk {list(place)}", shard.fill_value)
                selection = tuple(slice(0, extent) for extent in inner_shape) if inside is None else inside
                self._plan_shard(inner, nested, selection, view, part, (), spans)
                continue
            self._check_length(inner, length)
            count += 1
            put = partial(_put, inner, inside, view, part, ())
            spans.append(Span(start, start + length, put))
        return not isinstance(inner, ShardCodec) and count > 0 and count == int(np.count_nonzero(lengths))

    def _overlaps(
        self,
        codec: ShardCodec,
        chunk_selection: Selection,
        target: NDArray[Any],
        target_selection: Selection,
        drop_axes: tuple[int, ...],
    ) -> tuple[NDArray[Any], Iterable[Overlap]]:
        """Return the array to decode inner chunks into (a view or a buffer), and the place of each chunk in it."""
        if not isinstance(chunk_selection, tuple) or len(chunk_selection) != len(codec.shape):
            raise NotPlannedError
        if (
            is_basic(chunk_selection)
            and isinstance(target_selection, tuple)
            and is_basic(target_selection)
            and not drop_axes
        ):
            view = target[(*target_selection, ...)]
            expanded = view[tuple(slice(None) if isinstance(part, slice) else None for part in chunk_selection)]
            return expanded, iter_overlaps(chunk_selection, codec.shape, codec.inner.shape)
        box = bounding_box(chunk_selection, codec.shape, codec.inner.shape)
        if box is None:
            raise NotPlannedError
        extents = codec.inner.shape
        shape = tuple(count * extent for count, extent in zip(box.shape, extents, strict=True))
        array = np.empty(shape, target.dtype)
        self._scratch += array.nbytes
        if self._scratch > _SCRATCH:
            raise NotPlannedError
        self._last_steps.append(lambda: _assign(target, target_selection, array[box.selection], drop_axes))
        overlaps = [
            Overlap(
                place,
                None,
                tuple(
                    slice((number - first) * extent, (number - first + 1) * extent)
                    for number, first, extent in zip(place, box.first, extents, strict=True)
                ),
            )
            for place in box.chunks
        ]
        return array, overlaps

    def _checked_blocks(self, reader: ArchiveReader, row: int, shard: _Shard, spans: list[Span]) -> list[Block]:
        """Return blocks that cover a whole shard, so that its CRC-32 can be verified."""
        blocks = tile_spans(spans, shard.start, shard.start + shard.length, self._jobs())
        sums = [0] * len(blocks)

        def keep(number: int, data: memoryview) -> None:
            sums[number] = crc32(data)

        def compare() -> None:
            total = sums[0]
            for block, part in zip(blocks[1:], sums[1:], strict=True):
                total = crc32_combine(total, part, block.stop - block.start)
            reader.check_crc32(row, total)

        for number, block in enumerate(blocks):
            block.finish = partial(keep, number)
        self._last_steps.append(compare)
        return blocks


class _Shard:
    """A shard in the file: its byte range, its key for messages, and the value of missing pixels."""

    __slots__ = ("fill_value", "key", "length", "start")

    def __init__(self, start: int, length: int, key: str, fill_value: Any) -> None:
        self.start = start
        self.length = length
        self.key = key
        self.fill_value = fill_value


def _put(
    codec: ChunkCodec,
    inside: Selection | None,
    target: NDArray[Any],
    target_selection: Selection,
    drop_axes: tuple[int, ...],
    data: memoryview,
) -> None:
    """Decode a chunk, and copy its part `inside`, or the whole chunk, to the target."""
    if inside is None:
        codec.decode_into(data, target[(*target_selection, ...)])
    else:
        _assign(target, target_selection, codec.decode(data)[inside], drop_axes)


def _assign(target: NDArray[Any], selection: Selection, found: NDArray[Any], drop_axes: tuple[int, ...]) -> None:
    target[selection] = found.squeeze(axis=drop_axes) if drop_axes else found
