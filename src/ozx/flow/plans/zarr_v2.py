"""Plan a hierarchy as OME-Zarr 0.4 (Zarr v2), and read single values of such a plan.

The chunks lie in the source as Zarr v2 would have them: only keys and documents differ. See
docs/decisions/0031-the-view-in-04.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ozx.errors import UsageError
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.stored_chunks import chunks_of_source, iter_key_groups
from ozx.flow.entry import BytesPart, Entry, Part
from ozx.flow.plans.arrays import ArrayPlan
from ozx.flow.plans.relayout import RelayoutPlan, plan_relayout
from ozx.flow.plans.version import VersionChoice, in_version
from ozx.flow.sources.source import Source
from ozx.hierarchy.downgrade import consolidated, downgrade_hierarchy
from ozx.hierarchy.keys import is_legacy_metadata_key, paths_above
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.threads import Workers


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


class PlannedValues:
    """The values of a plan of Zarr v2 that decodes nothing, by key; any thread may read them."""

    def __init__(self, source: Source, plan: RelayoutPlan) -> None:
        self._source = source
        self._metadata = {**plan.metadata, ".zmetadata": consolidated(plan.metadata)}
        self._arrays: dict[str, tuple[ArrayPlan, InnerChunks]] = {}
        self._others: set[str] = set()
        self._lock = threading.Lock()  # of the indexes of shards
        for group in iter_key_groups(source.iter_keys(), {path: array.old for path, array in plan.arrays.items()}):
            self._others.update(key for key in group.others if not is_legacy_metadata_key(key))
            if group.path is not None:
                array = plan.arrays[group.path]
                stored = chunks_of_source(source, array.path, array.old, group.numbers)
                self._arrays[array.path] = array, array.moved_chunks(stored)

    def find(self, key: str) -> Part | None:
        """Return the value of a key, to be read later; None if there is no such key."""
        if key in self._metadata:
            return BytesPart(self._metadata[key])
        if key in self._others:
            return self._source.part(key)
        for path in paths_above(key):
            if path in self._arrays:
                return self._find_chunk(*self._arrays[path], key[len(path) + 1 if path else 0 :])
        return None

    def _find_chunk(self, array: ArrayPlan, chunks: InnerChunks, key: str) -> Part | None:
        grid = array.new.grid
        place = array.new.keys.decode(key, len(grid))
        if place is None or any(at >= length for at, length in zip(place, grid, strict=True)):
            return None
        number = np.ravel_multi_index(place, grid) if grid else 0
        with self._lock:
            found = chunks.find(np.array([number], np.int64), is_joined=False)
        return found.parts[0] if found.parts else None
