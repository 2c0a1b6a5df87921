"""Plan a new hierarchy from a part of another hierarchy: a node with its subtree, some levels, or a region.

Whole arrays and unchanged metadata are copied byte for byte, and whole chunks of cropped arrays are moved. What has to
be decoded, a function makes that a higher layer passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks.inner_chunks import FoundChunks, InnerChunks
from ozx.flow.chunks.reshard import iter_laid_out
from ozx.flow.chunks.stored_chunks import KeyGroup, StoredChunks, chunks_of_source, iter_key_groups
from ozx.flow.entry import Entry, Part
from ozx.flow.plan import Plan
from ozx.flow.plans.arrays import iter_grouped, note_outside
from ozx.flow.sinks.file_size import archive_size
from ozx.flow.sources.browsing import is_any_metadata_key, similar_nodes
from ozx.flow.sources.source import Source, StoredDocuments
from ozx.ome.recovered import describe_loss, losses_below, losses_of, unmarkable, with_losses
from ozx.ome.references import check_references, drop_source_image
from ozx.ome.subset.hierarchy import ExtractedImageResult, Subset, plan_subset
from ozx.ome.subset.levels import Box
from ozx.ome.subset.region import Selection
from ozx.ome.versions import version_of
from ozx.threads import Workers
from ozx.zarr.extensions import check_understood
from ozx.zarr.json_changes import Styles, dump_like
from ozx.zarr.json_reading import Document, as_object, parse_document
from ozx.zarr.keys import (
    DRAW_AGAIN,
    METADATA,
    ORIGINAL_METADATA,
    THUMBNAIL,
    is_legacy_metadata_key,
    is_metadata_key,
    join_path,
    node_of,
    paths_above,
)
from ozx.zarr.layout import ArrayLayout
from ozx.zarr.normalisation import CONSOLIDATED, renew_copies

#: Makes the entries of the arrays that a subset of a source decodes. The entries it gets are their chunks, in whole
#: chunks around the crops.
Encode = Callable[[Source, Subset, Iterable[Entry], Workers], Iterable[Entry]]

# The most losses of a recovered source that notes name.
_MOST_NOTED = 3


class ExtractionPlanner:
    """Planner of extractions: the extracted node becomes the root of a new hierarchy."""

    def __init__(self, source: Source, node: str, encode: Encode, *, reads_once: bool = False) -> None:
        self._encode = encode
        self._reads_once = reads_once  # whether chunks that are decoded are not moved, too
        found = [key for key in source.iter_keys() if is_any_metadata_key(key)]
        self._nodes = {node_of(key) for key in found if is_metadata_key(key)}
        self._node = node
        self._source = SubtreeSource(source, node)
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
        self._losses = losses_of(as_object(_read(source, METADATA).get("attributes")))
        self._version = version_of(_read(source, METADATA)) or version_of(self._documents[""])
        if self._documents[""].get("node_type") == "array":
            raise UsageError(
                f"expected a group to extract; {node or 'the root'} is an array, and an array alone is not OME-Zarr",
                hint="Extract the image that contains this array; levels=… selects one of the image's levels.",
            )

    def take(self, selection: Selection) -> SubsetPlan:
        """Return the plan of the selection; read metadata and shard indexes, but no chunk."""
        subset = plan_subset(self._documents, selection)
        if self._reads_once:
            subset.arrays = {
                path: replace(array, is_encoded=array.is_encoded or bool(array.levels))
                for path, array in subset.arrays.items()
            }
        notes = list(subset.notes)
        kept = {path: document for path, document in self._documents.items() if not _is_below(path, subset.dropped)}
        notes += check_references(kept.items(), self._node, self._nodes, kept)
        changed = subset.documents
        for path, document in kept.items():
            without = drop_source_image(changed.get(path, document), path, self._node, self._nodes, kept)
            if without is not None:
                changed[path], note = without
                notes.append(f"{path or 'the root'}: {note}")
        self._name_version(changed)
        self._mark_losses(subset, notes)
        _renew_copies(kept, changed, subset.dropped)
        if (subset.dropped or subset.arrays) and ORIGINAL_METADATA in self._source:
            notes.append(f"{ORIGINAL_METADATA} is kept unchanged: it describes the whole original file")
        if (subset.dropped or subset.arrays) and THUMBNAIL in self._source:
            notes.append(f"{THUMBNAIL} is kept unchanged: it shows the whole original image; {DRAW_AGAIN}")
        legacy = [key for key in self._legacy if not _is_below(node_of(key), subset.dropped)]
        return _make_plan(self._source, kept, subset, notes, legacy, self._encode)

    def take_within(self, selection: Selection, limit: int) -> SubsetPlan:
        """Return the plan of the selection; leave out as many of the finest levels as the size limit requires."""
        plan, skipped = self.take(selection), 0
        while plan.count_within(limit) > limit:
            skipped += 1
            if skipped >= plan.most_levels:
                what = "with the coarsest level alone" if skipped > 1 else "and there are no levels to leave out"
                raise UsageError(
                    f"expected a file of at most {limit:,} bytes; it would have {plan.count_bytes():,} bytes, {what}",
                    hint="Choose a smaller region, fewer channels, a single node, or a larger size.",
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

    def _mark_losses(self, subset: Subset, notes: list[str]) -> None:
        """Write into the new root what the new file lacks, if the source was recovered."""
        losses = list(subset.remaining(losses_below(self._losses, self._node)))
        notes += [f"the source was recovered: {describe_loss(loss)}" for loss in losses[:_MOST_NOTED]]
        if len(losses) > _MOST_NOTED:
            notes.append(f"{len(losses) - _MOST_NOTED:,} more losses of the source stand in the root's {METADATA}")
        root = subset.documents.get("", self._documents[""])
        if losses == losses_of(as_object(root.get("attributes"))):
            return
        problem = unmarkable(self._source.read(METADATA))
        if problem is None:
            subset.documents[""] = with_losses(root, losses)
        else:
            notes.append(f"the root {METADATA} does not say what is missing: {problem}")


@dataclass
class SubsetPlan(Plan):
    """The plan to write a part of a hierarchy as a new hierarchy."""

    images: tuple[ExtractedImageResult, ...] = ()  # the extracted part of each image
    image_notes: tuple[str, ...] = ()  # those of `notes` that are about these parts
    most_levels: int = 0  # the largest number of levels of an image before any were skipped
    # Returns the size of the archive in bytes, exact if nothing is encoded; if the size exceeds a given limit, returns
    # any number above the limit.
    count_within: Callable[[int | None], int] = field(default=lambda _: 0)
    # Returns entries of the chunks that are read: the data, if nothing is encoded.
    read: Callable[[], Iterator[Entry]] = field(default=lambda: iter(()))
    is_encoding: bool = False


def _make_plan(
    source: SubtreeSource,
    kept: Mapping[str, Document],
    subset: Subset,
    notes: list[str],
    legacy: list[str],
    encode: Encode,
) -> SubsetPlan:
    styles: Styles = {}
    decoded = set(subset.decoded())
    unmoved = {path for path in decoded if not subset.arrays[path].is_movable}

    def read(key: str) -> bytes:
        stored, path = source.read(key), node_of(key)
        # Changed documents keep their JSON style.
        return dump_like(subset.documents[path], kept[path], stored, styles) if path in subset.documents else stored

    def write(workers: Workers) -> Iterator[Entry]:
        yield from _iter_stored(source, subset, notes, source.entry, subset.computed | unmoved)
        if decoded:
            yield from encode(source, subset, _iter_decoded(source, subset, decoded), workers)

    def count(limit: int | None = None) -> int:
        unread = _iter_stored(source, subset, notes, lambda key: Entry(key, (source.part(key),)), subset.computed)
        return archive_size(chain(plan.iter_head(), unread), plan.comment, limit)

    plan = SubsetPlan(
        StoredDocuments((join_path(path, METADATA) for path in kept), read),
        write,
        count,
        legacy,
        notes,
        images=tuple(subset.images),
        image_notes=subset.notes,
        most_levels=subset.most_levels,
        count_within=count,
        read=lambda: _iter_stored(source, subset, notes, source.entry, subset.computed),
        is_encoding=bool(decoded),
    )
    return plan


def _iter_stored(
    source: Source, subset: Subset, notes: list[str], copied: Callable[[str], Entry], left_out: set[str]
) -> Iterator[Entry]:
    """Yield the entries to copy, and the chunks of cropped arrays, in whole chunks around the crops.

    `copied` makes the former; the arrays `left_out` have none of the latter.
    """

    def cropped(path: str, group: KeyGroup) -> Iterator[Entry]:
        notes.extend(note_outside(group, path))
        return iter(()) if path in left_out else _iter_moved(source, subset, path, group)

    layouts = {path: array.old for path, array in subset.arrays.items()}
    return iter_grouped(_iter_keys(source, subset.dropped), layouts, copied, cropped)


def _iter_decoded(source: Source, subset: Subset, decoded: set[str]) -> Iterator[Entry]:
    """Yield the chunks of the arrays to decode, in whole chunks around the crops."""
    layouts = {path: subset.arrays[path].old for path in decoded}
    for group in iter_key_groups(_iter_keys(source, subset.dropped), layouts):
        if group.path is not None:
            yield from _iter_moved(source, subset, group.path, group)


def _iter_moved(source: Source, subset: Subset, path: str, group: KeyGroup) -> Iterator[Entry]:
    array = subset.arrays[path]
    whole = array.whole(path)
    stored = chunks_of_source(source, path, array.old, group.numbers)
    return iter_cropped(stored, array.old, path, whole.box, whole.new)


def _iter_keys(source: Source, dropped: set[str]) -> Iterator[str]:
    """Yield the keys that are no metadata, except the keys of dropped nodes."""
    folder, is_dropped = "", False
    for key in source.iter_keys():
        here = key.rpartition("/")[0]
        if here != folder:
            folder, is_dropped = here, _is_below(here, dropped)
        if not is_dropped and not is_metadata_key(key):
            yield key


def _check_version(source: Source) -> None:
    if METADATA in source:
        return
    legacy = next((key for key in source.iter_keys() if is_legacy_metadata_key(key)), None)
    if legacy is not None:
        raise UnsupportedError(
            f"this is OME-Zarr 0.4 (Zarr v2; it has {legacy}), from which ozx cannot extract",
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


class SubtreeSource:
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


def iter_cropped(stored: StoredChunks, old: ArrayLayout, path: str, box: Box, new: ArrayLayout) -> Iterator[Entry]:
    """Yield the stored values of a cropped array, in hierarchy order; see `iter_resharded`."""
    first = [at // chunk for at, chunk in zip(box.start, new.chunks, strict=True)]
    picked = {axis: np.unique(np.array(pixels, np.int64) // new.chunks[axis]) for axis, pixels in box.picked.items()}
    # Listing the chunks of a shard reads its index: take only shards that reach into the box.
    per_stored = old.chunks_per_stored
    outer = [at // per for at, per in zip(first, per_stored, strict=True)]
    behind = [-(-(at + count) // per) for at, count, per in zip(first, new.grid, per_stored, strict=True)]
    places = np.stack(np.unravel_index(stored.numbers, old.stored_grid), axis=-1)
    inside = (places >= outer) & (places < behind)
    for axis, chunks in picked.items():
        inside[:, axis] = np.isin(places[:, axis], chunks // per_stored[axis])
    within = replace(stored, numbers=stored.numbers[inside.all(axis=1)])
    return iter_laid_out(CroppedChunks(within, old, first, new.grid, picked), new, path)


class CroppedChunks(InnerChunks):
    """The chunks in a box of an array, indexed by chunk number (the position in the box's grid in C order)."""

    def __init__(
        self,
        stored: StoredChunks,
        layout: ArrayLayout,
        first: list[int],
        grid: tuple[int, ...],
        picked: Mapping[int, NDArray[np.int64]],
    ) -> None:
        super().__init__(stored, layout)
        self._whole = layout.grid
        self._first = np.array(first, np.int64)
        self._picked = picked  # the numbers of the chunks along an axis with gaps
        self.grid = grid

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return the stored chunks with these numbers; see `InnerChunks.find`."""
        columns = np.unravel_index(numbers, self.grid)
        moved = [column + at for column, at in zip(columns, self._first, strict=True)]
        for axis, chunks in self._picked.items():
            moved[axis] = chunks[columns[axis]]
        return super().find(np.ravel_multi_index(moved, self._whole).astype(np.int64), is_joined=is_joined)

    def iter_places(self) -> Iterator[NDArray[np.int64]]:
        """Yield the coordinates of stored chunks in the box, as arrays with one row per chunk."""
        for places in super().iter_places():
            moved = places - self._first
            for axis, chunks in self._picked.items():
                is_picked = np.isin(places[:, axis], chunks)
                moved = moved[is_picked]
                moved[:, axis] = np.searchsorted(chunks, places[is_picked, axis])
            yield moved[((moved >= 0) & (moved < np.array(self.grid))).all(axis=1)]
