"""A hierarchy as it becomes in another layout or another version: its metadata, and where each entry comes from.

No chunk is read before its entry is written. Whatever does not change is copied byte for byte; encoded chunks are
moved; only what must be is decoded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from heapq import merge
from itertools import filterfalse
from typing import Literal

from ozx.errors import FormatError
from ozx.flow.chunks.reshard import iter_resharded
from ozx.flow.chunks.stored_chunks import KeyGroup, SourceChunks, iter_key_groups
from ozx.flow.chunks.transcode import iter_transcoded
from ozx.flow.chunks.zlib_to_gzip import GzipChunks
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.sources.source import Source
from ozx.hierarchy.json.documents import Document, parse_document
from ozx.hierarchy.json.values import as_object
from ozx.hierarchy.keys import METADATA, breadth_first, hierarchy_order, is_legacy_metadata_key, is_metadata_key
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

__all__ = ["ArrayConversion", "Conversion", "Treatment"]

#: What happens to the chunks of an array: moved as they are encoded, moved with other bytes around the same compressed
#: ones (zlib as gzip), decoded and encoded.
Treatment = Literal["moved", "reframed", "transcoded"]


@dataclass(slots=True)
class ArrayConversion:
    """What becomes of an array whose chunks are not just copied.

    Attributes
    ----------
    path
        Where it stands.
    treatment
        What happens to its chunks.
    old, new
        How they are laid out before and after; `old` also says how their keys are made.
    documents
        For what is transcoded, the array's metadata before (``.zarray`` in Zarr v2) and its new ``zarr.json``.
    null_fill
        Whether it had no fill value, so that chunks that are missing have made-up values.
    """

    path: str
    treatment: Treatment
    old: ArrayLayout
    new: ArrayLayout
    documents: tuple[Document, Document] | None = None
    null_fill: bool = False


class Conversion:
    """A hierarchy as it becomes: entries in the order an archive is written in.

    Attributes
    ----------
    version
        The OME-Zarr version of the root; empty where it has none.
    arrays
        What becomes of each array that is not just copied, by path.
    copied
        How many arrays are copied, where that was looked at.
    notes
        What is not plainly the same, one sentence each; complete when all entries were taken.
    """

    def __init__(
        self,
        source: Source,
        arrays: dict[str, ArrayConversion],
        changed: dict[str, bytes],
        notes: Iterable[str],
        *,
        copied: int = 0,
        is_upgrade: bool,
    ) -> None:
        self.copied = copied
        self._source = source
        self._changed = changed
        self._is_upgrade = is_upgrade
        self._added: dict[str, Entry] = {}
        self.arrays = arrays
        self.notes = list(notes)
        self.metadata: Mapping[str, bytes] = _Metadata(source, changed, is_upgrade=is_upgrade)
        root = parse_document(self.metadata[METADATA], METADATA) if METADATA in self.metadata else {}
        version = as_object(as_object(root.get("attributes")).get("ome")).get("version")
        self.version = version if isinstance(version, str) else ""

    @property
    def is_upgrade(self) -> bool:
        """Whether Zarr v2 becomes v3."""
        return self._is_upgrade

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, each once, with what happened to the version before them."""
        notes = ["OME-Zarr 0.4 (Zarr v2) became 0.5 (Zarr v3)"] if self._is_upgrade else []
        return tuple(dict.fromkeys([*notes, *self.notes]))

    def size(self) -> int:
        """Return about how many bytes will be written: those of the source."""
        return sum(map(self._source.size, self._source.iter_keys()))

    def add(self, entry: Entry) -> None:
        """Have an entry written right after the metadata; it takes the place of what has the same key in the source."""
        self._added[entry.key] = entry

    def iter_head(self) -> Iterator[Entry]:
        """Yield the metadata, root first, then breadth-first; then what was added."""
        for key, value in self.metadata.items():
            yield Entry(key, (BytesPart(value),))
        yield from self._added.values()

    def iter_data(self, executor: Executor, jobs: int) -> Iterator[Entry]:
        """Yield everything else in hierarchy order.

        Parameters
        ----------
        executor
            Decodes and encodes what is transcoded.
        jobs
            How many shards are transcoded at the same time.
        """
        layouts = {path: array.old for path, array in self.arrays.items()}
        keys: Iterable[str] = self._source.iter_keys()
        if self._is_upgrade:
            keys = (key for key in keys if not is_legacy_metadata_key(key))
        if self._added:
            keys = filterfalse(self._added.__contains__, keys)
        for group in iter_key_groups(keys, layouts):
            if group.path is None:
                yield from map(self._source.entry, group.others)
            else:
                yield from self._array_entries(self.arrays[group.path], group, executor, jobs)

    def _array_entries(self, array: ArrayConversion, group: KeyGroup, executor: Executor, jobs: int) -> Iterator[Entry]:
        if self._is_upgrade and not len(group.numbers):
            group = self._with_slashes(array, group)
        self._check_keys(array, group)
        stored = SourceChunks(self._source, array.path, array.old, group.numbers)
        if array.documents is not None:
            entries = iter_transcoded(stored, *array.documents, array.path, jobs=jobs, executor=executor)
        else:
            chunks = GzipChunks(stored) if array.treatment == "reframed" else stored
            entries = iter_resharded(chunks, array.old, array.new, array.path)
        if not group.others:
            return entries
        return merge(entries, map(self._source.entry, group.others), key=lambda entry: hierarchy_order(entry.key))

    def _with_slashes(self, array: ArrayConversion, group: KeyGroup) -> KeyGroup:
        """Take keys such as ``0/0`` for chunks where none is such as ``0.0``: early writers left out to say so."""
        nested = replace(array.old, keys=ChunkKeys("v2", "/"))
        for found in iter_key_groups(group.others, {array.path: nested}):
            if len(found.numbers):
                array.old = nested
                self.notes.append(
                    f"{array.path}: its chunk keys are such as 0/0, though .zarray says 0.0 (dimension_separator)"
                )
                return found
        return group

    def _check_keys(self, array: ArrayConversion, group: KeyGroup) -> None:
        where = array.path or "the root"
        if group.outside:
            self.notes.append(
                f"{where}: left out {len(group.outside):,} chunks outside of the array, such as {group.outside[0]}: "
                "no reader sees them"
            )
        missing = math.prod(array.old.stored_grid) - len(group.numbers)
        if array.null_fill and missing:
            self.notes.append(
                f"{where}: it has no fill value, and {missing:,} of its chunks are missing; they read as 0 from now on"
            )
        if array.new.keys != array.old.keys:
            start = len(array.path) + 1 if array.path else 0
            for key in group.others:
                if array.new.keys.decode(key[start:], len(array.new.shape)) is not None:
                    raise FormatError(
                        f"expected no file of this name, which a chunk gets in Zarr v3; found {key}",
                        path=self._source.name,
                        rule="zarr/chunk-key",
                        hint="Rename it, or move it out of the array's folder.",
                    )


class _Metadata(Mapping[str, bytes]):
    """The ``zarr.json`` of a conversion, those that change at hand, the others read when asked for."""

    def __init__(self, source: Source, changed: dict[str, bytes], *, is_upgrade: bool) -> None:
        self._source = source
        self._changed = changed
        if is_upgrade:
            self._keys = list(changed)
        else:
            self._keys = [key for key in source.iter_keys() if is_metadata_key(key)]
            self._keys.sort(key=breadth_first)
        self._known = frozenset(self._keys)

    def __getitem__(self, key: str) -> bytes:
        return self._changed[key] if key in self._changed else self._source.read(key)

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
