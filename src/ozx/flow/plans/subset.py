"""Plan a new hierarchy from a part of another hierarchy: a node with its subtree, some levels, or a region.

Nothing is decoded. Whole arrays and unchanged metadata are copied byte for byte; the encoded chunks of cropped arrays
are moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks.stored_chunks import KeyGroup, SourceChunks
from ozx.flow.chunks.subset import iter_cropped
from ozx.flow.entry import Entry, Part
from ozx.flow.plan import Plan
from ozx.flow.plans.arrays import iter_grouped, note_outside
from ozx.flow.sinks.file_size import archive_size
from ozx.flow.sources.browsing import is_any_metadata_key, similar_nodes
from ozx.flow.sources.source import Source, StoredValues
from ozx.hierarchy.json.changes import JsonStyles
from ozx.hierarchy.json.reading import Document, as_object, parse_document
from ozx.hierarchy.keys import (
    DRAW_AGAIN,
    METADATA,
    ORIGINAL_METADATA,
    THUMBNAIL,
    is_legacy_metadata_key,
    is_metadata_key,
    node_of,
    paths_above,
)
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.versions import version_of
from ozx.hierarchy.references import Surroundings, check_references, drop_source_image
from ozx.hierarchy.subset.hierarchy import ExtractedImage, Subset, plan_subset
from ozx.hierarchy.subset.region import Selection
from ozx.hierarchy.zarr.extensions import check_understood
from ozx.hierarchy.zarr.normalisation import CONSOLIDATED, renew_copies


class Extractor:
    """Planner of extractions: the extracted node becomes the root of a new hierarchy."""

    def __init__(self, source: Source, node: str = "") -> None:
        found = [key for key in source.iter_keys() if is_any_metadata_key(key)]
        self._nodes = {node_of(key) for key in found if is_metadata_key(key)}
        self._node = node
        self._source = Subtree(source, node)
        _check_version(source)
        if node not in self._nodes:
            groups = {path for found in self._nodes for path in paths_above(found)}  # an array alone is not OME-Zarr
            hint = similar_nodes(node, groups) if groups - {""} else "The only group is the root."
            raise UsageError(f"expected an existing node; found no {node or METADATA!r}", hint=hint)
        for path in reversed(list(paths_above(node))):
            if path in self._nodes:
                check_understood(_read(source, join_path(path, METADATA)), path)
        prefix = f"{node}/" if node else ""
        below = [key.removeprefix(prefix) for key in found if key.startswith(prefix)]
        self._legacy = [key for key in below if not is_metadata_key(key)]
        self._documents = {node_of(key): _read(self._source, key) for key in below if is_metadata_key(key)}
        self._version = version_of(_read(source, METADATA)) or version_of(self._documents[""])
        if self._documents[""].get("node_type") == "array":
            raise UsageError(
                f"expected a group to extract; {node or 'the root'} is an array, and an array alone is not OME-Zarr",
                hint="Extract the image that contains this array; --levels selects one of the image's levels.",
            )

    def take(self, selection: Selection) -> SubsetPlan:
        """Return the plan of the selection; read metadata and shard indexes, but no chunk."""
        subset = plan_subset(self._documents, selection)
        notes = list(subset.notes)
        kept = {path: document for path, document in self._documents.items() if not _is_below(path, subset.dropped)}
        surroundings = Surroundings(self._node, self._nodes, kept)
        notes += check_references(kept.items(), surroundings)
        changed = subset.documents
        for path, document in kept.items():
            without = drop_source_image(changed.get(path, document), path, surroundings)
            if without is not None:
                changed[path], note = without
                notes.append(f"{path or 'the root'}: {note}")
        self._name_version(changed)
        _renew_copies(kept, changed, subset.dropped)
        if (subset.dropped or subset.arrays) and ORIGINAL_METADATA in self._source:
            notes.append(f"{ORIGINAL_METADATA} is kept unchanged: it describes the whole original file")
        if (subset.dropped or subset.arrays) and THUMBNAIL in self._source:
            notes.append(f"{THUMBNAIL} is kept unchanged: it shows the whole original image; {DRAW_AGAIN}")
        legacy = [key for key in self._legacy if not _is_below(node_of(key), subset.dropped)]
        return _make_plan(self._source, kept, subset, notes, legacy)

    def take_within(self, selection: Selection, limit: int) -> SubsetPlan:
        """Return the plan of the selection; leave out as many of the finest levels as the size limit requires."""
        plan, skipped = self.take(selection), 0
        while plan.count_within(limit) > limit:
            skipped += 1
            if skipped >= plan.most_levels:
                what = "with the coarsest level alone" if skipped > 1 else "and there are no levels to leave out"
                raise UsageError(
                    f"expected a file of at most {limit:,} bytes; it would have {plan.count_bytes():,} bytes, {what}",
                    hint="Choose fewer --channels, a single --path or a larger --max-size. Whole chunks are copied, so "
                    "a smaller --region helps only if the level has several chunks.",
                )
            plan = self.take(replace(selection, skipped=skipped))
        if skipped:
            levels = "level" if skipped == 1 else f"{skipped} levels"
            plan.notes.append(f"left out the finest {levels}, so that the file has at most {limit:,} bytes")
        return plan

    def _name_version(self, changed: dict[str, Document]) -> None:
        """Write the OME-Zarr version into the new root, as RFC-9 requires."""
        root = changed.get("", self._documents[""])
        if self._version is None or version_of(root) is not None:
            return
        attributes = as_object(root.get("attributes"))
        ome = {"version": self._version, **as_object(attributes.get("ome"))}
        changed[""] = {**root, "attributes": {**attributes, "ome": ome}}


@dataclass
class SubsetPlan(Plan):
    """The plan to write a part of a hierarchy as a new hierarchy."""

    images: tuple[ExtractedImage, ...] = ()  # the extracted part of each image
    most_levels: int = 0  # the largest number of levels of an image before any were skipped
    # Returns the exact size of the archive in bytes; if the size exceeds a given limit, returns any number above the
    # limit.
    count_within: Callable[[int | None], int] = field(default=lambda _: 0)


def _make_plan(
    source: Subtree, kept: Mapping[str, Document], subset: Subset, notes: list[str], legacy: list[str]
) -> SubsetPlan:
    styles = JsonStyles()

    def read(key: str) -> bytes:
        stored, path = source.read(key), node_of(key)
        # Changed documents keep their JSON style.
        return styles.dump_like(subset.documents[path], kept[path], stored) if path in subset.documents else stored

    def data(copied: Callable[[str], Entry]) -> Iterator[Entry]:
        keys = (key for key in _iter_keys(source, subset.dropped) if not is_metadata_key(key))
        layouts = {path: array.old for path, array in subset.arrays.items()}
        return iter_grouped(keys, layouts, copied, cropped)

    def cropped(path: str, group: KeyGroup) -> Iterator[Entry]:
        array = subset.arrays[path]
        notes.extend(note_outside(group, path))
        stored = SourceChunks(source, path, array.old, group.numbers)
        return iter_cropped(stored, array.box, array.new)

    def count(limit: int | None = None) -> int:
        unread = data(lambda key: Entry(key, (source.part(key),)))
        return archive_size(chain(plan.iter_head(), unread), plan.comment, limit)

    plan = SubsetPlan(
        StoredValues((join_path(path, METADATA) for path in kept), read),
        lambda _: data(source.entry),
        count,
        legacy,
        notes,
        images=tuple(subset.images),
        most_levels=subset.most_levels,
        count_within=count,
    )
    return plan


def _iter_keys(source: Source, dropped: set[str]) -> Iterator[str]:
    """Yield all keys except the keys of dropped nodes."""
    folder, is_dropped = "", False
    for key in source.iter_keys():
        here = key.rpartition("/")[0]
        if here != folder:
            folder, is_dropped = here, _is_below(here, dropped)
        if not is_dropped:
            yield key


def _check_version(source: Source) -> None:
    if METADATA in source:
        return
    legacy = next((key for key in source.iter_keys() if is_legacy_metadata_key(key)), None)
    if legacy is not None:
        raise UnsupportedError(
            f"expected OME-Zarr 0.5 or 0.6 (Zarr v3) to extract from; found {legacy}: this is OME-Zarr 0.4 (Zarr v2)",
            rule="rfc9/root",
            hint="Convert it with ozx repack first; the chunks are not decoded.",
        )
    raise FormatError(
        f"expected a {METADATA} at the root; found no such file", rule="rfc9/root", hint="Check that this is OME-Zarr."
    )


def _read(source: Source, key: str) -> Document:
    return parse_document(source.read(key), key)


def _is_below(path: str, dropped: set[str]) -> bool:
    """Return whether a node or one of its parents is dropped."""
    return path in dropped or not dropped.isdisjoint(paths_above(path))


def _renew_copies(kept: Mapping[str, Document], changed: dict[str, Document], dropped: set[str]) -> None:
    """Write consolidated metadata anew that repeat changed or dropped nodes, in place."""
    stale: set[str] = set()
    for path in (*changed, *dropped):
        stale.update(paths_above(path))
    nodes = {**{path: document for path, document in kept.items() if not _is_below(path, dropped)}, **changed}
    for path in stale:
        if path in kept and kept[path].get(CONSOLIDATED) is not None:
            changed[path] = renew_copies(changed.get(path, kept[path]), path, nodes.get)


class Subtree:
    """A node of a source with its subtree, as a separate source."""

    def __init__(self, source: Source, node: str) -> None:
        self._source = source
        self._prefix = f"{node}/" if node else ""

    @property
    def name(self) -> str:
        """The name of the source, followed by the node's path."""
        return f"{self._source.name}/{self._prefix}".rstrip("/") if self._prefix else self._source.name

    def __contains__(self, key: str) -> bool:
        return self._prefix + key in self._source

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys relative to the node, in the order of the source."""
        prefix, length = self._prefix, len(self._prefix)
        if not prefix:
            return self._source.iter_keys()
        return (key[length:] for key in self._source.iter_keys() if key.startswith(prefix))

    def size(self, key: str) -> int:
        """Return the length of the value of a key."""
        return self._source.size(self._prefix + key)

    def read(self, key: str) -> bytes:
        """Return the value of a key."""
        return self._source.read(self._prefix + key)

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a `Part` that reads the value of a key, or a span of the value."""
        return self._source.part(self._prefix + key, offset, length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return a `Part` for each key, which reads the whole value; see `Source.parts`."""
        prefix = self._prefix
        return self._source.parts([prefix + key for key in keys] if prefix else keys)

    def entry(self, key: str) -> Entry:
        """Return the value of a relative key as an entry."""
        return Entry(key, self._source.entry(self._prefix + key).parts)
