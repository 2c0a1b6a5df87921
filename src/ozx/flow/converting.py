"""What becomes of a hierarchy: Zarr v3 is laid out anew, Zarr v2 becomes v3; only metadata are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ozx.errors import OzxError
from ozx.flow.conversion import ArrayConversion, Conversion, Treatment
from ozx.flow.sources.source import Source
from ozx.hierarchy.json.documents import Document, dump_document, parse_document
from ozx.hierarchy.keys import METADATA, is_legacy_metadata_key, is_metadata_key, node_of
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.relayout.extensions import check_group_extensions, relaid_document, understands_relayout
from ozx.hierarchy.relayout.layout_choice import LayoutChoice, axes_of_images
from ozx.hierarchy.relayout.transcoding import needs_transcoding
from ozx.hierarchy.upgrade import UpgradedHierarchy, upgrade_hierarchy
from ozx.hierarchy.zarr.chunk_checksums import ends_in_checksum
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, parse_layout
from ozx.hierarchy.zarr.codecs import parse_named
from ozx.hierarchy.zarr.consolidation import FIELD as CONSOLIDATED
from ozx.hierarchy.zarr.consolidation import without_copies
from ozx.hierarchy.zarr.must_understand import check_understood, is_registered
from ozx.hierarchy.zarr_v2.arrays import UpgradedArray

__all__ = ["convert"]

_OF_UPGRADE: dict[str, Treatment] = {"verbatim": "moved", "zlib_to_gzip": "reframed", "transcode": "transcoded"}


def convert(source: Source, layout: LayoutChoice) -> Conversion:
    """Return what becomes of the hierarchy in `source`; reads its metadata, and no chunk.

    Raises
    ------
    FormatError
        Metadata are broken, or do not fit each other.
    UnsupportedError
        Something cannot be said in Zarr v3, or must not be moved because it is not understood.
    UsageError
        What is asked for does not fit the arrays.
    """
    legacy = [key for key in source.iter_keys() if is_legacy_metadata_key(key)]
    if legacy and METADATA not in source:
        return _Upgrading(source, layout, legacy).conversion()
    return _Relaying(source, layout).conversion()


class _Relaying:
    """Zarr v3: arrays are copied unless another layout is asked for."""

    def __init__(self, source: Source, layout: LayoutChoice) -> None:
        self._source = source
        self._layout = layout
        self._groups: dict[str, Document] = {}
        self._arrays: dict[str, Document] = {}
        self._changed: dict[str, bytes] = {}
        self._notes: list[str] = []

    def conversion(self) -> Conversion:
        """Read all metadata where they matter, and say what becomes of them."""
        if self._layout.changes_nothing:
            return Conversion(self._source, {}, {}, (), is_upgrade=False)
        self._read()
        arrays = self._relay()
        copied = len(self._arrays) - len(arrays)
        return Conversion(self._source, arrays, self._changed, self._notes, copied=copied, is_upgrade=False)

    def _read(self) -> None:
        for key in self._source.iter_keys():
            if is_metadata_key(key):
                document = parse_document(self._source.read(key), key)
                nodes = self._arrays if document.get("node_type") == "array" else self._groups
                nodes[node_of(key)] = document

    def _relay(self) -> dict[str, ArrayConversion]:
        for path in self._arrays:
            self._check_groups_above(path)
        documents = self._layout.new_documents(self._arrays, axes_of_images(self._groups), understands_relayout)
        arrays = {}
        for path, document in documents.items():
            array = self._array(path, self._arrays[path], document)
            if array is not None:
                arrays[path] = array
                relaid = self._relay_extensions(path, document)
                self._changed[join_path(path, METADATA)] = dump_document(relaid)
        self._drop_consolidated()
        return arrays

    def _array(self, path: str, old_document: Document, document: Document) -> ArrayConversion | None:
        old, new = (parse_layout(found, path, understands_relayout) for found in (old_document, document))
        is_transcoded = needs_transcoding(old_document, document)
        is_same = (old.levels, old.stored_shape) == (new.levels, new.stored_shape)
        has_same_checksums = ends_in_checksum(old.codecs) == ends_in_checksum(new.codecs)
        if not is_transcoded and has_same_checksums and (is_same or self._is_kept(old, new)):
            return None
        if not is_transcoded:
            return ArrayConversion(path, "moved", old, new)
        return ArrayConversion(path, "transcoded", old, new, (old_document, document))

    def _is_kept(self, old: ArrayLayout, new: ArrayLayout) -> bool:
        """Tell whether shards stay as they are, however their index is written, when nothing else is asked for."""
        kind = self._layout.shards.kind
        return old.shards == new.shards and (kind == "keep" or (kind == "auto" and old.shards is not None))

    def _check_groups_above(self, path: str) -> None:
        while path:
            path = path.rpartition("/")[0]
            if path in self._groups:
                check_understood(self._groups[path], path, understands_relayout)

    def _relay_extensions(self, path: str, document: Document) -> Document:
        above, old = path, self._arrays[path]
        while above:
            above = above.rpartition("/")[0]
            if above in self._groups:
                check_group_extensions(above, self._groups[above], path, old, document)
        return relaid_document(path, old, document)

    def _drop_consolidated(self) -> None:
        """Leave out copies of metadata that changed (a group's ``consolidated_metadata``)."""
        if not self._changed:
            return
        dropped = []
        for path, document in self._groups.items():
            if document.get(CONSOLIDATED) is not None:
                self._changed[join_path(path, METADATA)] = dump_document(without_copies(document))
                dropped.append(path or "the root")
        if dropped:
            self._notes.append(
                f"{dropped[0]}{f' and {len(dropped) - 1:,} more' if len(dropped) > 1 else ''}: left out the copies of "
                "other nodes' metadata (consolidated_metadata), which no longer fit; the file's own order replaces them"
            )


class _Upgrading:
    """Zarr v2 becomes v3: every array gets a new document and new chunk keys."""

    def __init__(self, source: Source, layout: LayoutChoice, legacy: list[str]) -> None:
        self._source = source
        self._layout = layout
        keys = [*legacy, *(key for key in source.iter_keys() if is_metadata_key(key))]
        self._upgraded: UpgradedHierarchy = upgrade_hierarchy(
            _Stored(source, keys), keep_numcodecs=layout.keep_numcodecs
        )

    def conversion(self) -> Conversion:
        """Say what becomes of each array."""
        upgraded = self._upgraded
        for refusal in upgraded.refusals:
            raise _and_more(refusal, len(upgraded.refusals) - 1)
        plain = {path: array.document for path, array in upgraded.arrays.items()}
        groups = {path: document for path, document in upgraded.documents.items() if path not in plain}
        documents = self._layout.new_documents(plain, axes_of_images(groups), self._understands)
        arrays, changed = {}, dict(upgraded.iter_values())
        for path, array in upgraded.arrays.items():
            document = documents[path]
            if document != array.document:
                changed[join_path(path, METADATA)] = dump_document(document)
            arrays[path] = self._array(path, array, document)
        return Conversion(self._source, arrays, changed, upgraded.notes, is_upgrade=True)

    def _array(self, path: str, upgraded: UpgradedArray, document: Document) -> ArrayConversion:
        plain = parse_layout(upgraded.document, path, self._understands)
        new = parse_layout(document, path, self._understands)
        is_transcoded = upgraded.treatment == "transcode" or needs_transcoding(upgraded.document, document)
        array = ArrayConversion(
            path,
            "transcoded" if is_transcoded else _OF_UPGRADE[upgraded.treatment],
            replace(plain, keys=ChunkKeys("v2", upgraded.separator)),
            new,
            null_fill=upgraded.null_fill,
        )
        if is_transcoded:
            key = join_path(path, ".zarray")
            array.documents = (parse_document(self._source.read(key), key), document)
        return array

    def _understands(self, point: str, value: Any) -> bool:
        named = parse_named(value)
        is_kept = self._layout.keep_numcodecs and named is not None and named.name.startswith("numcodecs.")
        return is_kept or is_registered(point, value)


class _Stored(Mapping[str, bytes]):
    """Values of some keys of a source, read when asked for."""

    def __init__(self, source: Source, keys: list[str]) -> None:
        self._source = source
        self._keys = keys

    def __getitem__(self, key: str) -> bytes:
        return self._source.read(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def _and_more(error: OzxError, others: int) -> OzxError:
    if not others:
        return error
    return type(error)(
        f"{error}; {others:,} more {'faults' if others > 1 else 'fault'}", rule=error.rule, hint=error.hint
    )
