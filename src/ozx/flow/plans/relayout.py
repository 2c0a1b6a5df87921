"""Plan a hierarchy in another layout: other chunks or shards, or Zarr v3 instead of v2. Only metadata is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from ozx.errors import OzxError
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.plans.arrays import ArrayPlan, Treatment, iter_planned
from ozx.flow.sources.source import Source, StoredDocuments
from ozx.ome.relayout.layout_choice import (
    LayoutChoice,
    axes_of_images,
    check_group_extensions,
    relaid_document,
    understands_relayout,
)
from ozx.ome.relayout.shard_choice import needs_transcoding
from ozx.ome.upgrade import upgrade_hierarchy
from ozx.threads import Workers
from ozx.zarr.array import ChunkKeys
from ozx.zarr.codecs import ChecksumOption, ends_in_checksum, parse_named
from ozx.zarr.extensions import check_understood, is_registered
from ozx.zarr.json_reading import Document, dump_document, parse_document
from ozx.zarr.keys import (
    METADATA,
    breadth_first,
    is_legacy_metadata_key,
    is_metadata_key,
    join_path,
    node_of,
    paths_above,
)
from ozx.zarr.layout import ArrayLayout, Edges, parse_edges, parse_layout, regular_document
from ozx.zarr.normalisation import CONSOLIDATED, renew_copies
from ozx.zarr.v2_arrays import UpgradedArray

_OF_UPGRADE: dict[str, Treatment] = {"verbatim": "moved", "zlib_to_gzip": "zlib_to_gzip", "transcode": "transcoded"}


@dataclass
class RelayoutPlan(Plan):
    """The plan of a hierarchy in another layout or Zarr version."""

    arrays: Mapping[str, ArrayPlan] = field(default_factory=dict)  # the arrays that are not just copied, by path
    copied: int = 0  # the number of copied arrays; 0 if no other layout was requested
    is_upgrade: bool = False  # whether Zarr v2 becomes v3


def plan_relayout(source: Source, layout: LayoutChoice) -> RelayoutPlan:
    """Return a plan that writes the hierarchy of `source` in another layout; read metadata, but no chunk.

    Zarr v2 becomes v3. Unchanged parts are copied byte for byte.
    """
    legacy = [key for key in source.iter_keys() if is_legacy_metadata_key(key)]
    if legacy and METADATA not in source:
        return _plan_upgrade(source, layout, legacy)
    return _RelayoutPlanner(source, layout).plan()


def iter_checksum_variants(source: Source, layout: LayoutChoice) -> Iterator[RelayoutPlan]:
    """Yield a variant of the plan for each possible checksum option, except the option requested in `layout`."""
    options: list[ChecksumOption | None] = [None, *get_args(ChecksumOption)]
    for option in options:
        if option != layout.checksums:
            with suppress(OzxError):  # an array that is not understood can be copied, but gets no checksums
                yield plan_relayout(source, replace(layout, checksums=option))


def _make_plan(
    source: Source,
    metadata: Mapping[str, bytes],
    arrays: dict[str, ArrayPlan],
    notes: list[str],
    *,
    copied: int = 0,
    is_upgrade: bool = False,
) -> RelayoutPlan:
    def data(workers: Workers) -> Iterator[Entry]:
        keys: Iterable[str] = source.iter_keys()
        if is_upgrade:
            keys = (key for key in keys if not is_legacy_metadata_key(key))
        return iter_planned(source, arrays, keys, workers, notes, is_upgrade=is_upgrade)

    return RelayoutPlan(
        metadata,
        data,
        lambda: sum(map(source.size, source.iter_keys())),
        () if is_upgrade else [key for key in source.iter_keys() if is_legacy_metadata_key(key)],
        notes,
        arrays=arrays,
        copied=copied,
        is_upgrade=is_upgrade,
    )


class _RelayoutPlanner:
    """Planner of Zarr v3 hierarchies; an array that already has the requested layout is copied."""

    def __init__(self, source: Source, layout: LayoutChoice) -> None:
        self._source = source
        self._layout = layout
        self._groups: dict[str, Document] = {}
        self._arrays: dict[str, Document] = {}
        self._changed: dict[str, bytes] = {}
        self._notes: list[str] = []
        self._edges: dict[str, Edges] = {}  # of rectilinear arrays, by path

    def plan(self) -> RelayoutPlan:
        """Read the metadata and return the plan with all arrays."""
        arrays: dict[str, ArrayPlan] = {}
        if not self._layout.changes_nothing:
            self._read()
            arrays = self._relay()
        source, changed = self._source, self._changed
        keys = sorted((key for key in source.iter_keys() if is_metadata_key(key)), key=breadth_first)
        metadata = StoredDocuments(keys, lambda key: changed[key] if key in changed else source.read(key))
        return _make_plan(source, metadata, arrays, self._notes, copied=len(self._arrays) - len(arrays))

    def _read(self) -> None:
        for key in self._source.iter_keys():
            if is_metadata_key(key):
                document = parse_document(self._source.read(key), key)
                nodes = self._arrays if document.get("node_type") == "array" else self._groups
                nodes[node_of(key)] = document

    def _relay(self) -> dict[str, ArrayPlan]:
        for path in self._arrays:
            self._check_groups_above(path)
        movable = {path: document for path, document in self._arrays.items() if not self._hides_shards(path, document)}
        if self._layout.decodes:
            movable = {path: self._regular(path, document) for path, document in movable.items()}
        documents = self._layout.new_documents(movable, axes_of_images(self._groups), understands_relayout)
        arrays, changed = {}, {}
        for path, document in documents.items():
            array = self._array(path, movable[path], document)
            if array is not None:
                arrays[path] = array
                changed[path] = self._relay_extensions(path, document)
                self._changed[join_path(path, METADATA)] = dump_document(changed[path])
        self._renew_consolidated(changed)
        return arrays

    def _hides_shards(self, path: str, document: Document) -> bool:
        """Return whether an array stays as it is, because other codecs stand beside its ``sharding_indexed``.

        Such a shard is one chunk. In another shard, or with a checksum behind it, tensorstore and zarrita refuse it.
        """
        if self._layout.decodes or not parse_layout(document, path, understands_relayout).hides_shards:
            return False
        self._notes.append(
            f"{path or 'the root'}: its shards stay as they are, because other codecs stand beside sharding_indexed; "
            "another codec, or other chunks, decode the array and encode it again"
        )
        return True

    def _regular(self, path: str, document: Document) -> Document:
        """Return the document of an array that is decoded with a regular grid instead of a rectilinear one."""
        edges = parse_edges(document, path)
        if edges is None:
            return document
        self._edges[path] = edges
        return regular_document(document, edges)

    def _array(self, path: str, old_document: Document, document: Document) -> ArrayPlan | None:
        old, new = (parse_layout(found, path, understands_relayout) for found in (old_document, document))
        old = replace(old, edges=self._edges.get(path))
        is_transcoded = old.edges is not None or needs_transcoding(old_document, document)
        is_same = (old.levels, old.stored_shape, old.keys) == (new.levels, new.stored_shape, new.keys)
        has_same_checksums = ends_in_checksum(old.codecs) == ends_in_checksum(new.codecs)
        if not is_transcoded and has_same_checksums and (is_same or self._is_kept(old, new)):
            return None
        if not is_transcoded:
            return ArrayPlan(path, "moved", old, new)
        return ArrayPlan(path, "transcoded", old, new, (old_document, document))

    def _is_kept(self, old: ArrayLayout, new: ArrayLayout) -> bool:
        """Return whether the stored shards already have the requested shape, so that they can be copied."""
        policy = self._layout.shards
        return old.shards == new.shards and (policy == "keep" or (policy == "auto" and old.shards is not None))

    def _check_groups_above(self, path: str) -> None:
        for above in paths_above(path):
            if above in self._groups:
                check_understood(self._groups[above], above, understands_relayout)

    def _relay_extensions(self, path: str, document: Document) -> Document:
        old = self._arrays[path]
        for above in paths_above(path):
            if above in self._groups:
                check_group_extensions(above, self._groups[above], path, old, document)
        return relaid_document(path, old, document)

    def _renew_consolidated(self, changed: Mapping[str, Document]) -> None:
        """Write consolidated metadata anew that repeat changed arrays."""
        nodes = {**self._groups, **self._arrays, **changed}
        for path, document in self._groups.items():
            if changed and document.get(CONSOLIDATED) is not None:
                self._changed[join_path(path, METADATA)] = dump_document(renew_copies(document, path, nodes.get))


def _plan_upgrade(source: Source, layout: LayoutChoice, legacy: list[str]) -> RelayoutPlan:
    """Plan the conversion from Zarr v2 to v3: every array gets a new document and new chunk keys."""
    keys = [*legacy, *(key for key in source.iter_keys() if is_metadata_key(key))]
    stored = StoredDocuments(keys, source.read)
    upgraded = upgrade_hierarchy(stored, keep_numcodecs=layout.keep_numcodecs, path=source.name)
    for refusal in upgraded.refusals:
        raise _and_more(refusal, len(upgraded.refusals) - 1)

    def understands(point: str, value: Any) -> bool:
        named = parse_named(value)
        is_kept = layout.keep_numcodecs and named is not None and named.name.startswith("numcodecs.")
        return is_kept or is_registered(point, value)

    plain = {path: array.document for path, array in upgraded.arrays.items()}
    groups = {path: document for path, document in upgraded.documents.items() if path not in plain}
    documents = layout.new_documents(plain, axes_of_images(groups), understands)
    arrays, changed = {}, dict(upgraded.iter_values())
    for path, array in upgraded.arrays.items():
        document = documents[path]
        if document != array.document:
            changed[join_path(path, METADATA)] = dump_document(document)
        layouts = [parse_layout(each, path, understands) for each in (array.document, document)]
        arrays[path] = _plan_upgraded(source, path, array, document, *layouts)
    notes = ["OME-Zarr 0.4 (Zarr v2) became 0.5 (Zarr v3)", *upgraded.notes]
    return _make_plan(source, changed, arrays, notes, is_upgrade=True)


def _plan_upgraded(
    source: Source, path: str, upgraded: UpgradedArray, document: Document, plain: ArrayLayout, new: ArrayLayout
) -> ArrayPlan:
    is_transcoded = upgraded.treatment == "transcode" or needs_transcoding(upgraded.document, document)
    key = join_path(path, ".zarray")
    return ArrayPlan(
        path,
        "transcoded" if is_transcoded else _OF_UPGRADE[upgraded.treatment],
        replace(plain, keys=ChunkKeys("v2", upgraded.separator)),
        new,
        (parse_document(source.read(key), key), document) if is_transcoded else None,
        upgraded.null_fill,
    )


def _and_more(error: OzxError, others: int) -> OzxError:
    if not others:
        return error
    return type(error)(
        f"{error}; {others:,} more {'faults' if others > 1 else 'fault'}", rule=error.rule, hint=error.hint
    )
