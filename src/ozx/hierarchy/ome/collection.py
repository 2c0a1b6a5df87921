"""Collections of OME-Zarr nodes, by RFC-8 (D1), a draft that is part of 0.9.dev3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_object, as_text

_MOST_NODES = 100


@dataclass(frozen=True, slots=True)
class CollectionNode:
    """A node of a collection.

    Attributes
    ----------
    name, type, path
        Name, type (such as ``multiscale``) and path or URL; None if missing.
    depth
        0 for a node of the collection, 1 for a node of a collection in it, and so on.
    """

    name: str | None
    type: str | None
    path: str | None
    depth: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of images and other nodes.

    Attributes
    ----------
    name
        Its name, or None.
    nodes
        The first 100 nodes; those of a collection follow it.
    """

    name: str | None
    nodes: tuple[CollectionNode, ...]


def parse_collection(ome: dict[str, Any]) -> Collection | None:
    """Parse a collection; return None if the metadata is none.

    Examples
    --------
    >>> parse_collection({"type": "collection", "name": "all", "nodes": [{"name": "raw", "path": {"path": "./raw"}}]})
    Collection(name='all', nodes=(CollectionNode(name='raw', type=None, path='./raw', depth=0),))
    """
    if ome.get("type") != "collection":
        return None
    nodes: list[CollectionNode] = []
    pending = [(ome, -1)]
    while pending and len(nodes) <= _MOST_NODES:
        item, depth = pending.pop()
        path = item.get("path")
        path = path.get("path") if isinstance(path, dict) else path
        nodes.append(CollectionNode(as_text(item.get("name")), as_text(item.get("type")), as_text(path), depth))
        if item.get("type") == "collection":  # the nodes of an image are its levels
            pending += [(as_object(node), depth + 1) for node in reversed(as_list(item.get("nodes")))]
    return Collection(nodes[0].name, tuple(nodes[1:]))
