"""Keys in a Zarr store: metadata keys, the nodes to which they belong, and sorted keys, to find those with a prefix."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
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


# The code point after '/': every key below "a/" sorts before "a0".
_AFTER_SLASH = chr(ord("/") + 1)


class SortedKeys:
    """A sorted set of keys with queries by prefix."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted(set(keys))

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        position = bisect_left(self._keys, key)
        return position < len(self._keys) and self._keys[position] == key

    def add(self, key: str) -> None:
        """Add `key`, which must be new."""
        insort(self._keys, key)

    def remove(self, key: str) -> None:
        """Remove `key`, which must be in the set."""
        del self._keys[bisect_left(self._keys, key)]

    def below(self, prefix: str) -> list[str]:
        """Return the keys that begin with `prefix`, in order."""
        first = bisect_left(self._keys, prefix)
        last = bisect_right(self._keys, prefix, first, key=lambda key: key[: len(prefix)])
        return self._keys[first:last]

    def children(self, folder: str) -> Iterator[str]:
        """Yield the names of keys and folders directly below `folder`, each once.

        If `folder` is empty, it is the root.
        """
        prefix = folder.rstrip("/") + "/" if folder.rstrip("/") else ""
        keys = self._keys
        position = bisect_left(keys, prefix)
        while position < len(keys) and keys[position].startswith(prefix):
            child, slash, _ = keys[position][len(prefix) :].partition("/")
            if not slash:
                yield child
                position += 1
                continue
            if keys[bisect_left(keys, prefix + child)] != prefix + child:  # else a key itself, already yielded
                yield child
            # Skip the other keys of the folder.
            position = bisect_left(keys, prefix + child + _AFTER_SLASH, position)
