"""Rescue chunks from array values with a wrong CRC-32; such a value is a shard or a single chunk.

The index of a shard is proven by its own checksum, a chunk by the checksum of its last codec (``crc32c``, gzip, or zstd
if the frame has a checksum). Unproven chunks are lost, or kept on request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ozx.archive.recovery.scan import LostEntry, iter_found_value
from ozx.codecs.bounded import ZSTD_MAGIC, decompress, parse_zstd_header
from ozx.errors import FormatError, UnsupportedError
from ozx.flow.entry import BytesPart, Entry, LazyPart, Part
from ozx.flow.repair.salvage import LostChunk, RecoveredHierarchy
from ozx.ome.partial_hierarchy import document_key, parse_metadata
from ozx.places.byte_source import ByteSource, iter_exactly, read_exactly
from ozx.zarr.codecs import CHECKSUM_BYTES, parse_named
from ozx.zarr.layout import (
    ArrayLayout,
    IndexFormat,
    ShardIndex,
    build_index,
    parse_layout,
    read_index,
    with_checksum,
)

Lengths = tuple[int, ...]
#: What a checksum proves: every byte, the decoded bytes, or that the chunk is wrong. None without a checksum.
Proof = Literal["bytes", "content", "wrong"] | None

# Earlier codecs add headers and, to incompressible data, a little more.
_MARGIN = 1 << 16

_NOT_PROVEN = "no checksum proves it"
_WRONG = "its checksum does not match"


def salvage_chunks(source: ByteSource, found: RecoveredHierarchy, *, keep_unproven: bool = False) -> None:
    """Rescue chunks from the damaged values in `found`, and record the lost chunks."""
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
        parts, chunks = rebuilt
        found.rebuilt[entry.name] = Entry(entry.name, tuple(parts))
        axes = found.hierarchy.axes.get(role.array or "", ())
        found.lost_chunks += (replace(chunk, axes=axes) for chunk in chunks)
        found.unconfirmed += entry.stored is not None and not entry.is_named_twice
    found.lost = lost


def _layout(source: ByteSource, found: RecoveredHierarchy, path: str) -> ArrayLayout | None:
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
    found: RecoveredHierarchy,
    entry: LostEntry,
    layout: ArrayLayout | None,
    path: str,
    place: Lengths,
    *,
    keep_unproven: bool,
) -> tuple[list[Part], list[LostChunk]] | None:
    stored = entry.stored
    if layout is None or stored is None or len(place) != len(layout.shape):
        return None
    damaged = _DamagedChunk(source, layout, path, entry.name, keep_unproven=keep_unproven)
    parts = damaged.parts(stored, place, 0)
    if parts is None:
        found.unproven += any(chunk.reason == _NOT_PROVEN for chunk in damaged.lost)
        return None
    if entry.has_one_checksum and damaged.is_bytewise and not damaged.lost and _length(parts) == stored[1]:
        # Every byte is proven, but both headers contain a different CRC-32: these bytes belong to another value.
        return None
    return parts, damaged.lost


def _length(parts: Sequence[Part]) -> int:
    return sum(part.length for part in parts)


@dataclass
class _DamagedChunk:
    """One damaged value, whose chunks are rescued: a chunk, or a shard with shards in it."""

    source: ByteSource
    layout: ArrayLayout
    path: str
    key: str
    keep_unproven: bool = field(kw_only=True)
    lost: list[LostChunk] = field(default_factory=list)
    is_bytewise: bool = True

    def parts(self, span: tuple[int, int], place: Lengths, depth: int) -> list[Part] | None:
        """Return the rescued bytes of a shard or chunk; None if no chunk is left.

        `depth` is the number of shards around `span`; if it equals the number of shard levels, `span` is a chunk.
        """
        if depth == len(self.layout.levels):
            return self._chunk(span, place)
        grid, form = self.layout.levels[depth]
        index = self._index(span, grid, form)
        if index is None:
            return None
        offsets, lengths = index.offsets.ravel().tolist(), index.lengths.ravel().tolist()
        size = form.size(len(lengths))
        at = size if form.location == "start" else 0
        parts: list[Part] = []
        new = ShardIndex(np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64))
        for number in sorted((n for n, length in enumerate(lengths) if length), key=offsets.__getitem__):
            inside = np.unravel_index(number, grid)
            inner = tuple(outer * per + int(part) for outer, per, part in zip(place, grid, inside, strict=True))
            found = self.parts((span[0] + offsets[number], lengths[number]), inner, depth + 1)
            if found is None:
                if depth + 1 < len(self.layout.levels):
                    self._lose(inner, depth + 1, "the index of its shard is damaged", is_kept=False)
                continue
            new.offsets[number], new.lengths[number] = at, _length(found)
            parts += found
            at += _length(found)
        if not parts:
            return None
        new_index = BytesPart(build_index(new.offsets, new.lengths, form))
        return [new_index, *parts] if form.location == "start" else [*parts, new_index]

    def _chunk(self, span: tuple[int, int], place: Lengths) -> list[Part] | None:
        proof = prove_chunk(read_exactly(self.source, *span, f"a chunk of {self.key!r}"), self.layout)
        self.is_bytewise = self.is_bytewise and proof == "bytes"
        parts: list[Part] = [LazyPart(span[1], partial(iter_exactly, self.source, *span, "a chunk"))]
        if proof in ("bytes", "content"):
            return parts
        reason = _WRONG if proof == "wrong" else _NOT_PROVEN
        self._lose(place, len(self.layout.levels), reason, is_kept=self.keep_unproven)
        return parts if self.keep_unproven else None

    def _index(self, span: tuple[int, int], grid: Lengths, form: IndexFormat) -> ShardIndex | None:
        """Return a shard's index; None if it is damaged, or has no checksum while `keep_unproven` is false."""
        start, size = span
        if form.size(math.prod(grid)) > size or not (form.has_checksum or self.keep_unproven):
            return None
        self.is_bytewise = self.is_bytewise and form.has_checksum

        def read(offset: int, length: int) -> bytes:
            return read_exactly(self.source, start + offset, length, "the index of a shard")

        try:
            return read_index(read, size, grid, self.key, form)
        except FormatError:
            return None

    def _lose(self, place: Lengths, depth: int, reason: str, *, is_kept: bool) -> None:
        lengths = self.layout.lengths_at(depth)
        shape = self.layout.shape
        starts = [number * length for number, length in zip(place, lengths, strict=True)]
        if any(start >= whole for start, whole in zip(starts, shape, strict=True)):
            return  # outside of the array: no pixel is lost
        spans = zip(starts, lengths, shape, strict=True)
        region = tuple((start, min(start + length, whole)) for start, length, whole in spans)
        self.lost.append(LostChunk(self.path, self.key, place, region, reason, is_kept))


