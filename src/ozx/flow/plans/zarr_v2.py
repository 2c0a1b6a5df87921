"""Plan a hierarchy as OME-Zarr 0.4 (Zarr v2), and read single values of such a plan.

The chunks lie in the source as Zarr v2 would have them: only keys and documents differ. See
docs/decisions/0031-the-view-in-04.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ozx.errors import UsageError
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.stored_chunks import chunks_of_source, iter_key_groups
from ozx.flow.entry import BytesPart, Entry, Part
from ozx.flow.plans.ome_version import VersionChoice, in_version
from ozx.flow.plans.relayout import RelayoutPlan, plan_relayout
from ozx.flow.sources.source import Source
from ozx.ome.downgrade import consolidated, downgrade_hierarchy
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.threads import Workers
from ozx.zarr.keys import is_legacy_metadata_key, paths_above
from ozx.zarr.layout import ArrayLayout


def plan_as_04(source: Source) -> RelayoutPlan:
    """Return a plan that writes an OME-Zarr 0.5 or 0.6 hierarchy as 0.4, without decoding its chunks."""
    plan = in_version(plan_relayout(source, LayoutChoice.parse(is_v2=True)), VersionChoice("0.5"))
    return as_04(plan)


def as_04(plan: RelayoutPlan) -> RelayoutPlan:
    """Return the plan with metadata of OME-Zarr 0.4 instead of 0.5; its layout is that of `LayoutChoice.is_v2`."""
    if plan.is_upgrade:
        raise UsageError("it is OME-Zarr 0.4 (Zarr v2) already", hint="Leave out the OME-Zarr version 0.4.")
    metadata, data = downgrade_hierarchy(plan.metadata), plan.data
    plan.notes.append("OME-Zarr 0.5 (Zarr v3) became 0.4 (Zarr v2)")

    def without_leftovers(workers: Workers) -> Iterator[Entry]:
        return (entry for entry in data(workers) if not is_legacy_metadata_key(entry.key))

    return replace(plan, metadata=metadata, data=without_leftovers)


def planned_values(source: Source, plan: RelayoutPlan) -> Callable[[str], Part | None]:
    """Return a function that finds a value of a plan of Zarr v2 that decodes nothing; any thread may read the values.

    The function returns the value of a key, to be read later; None if there is no such key.
    """
    metadata = {**plan.metadata, ".zmetadata": consolidated(plan.metadata)}
    chunks: dict[str, InnerChunks] = {}
    others: set[str] = set()
    lock = threading.Lock()  # of the indexes of shards
    for group in iter_key_groups(source.iter_keys(), {path: array.old for path, array in plan.arrays.items()}):
        others.update(key for key in group.others if not is_legacy_metadata_key(key))
        if group.path is not None:
            array = plan.arrays[group.path]
            chunks[group.path] = array.moved_chunks(chunks_of_source(source, group.path, array.old, group.numbers))

    def find(key: str) -> Part | None:
        if key in metadata:
            return BytesPart(metadata[key])
        if key in others:
            return source.part(key)
        path = next((path for path in paths_above(key) if path in chunks), None)
        number = None if path is None else _number(plan.arrays[path].new, key[len(path) + 1 if path else 0 :])
        if path is None or number is None:
            return None
        with lock:
            _, _, parts = chunks[path].find(np.array([number], np.int64), is_joined=False)
        return parts[0] if parts else None

    return find


def _number(layout: ArrayLayout, key: str) -> int | None:
    """Return the number of the chunk with a key relative to its array; None if it is no chunk of the array."""
    place = layout.keys.decode(key, len(layout.grid))
    if place is None or any(at >= length for at, length in zip(place, layout.grid, strict=True)):
        return None
    return int(np.ravel_multi_index(place, layout.grid)) if layout.grid else 0
