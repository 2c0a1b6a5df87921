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
from ozx.ome.relayout.codec_choice import needs_transcoding
from ozx.ome.relayout.layout_choice import (
    LayoutChoice,
    axes_of_images,
    check_group_extensions,
    relaid_document,
    understands_relayout,
)
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
    return _plan_v3(source, layout)


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


def _plan_v3(source: Source, layout: LayoutChoice) -> RelayoutPlan:
    """Plan another layout of a Zarr v3 hierarchy; an array that already has the requested layout is copied."""
    groups: dict[str, Document] = {}
    old: dict[str, Document] = {}
    arrays: dict[str, ArrayPlan] = {}
    changed: dict[str, bytes] = {}
    notes: list[str] = []
    if not layout.changes_nothing:
        groups, old = _read_nodes(source)
        arrays, documents = _relay(layout, groups, old, notes)
        changed = {join_path(path, METADATA): dump_document(document) for path, document in documents.items()}
    keys = sorted((key for key in source.iter_keys() if is_metadata_key(key)), key=breadth_first)
    metadata = StoredDocuments(keys, lambda key: changed[key] if key in changed else source.read(key))
    return _make_plan(source, metadata, arrays, notes, copied=len(old) - len(arrays))


def _read_nodes(source: Source) -> tuple[dict[str, Document], dict[str, Document]]:
    """Return the documents of the groups and of the arrays, by path."""
    groups, arrays = dict[str, Document](), dict[str, Document]()
    for key in source.iter_keys():
        if is_metadata_key(key):
            document = parse_document(source.read(key), key)
            (arrays if document.get("node_type") == "array" else groups)[node_of(key)] = document
    return groups, arrays


def _relay(
    layout: LayoutChoice, groups: Mapping[str, Document], old: Mapping[str, Document], notes: list[str]
) -> tuple[dict[str, ArrayPlan], dict[str, Document]]:
    """Return the plans of the arrays that get another layout, and the changed documents; add notes on the others."""
    for path in old:
        for above in _groups_above(path, groups):
            check_understood(groups[above], above, understands_relayout)
    movable = {path: document for path, document in old.items() if not _hides_shards(layout, path, document, notes)}
    edges: dict[str, Edges] = {}  # of rectilinear arrays, by path
    if layout.decodes:
        movable = {path: _regular(path, document, edges) for path, document in movable.items()}
    new = layout.new_documents(movable, axes_of_images(groups), understands_relayout)
    arrays: dict[str, ArrayPlan] = {}
    changed: dict[str, Document] = {}
    for path, document in new.items():
        array = _plan_array(layout, path, movable[path], document, edges.get(path))
        if array is not None:
            arrays[path] = array
            for above in _groups_above(path, groups):
                check_group_extensions(above, groups[above], path, old[path], document)
            changed[path] = relaid_document(path, old[path], document)
    nodes = {**groups, **old, **changed}
    for path, document in groups.items() if changed else ():
        if document.get(CONSOLIDATED) is not None:
            changed[path] = renew_copies(document, path, nodes.get)
    return arrays, changed


def _groups_above(path: str, groups: Mapping[str, Document]) -> Iterator[str]:
    return (above for above in paths_above(path) if above in groups)


def _hides_shards(layout: LayoutChoice, path: str, document: Document, notes: list[str]) -> bool:
    """Return whether an array stays as it is, because other codecs stand beside its ``sharding_indexed``.

    Such a shard is one chunk. In another shard, or with a checksum behind it, tensorstore and zarrita refuse it.
    """
    if layout.decodes or not parse_layout(document, path, understands_relayout).hides_shards:
        return False
    notes.append(
        f"{path or 'the root'}: its shards stay as they are, because other codecs stand beside sharding_indexed; "
        "another codec, or other chunks, decode the array and encode it again"
    )
    return True


def _regular(path: str, document: Document, edges: dict[str, Edges]) -> Document:
    """Return the document of an array that is decoded with a regular grid instead of a rectilinear one."""
    found = parse_edges(document, path)
    if found is None:
        return document
    edges[path] = found
    return regular_document(document, found)


def _plan_array(
    layout: LayoutChoice, path: str, old_document: Document, document: Document, edges: Edges | None
) -> ArrayPlan | None:
    """Return the plan of an array; None if it already has the layout, so that it can be copied."""
    old, new = (parse_layout(found, path, understands_relayout) for found in (old_document, document))
    old = replace(old, edges=edges)
    if edges is not None or needs_transcoding(old_document, document):
        return ArrayPlan(path, "transcoded", old, new, (old_document, document))
    is_same = (old.levels, old.stored_shape, old.keys) == (new.levels, new.stored_shape, new.keys)
    policy = layout.shards  # the stored shards may already have the requested shape
    is_same |= old.shards == new.shards and (policy == "keep" or (policy == "auto" and old.shards is not None))
    has_same_checksums = ends_in_checksum(old.codecs) == ends_in_checksum(new.codecs)
    return None if is_same and has_same_checksums else ArrayPlan(path, "moved", old, new)


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
