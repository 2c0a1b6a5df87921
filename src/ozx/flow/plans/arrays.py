"""Make the entries of arrays whose chunks get new keys, shards or codecs.

No chunk is read before its entry is written. A chunk is decoded only if necessary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from itertools import filterfalse
from typing import Literal

from ozx.errors import FormatError
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.reshard import iter_laid_out, moved_chunks
from ozx.flow.chunks.stored_chunks import KeyGroup, StoredChunks, as_gzip, chunks_of_source, iter_key_groups
from ozx.flow.entry import Entry
from ozx.flow.sources.source import Source
from ozx.threads import Workers
from ozx.zarr.array import ChunkKeys
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.json_reading import Document
from ozx.zarr.keys import is_metadata_key
from ozx.zarr.layout import ArrayLayout

#: The treatment of an array's chunks: moved without decoding; moved with the frame of zlib swapped for that of gzip;
#: decoded and encoded.
Treatment = Literal["moved", "zlib_to_gzip", "transcoded"]


@dataclass(slots=True)
class ArrayPlan:
    """The plan for an array whose chunks get new keys, shards or codecs."""

    path: str  # its path
    treatment: Treatment  # the treatment of its chunks
    old: ArrayLayout  # their layout before and after; `old` has the chunk keys of the source
    new: ArrayLayout
    # If transcoded, the old metadata (``.zarray`` in Zarr v2) and the new ``zarr.json``.
    documents: tuple[Document, Document] | None = None
    null_fill: bool = False  # whether it had no fill value, so that missing chunks have undefined values

    def moved_chunks(self, stored: StoredChunks) -> InnerChunks:
        """Return the chunks, not decoded, in the form in which they are written."""
        chunks = as_gzip(stored) if self.treatment == "zlib_to_gzip" else stored
        return moved_chunks(chunks, self.old, self.new, self.path)


def iter_grouped(
    keys: Iterable[str],
    layouts: Mapping[str, ArrayLayout],
    copied: Callable[[str], Entry],
    entries: Callable[[str, KeyGroup], Iterator[Entry]],
) -> Iterator[Entry]:
    """Yield the entries of `keys` in order; `entries` makes the entries of arrays, `copied` makes all other entries."""
    if not layouts:
        yield from map(copied, filterfalse(is_metadata_key, keys))
        return
    for group in iter_key_groups(keys, layouts):
        if group.path is None:
            yield from map(copied, group.others)
            continue
        chunks = entries(group.path, group)
        yield from merge(chunks, map(copied, group.others), key=_order) if group.others else chunks


def note_outside(group: KeyGroup, path: str) -> list[str]:
    """Return a note about chunks outside of the array's grid."""
    if not group.outside:
        return []
    chunks = f"{len(group.outside):,} chunks outside of the array, such as {group.outside[0]}"
    return [f"{path or 'the root'}: left out {chunks}: readers ignore them"]


def _order(entry: Entry) -> tuple[object, ...]:
    return hierarchy_order(entry.key)


def iter_planned(
    source: Source,
    arrays: Mapping[str, ArrayPlan],
    keys: Iterable[str],
    workers: Workers,
    notes: list[str],
    *,
    is_upgrade: bool,
) -> Iterator[Entry]:
    """Yield the entries that replace those of `keys` in the source; `arrays` are in another layout; add notes."""

    def entries(path: str, group: KeyGroup) -> Iterator[Entry]:
        array = arrays[path]
        if is_upgrade and not len(group.numbers):
            notes.extend(_take_slashes(array, group))
        notes.extend(note_outside(group, path))
        notes.extend(_note_missing(array, group))
        _check_keys(array, group, source.name)
        stored = chunks_of_source(source, path, array.old, group.numbers)
        if array.documents is not None:
            from ozx.flow.chunks.transcode import iter_transcoded  # noqa: PLC0415 (slow to load; moving decodes nothing)

            return iter_transcoded(stored, *array.documents, path, workers, array.old.edges)
        return iter_laid_out(array.moved_chunks(stored), array.new, path)

    return iter_grouped(keys, {path: array.old for path, array in arrays.items()}, source.entry, entries)


def _take_slashes(array: ArrayPlan, group: KeyGroup) -> Iterator[str]:
    """Treat keys such as ``0/0`` as chunk keys, unless keys such as ``0.0`` exist; yield a note about it.

    Early writers did not declare the separator.
    """
    nested = replace(array.old, keys=ChunkKeys("v2", "/"))
    for found in iter_key_groups(group.others, {array.path: nested}):
        if len(found.numbers):
            array.old = nested
            group.numbers, group.outside, group.others = found.numbers, found.outside, found.others
            yield f"{array.path}: its chunk keys have the form 0/0, but .zarray declares 0.0 (dimension_separator)"
            return


def _note_missing(array: ArrayPlan, group: KeyGroup) -> Iterator[str]:
    missing = math.prod(array.old.stored_grid) - len(group.numbers)
    if array.null_fill and missing:
        yield (
            f"{array.path or 'the root'}: it has no fill value, and {missing:,} of its chunks are missing; "
            "in the new array, these chunks read as 0"
        )


def _check_keys(array: ArrayPlan, group: KeyGroup, name: str) -> None:
    """Raise `FormatError` if a file of the source `name` has the key of a new chunk, but is no chunk."""
    if array.new.keys != array.old.keys:
        start = len(array.path) + 1 if array.path else 0
        version = "v2" if array.new.keys.name == "v2" else "v3"
        for key in group.others:
            if array.new.keys.decode(key[start:], len(array.new.shape)) is not None:
                raise FormatError(
                    f"expected no file with the name of a Zarr {version} chunk; found {key}",
                    path=name,
                    rule="zarr/chunk-key",
                    hint="Rename the file, or move it out of the array's folder.",
                )
