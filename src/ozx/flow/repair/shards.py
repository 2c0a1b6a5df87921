"""The chunks that are left of damaged values of arrays: of shards whose CRC-32 does not fit, and of single chunks.

The index of a shard is proven by its own checksum, and a chunk by the checksum that its last codec adds. What is not
proven is lost, or kept on request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import google_crc32c
import numpy as np

from ozx.archive.byte_source import ByteSource, read_exactly
from ozx.archive.recovery.evidence import LostEntry
from ozx.archive.recovery.scan import iter_found_value
from ozx.errors import FormatError, UnsupportedError
from ozx.flow.repair.chunk_proof import prove_chunk
from ozx.flow.repair.salvaged import LostChunk, RebuiltValue, Salvage
from ozx.hierarchy.partial_hierarchy import document_key, parse_metadata
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, parse_layout
from ozx.hierarchy.zarr.shards import IndexFormat, ShardIndex, parse_index

__all__ = ["iter_rebuilt", "salvage_chunks"]

Lengths = tuple[int, ...]

_EMPTY = (1 << 64) - 1
_NOT_PROVEN = "no checksum proves it"
_WRONG = "its checksum does not fit"


def salvage_chunks(source: ByteSource, found: Salvage, *, keep_unproven: bool = False) -> None:
    """Add to `found` what is left of the damaged values of arrays, and what of them is lost.

    Parameters
    ----------
    source
        The archive.
    found
        What was found in it; values of which chunks are proven move from `lost` to `rebuilt`.
    keep_unproven
        Whether chunks that no checksum proves are kept, too.
    """
    taken = {found.key(index) for index in found.indices}
    layouts: dict[str, ArrayLayout | None] = {}
    lost = []
    for entry in found.lost:
        role = found.hierarchy.role(entry.name)
        is_chunk = role.kind == "chunk" and role.array is not None
        rebuilt = None
        if is_chunk and entry.stored is not None and entry.name not in taken | found.rebuilt.keys():
            path = role.array or ""
            if path not in layouts:
                layouts[path] = _layout(source, found, path)
            rebuilt = _rebuild(source, found, entry, layouts[path], path, role.place, keep_unproven=keep_unproven)
        if rebuilt is None:
            lost.append(entry)
            continue
        value, chunks = rebuilt
        found.rebuilt[entry.name] = value
        found.lost_chunks += chunks
        found.unconfirmed += entry.stored is not None and not entry.stored.is_named_twice
    found.lost = lost


def _layout(source: ByteSource, found: Salvage, path: str) -> ArrayLayout | None:
    key = document_key(path)
    index = next((index for index in found.indices if found.key(index) == key), None)
    data = found.made.get(key) if index is None else b"".join(iter_found_value(source, found.entry(index)))
    document = None if data is None else parse_metadata(key, data)
    try:
        return None if document is None else parse_layout(document, path)
    except (FormatError, UnsupportedError):
        return None


def _rebuild(
    source: ByteSource,
    found: Salvage,
    entry: LostEntry,
    layout: ArrayLayout | None,
    path: str,
    place: Lengths,
    *,
    keep_unproven: bool,
) -> tuple[RebuiltValue, list[LostChunk]] | None:
    stored = entry.stored
    if layout is None or stored is None or len(place) != len(layout.shape):
        return None
    work = _Shard(source, layout, path, entry.name, keep_unproven=keep_unproven)
    piece = work.piece((stored.data_offset, stored.size), place, 0)
    if piece is None:
        found.unproven += any(chunk.reason == _NOT_PROVEN for chunk in work.lost)
        return None
    if stored.has_one_checksum and work.is_bytewise and not work.lost and piece.size == stored.size:
        # All is proven byte by byte, and both headers say another CRC-32: these are the bytes of another value.
        return None
    return RebuiltValue(tuple(piece.parts), piece.size), work.lost


@dataclass
class _Piece:
    """Bytes to be written: spans of the source, and bytes that are new."""

    parts: list[tuple[int, int] | bytes]
    size: int


@dataclass
class _Shard:
    source: ByteSource
    layout: ArrayLayout
    path: str
    key: str
    keep_unproven: bool = field(kw_only=True)
    lost: list[LostChunk] = field(default_factory=list)
    is_bytewise: bool = True

    def piece(self, span: tuple[int, int], place: Lengths, depth: int) -> _Piece | None:
        """Return what is left of a shard, or of a chunk where `depth` is behind the last level; None for nothing."""
        if depth == len(self.layout.levels):
            return self._chunk(span, place)
        level = self.layout.levels[depth]
        index = self._index(span, level.chunks_per_shard, level.index)
        if index is None:
            return None
        offsets, lengths = index.offsets.ravel().tolist(), index.lengths.ravel().tolist()
        size = level.index.size(len(lengths))
        at = size if level.index.location == "start" else 0
        parts: list[tuple[int, int] | bytes] = []
        new = [(_EMPTY, _EMPTY)] * len(lengths)
        for number in sorted((n for n, length in enumerate(lengths) if length), key=offsets.__getitem__):
            inside = np.unravel_index(number, level.chunks_per_shard)
            inner = tuple(
                outer * per + int(part) for outer, per, part in zip(place, level.chunks_per_shard, inside, strict=True)
            )
            found = self.piece((span[0] + offsets[number], lengths[number]), inner, depth + 1)
            if found is None:
                if depth + 1 < len(self.layout.levels):
                    self._lose(inner, depth + 1, "the index of its shard is damaged", is_kept=False)
                continue
            new[number] = at, found.size
            parts += found.parts
            at += found.size
        if not parts:
            return None
        index_bytes = _encode(new, level.index)
        parts = [index_bytes, *parts] if level.index.location == "start" else [*parts, index_bytes]
        return _Piece(parts, at + (0 if level.index.location == "start" else size))

    def _chunk(self, span: tuple[int, int], place: Lengths) -> _Piece | None:
        proof = prove_chunk(read_exactly(self.source, *span, f"a chunk of {self.key!r}"), self.layout)
        self.is_bytewise = self.is_bytewise and proof == "bytes"
        if proof in ("bytes", "content"):
            return _Piece([span], span[1])
        reason = _WRONG if proof == "wrong" else _NOT_PROVEN
        self._lose(place, len(self.layout.levels), reason, is_kept=self.keep_unproven)
        return _Piece([span], span[1]) if self.keep_unproven else None

    def _index(self, span: tuple[int, int], grid: Lengths, form: IndexFormat) -> ShardIndex | None:
        """Return the index of a shard, which its checksum proves; one without a checksum is not proven."""
        count, (start, size) = math.prod(grid), span
        if form.size(count) > size or not (form.has_checksum or self.keep_unproven):
            return None
        self.is_bytewise = self.is_bytewise and form.has_checksum
        data = read_exactly(self.source, start + form.offset(count, size), form.size(count), "the index of a shard")
        try:
            return parse_index(data, grid, size, self.key, form)
        except FormatError:
            return None

    def _lose(self, place: Lengths, depth: int, reason: str, *, is_kept: bool) -> None:
        levels = self.layout.levels
        lengths = levels[depth].shape if depth < len(levels) else self.layout.chunks
        shape = self.layout.shape
        starts = [number * length for number, length in zip(place, lengths, strict=True)]
        if any(start >= whole for start, whole in zip(starts, shape, strict=True)):
            return  # outside of the array: no pixel of it is lost
        spans = zip(starts, lengths, shape, strict=True)
        region = tuple((start, min(start + length, whole)) for start, length, whole in spans)
        self.lost.append(LostChunk(self.path, self.key, place, region, reason, is_kept))


def _encode(pairs: list[tuple[int, int]], form: IndexFormat) -> bytes:
    data = np.array(pairs, np.uint64).astype("<u8" if form.endian == "little" else ">u8").tobytes()
    return data + int(google_crc32c.value(data)).to_bytes(4, "little") if form.has_checksum else data


def iter_rebuilt(source: ByteSource, value: RebuiltValue) -> Iterator[bytes]:
    """Yield the bytes of a value that was rebuilt."""
    for part in value.parts:
        if isinstance(part, bytes):
            yield part
            continue
        offset, left = part
        while left:
            data = read_exactly(source, offset, min(left, 1 << 20), "a chunk")
            yield data
            offset, left = offset + len(data), left - len(data)
