"""The order of entries in an archive: the root's metadata, other metadata breadth-first, then data node by node.

`ozx.zarr.keys.breadth_first` compares keys of metadata. The data of a new image come as they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ozx.zarr.keys import METADATA, ROOT_METADATA, breadth_first, is_metadata_key, node_of

if TYPE_CHECKING:  # callers that order a few keys do without numpy
    import numpy as np
    from numpy.typing import NDArray

#: A sort key of archive entries.
ArchiveRank = tuple[Any, ...]


def component_order(component: str) -> tuple[int, str]:
    """Return the sort key of one component of a store key: numbers are sorted by value, and come before names.

    Examples
    --------
    >>> sorted(["10", "c", "9", "0.1"], key=component_order)
    ['9', '10', '0.1', 'c']
    """
    # Numbers are compared by length, then as text. 0x10000 exceeds the length of any key, so that names come last.
    return (len(component) if component.isascii() and component.isdigit() else 0x10000), component


def folder_order(prefix: str) -> list[tuple[int, str]]:
    """Return the sort key of a folder, given with a slash at its end: folders come before their sub-folders."""
    return [component_order(name) for name in prefix.split("/")[:-1]]


def hierarchy_order(key: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of a data key, node by node: in each folder, values come before sub-folders."""
    *folders, last = key.split("/")
    return (*((1, *component_order(folder)) for folder in folders), (0, *component_order(last)))


def archive_rank(name: str) -> ArchiveRank:
    """Return the sort key of an entry in an archive: metadata breadth-first, then data in hierarchy order.

    Examples
    --------
    >>> sorted(["0/c/10", "0/zarr.json", "0/c/9", "zarr.json"], key=archive_rank)
    ['zarr.json', '0/zarr.json', '0/c/9', '0/c/10']
    """
    return (0, *breadth_first(name)) if is_metadata_key(name) else (1, hierarchy_order(name))


def order_fault(keys: Sequence[str], positions: NDArray[np.int64]) -> tuple[str, str] | None:
    """Return the key of the first misplaced ``zarr.json`` and the reason, or None if the order is right.

    The root's ``zarr.json`` is checked elsewhere: RFC-9 has a separate sentence for it. Siblings may have any order:
    RFC-9 (R2, 2026-04-20) only requires breadth-first order.
    """
    order = positions.argsort(kind="stable")
    ordered = positions[order]
    for rank, position in enumerate(ordered.tolist()):
        if rank != position:
            return keys[int(order[rank])], f"comes after an entry that is not a {METADATA}"
    seen: dict[str, int] = {"": -1}
    previous, previous_key = (0, -1), ""
    for rank, index in enumerate(order.tolist()):
        key = keys[index]
        if key == ROOT_METADATA:
            continue
        path = node_of(key)
        seen[path] = rank
        # Breadth-first: depth by depth; within one depth, children of earlier parents first.
        place = path.count("/"), seen.get(path.rpartition("/")[0], -1)
        if place < previous:
            return key, f"comes after {previous_key!r}, contrary to breadth-first order"
        previous, previous_key = place, key
    return None
