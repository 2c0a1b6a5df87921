"""Keys in a Zarr store: metadata keys, the nodes to which they belong, and the order of entries in an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # callers that order a few keys do without numpy
    import numpy as np
    from numpy.typing import NDArray


#: The last component of the key of every Zarr v3 node's metadata.
METADATA = "zarr.json"
#: The key of the root node's metadata.
ROOT_METADATA = METADATA
#: The last components of Zarr v2 metadata keys.
LEGACY_METADATA = (".zgroup", ".zarray", ".zattrs", ".zmetadata")

#: The key of the picture of the whole hierarchy, and the command that draws it again. RFC-9 (R2, 2026-04-20) does not
#: mention entries that are not Zarr.
THUMBNAIL = "Thumbnails/thumbnail.png"
DRAW_AGAIN = "ozx repack FILE NEW.ozx --thumbnail draws it again"

#: OME-Zarr 0.5, "bioformats2raw.layout": metadata of the original file, copied by the converter. It is the only file
#: outside of nodes that the specification names.
ORIGINAL_METADATA = "OME/METADATA.ome.xml"

#: Files in the folders of groups that are no nodes, although zarr-python takes each name there for one.
PLAIN_FILES = (ORIGINAL_METADATA, THUMBNAIL)


def is_metadata_key(key: str) -> bool:
    """Return whether `key` is a metadata key of Zarr v3: its last component is ``zarr.json``."""
    return key == METADATA or key.endswith("/" + METADATA)


def is_legacy_metadata_key(key: str) -> bool:
    """Return whether `key` is a metadata key of Zarr v2."""
    return key.rpartition("/")[2] in LEGACY_METADATA


def node_of(key: str) -> str:
    """Return the path of the node to which a metadata key belongs, or of a node's parent; the root's path is empty.

    Examples
    --------
    >>> node_of("labels/cells/zarr.json"), node_of("zarr.json")
    ('labels/cells', '')
    """
    return key.rpartition("/")[0]


def join_path(parent: str, path: str) -> str:
    """Join the path of a parent and the relative path of a node below it."""
    parts = [part for part in f"{parent}/{path}".split("/") if part not in ("", ".")]
    return "/".join(parts)


def top_nodes(paths: Iterable[str]) -> list[str]:
    """Return the nodes without any node above them, breadth-first; if the root is a node, only the root."""
    nodes = set(paths)
    return sorted((path for path in nodes if nodes.isdisjoint(paths_above(path))), key=breadth_first)


def missing_groups(paths: Iterable[str]) -> list[str]:
    """Return the folders without metadata that have nodes below them, breadth-first.

    Zarr core 3.1 has no implicit groups: nodes below such a folder cannot be reached from the root.
    """
    nodes = set(paths)
    return sorted({folder for path in nodes for folder in paths_above(path)} - nodes, key=breadth_first)


def paths_above(path: str) -> Iterator[str]:
    """Yield the paths of all parents of `path`, nearest first; the root's empty path comes last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def breadth_first(key: str) -> tuple[int, tuple[str, ...]]:
    """Return the sort key of a metadata key or of a node's path: by depth, then component by component.

    RFC-9 (R2): the other ``zarr.json`` follow the root's "in breadth-first order". As whole strings, ``a-b/x`` would
    sort before ``a/x`` though ``a`` sorts before ``a-b``.
    """
    parts = tuple(key.split("/"))
    return len(parts), parts


# The order of entries in an archive: the root's metadata, other metadata breadth-first, then data node by node.

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
