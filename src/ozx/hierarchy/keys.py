"""Store keys: metadata keys, their nodes, and the order of an archive's entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = [
    "LEGACY_METADATA",
    "METADATA",
    "ROOT_METADATA",
    "ArchiveRank",
    "archive_rank",
    "breadth_first",
    "component_order",
    "hierarchy_order",
    "is_legacy_metadata_key",
    "missing_groups",
    "node_of",
    "path_order",
    "top_nodes",
]

#: A sort key of archive entries.
ArchiveRank = tuple[Any, ...]

#: The last component of the key of every Zarr v3 node's metadata.
METADATA = "zarr.json"
#: The key of the root node's metadata.
ROOT_METADATA = METADATA
#: The last components of Zarr v2 metadata keys.
LEGACY_METADATA = (".zgroup", ".zarray", ".zattrs", ".zmetadata")


def is_metadata_key(key: str) -> bool:
    """Tell whether `key` is a node's metadata: its last component is ``zarr.json``.

    Examples
    --------
    >>> [is_metadata_key(key) for key in ("zarr.json", "0/zarr.json", "foozarr.json", "0/c/0")]
    [True, True, False, False]
    """
    return key == METADATA or key.endswith("/" + METADATA)


def is_legacy_metadata_key(key: str) -> bool:
    """Tell whether `key` is metadata of Zarr v2.

    Examples
    --------
    >>> is_legacy_metadata_key("0/.zarray"), is_legacy_metadata_key("0/zarr.json")
    (True, False)
    """
    return key.rpartition("/")[2] in LEGACY_METADATA


def node_of(key: str) -> str:
    """Return the path of the node that a metadata key describes; the root's is empty.

    Examples
    --------
    >>> node_of("labels/cells/zarr.json"), node_of("zarr.json")
    ('labels/cells', '')
    """
    return key.rpartition("/")[0]


def breadth_first(key: str) -> tuple[int, tuple[str, ...]]:
    """Return the sort key of metadata entries: by depth, then component by component.

    RFC-9 (R2): the other ``zarr.json`` follow the root's "in breadth-first order". As whole strings, ``a-b/x`` would
    sort before ``a/x`` though ``a`` sorts before ``a-b``.

    Examples
    --------
    >>> sorted(["a/x/zarr.json", "a-b/zarr.json", "zarr.json", "a/zarr.json"], key=breadth_first)
    ['zarr.json', 'a/zarr.json', 'a-b/zarr.json', 'a/x/zarr.json']
    """
    parts = tuple(key.split("/"))
    return len(parts), parts


def component_order(component: str) -> tuple[int, str]:
    """Return the sort key of one key component: numbers by value and before names, as chunk grids count.

    Examples
    --------
    >>> sorted(["10", "c", "9", "0.1"], key=component_order)
    ['9', '10', '0.1', 'c']
    """
    # Decimal digits of equal length compare like numbers; 0x10000 is longer than any key.
    return (len(component) if component.isascii() and component.isdigit() else 0x10000), component


def hierarchy_order(key: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of data entries: node by node, the values of a folder before its sub-folders.

    Examples
    --------
    >>> sorted(["0/c/10", "1/c/0", "0/c/9", "OME/METADATA.ome.xml", "0/x"], key=hierarchy_order)
    ['0/x', '0/c/9', '0/c/10', '1/c/0', 'OME/METADATA.ome.xml']
    """
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


def top_nodes(paths: Iterable[str]) -> list[str]:
    """Return the nodes that lie below no other node, breadth-first: the root, if there is one.

    Examples
    --------
    >>> top_nodes(["a/0", "a", "b/0"]), top_nodes(["", "a"])
    (['a', 'b/0'], [''])
    """
    nodes = set(paths)
    return sorted((path for path in nodes if nodes.isdisjoint(_above(path))), key=path_order)


def missing_groups(paths: Iterable[str]) -> list[str]:
    """Return the folders above nodes that are no nodes themselves, breadth-first.

    Zarr core 3.1 has no implicit groups: nodes below such a folder cannot be reached from the root.

    Examples
    --------
    >>> missing_groups(["", "labels/cells", "A/1/0"])
    ['A', 'labels', 'A/1']
    """
    nodes = set(paths)
    return sorted({folder for path in nodes for folder in _above(path)} - nodes, key=path_order)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def path_order(path: str) -> tuple[int, tuple[str, ...]]:
    """Return the sort key of node paths, breadth-first; the root comes first."""
    return breadth_first(path) if path else (0, ())