def prove_chunk(data: bytes, layout: ArrayLayout) -> Proof:
    """Verify the checksum that an encoded chunk contains, and return the result; memory use is the decoded size."""
    last = parse_named(layout.codecs[-1])
    name = None if last is None else last.name
    if name == "crc32c":
        return "bytes" if len(data) > CHECKSUM_BYTES and with_checksum(data[:-CHECKSUM_BYTES]) == data else "wrong"
    if name not in ("gzip", "zstd") or layout.item_size is None:
        return None
    size = layout.item_size * math.prod(layout.chunks)
    limit = size + (_MARGIN + size // 8 if _has_others(layout.codecs) else 0)
    # RFC 8878, 3.1.1.1: the checksum of a zstd frame is optional, and so is its size, the only bound of decoded bytes.
    declared = parse_zstd_header(data)[1] if name == "zstd" else None
    if name == "zstd" and data.startswith(ZSTD_MAGIC) and (declared is None or not data[4] & 4):
        return None
    try:
        decoded = len(decompress({"id": name}, data, limit))
    except ValueError:
        return "wrong"
    return "content" if declared in (None, decoded) else "wrong"


def _has_others(codecs: Sequence[Any]) -> bool:
    """Return whether codecs other than bytes and transpose precede the last codec."""
    names = [None if (codec := parse_named(each)) is None else codec.name for each in codecs[:-1]]
    return any(name not in ("bytes", "transpose") for name in names)
