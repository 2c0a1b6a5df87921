"""Keys in a Zarr store: metadata keys, and the nodes to which they belong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def is_metadata_key(key: str) -> bool:
    """Return whether `key` is a metadata key of Zarr v3: its last component is ``zarr.json``."""
    return key == METADATA or key.endswith("/" + METADATA)


def is_legacy_metadata_key(key: str) -> bool:
    """Return whether `key` is a metadata key of Zarr v2."""
    return key.rpartition("/")[2] in LEGACY_METADATA


def node_of(key: str) -> str:
    """Return the path of the node to which a metadata key belongs; the root's path is empty.

    Examples
    --------
    >>> node_of("labels/cells/zarr.json"), node_of("zarr.json")
    ('labels/cells', '')
    """
    return key.rpartition("/")[0]


def top_nodes(paths: Iterable[str]) -> list[str]:
    """Return the nodes without any node above them, breadth-first; if the root is a node, only the root."""
    nodes = set(paths)
    return sorted((path for path in nodes if nodes.isdisjoint(paths_above(path))), key=path_order)


def missing_groups(paths: Iterable[str]) -> list[str]:
    """Return the folders without metadata that have nodes below them, breadth-first.

    Zarr core 3.1 has no implicit groups: nodes below such a folder cannot be reached from the root.
    """
    nodes = set(paths)
    return sorted({folder for path in nodes for folder in paths_above(path)} - nodes, key=path_order)


def paths_above(path: str) -> Iterator[str]:
    """Yield the paths of all parents of `path`, nearest first; the root's empty path comes last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def path_order(path: str) -> tuple[int, list[str]]:
    """Return the sort key of node paths, breadth-first; the root comes first."""
    return path.count("/"), path.split("/")
