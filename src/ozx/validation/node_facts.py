"""What the rules need to know of each node, from the ``zarr.json`` documents; nothing else of them is kept."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.array import parse_array
from ozx.hierarchy.codecs import SHARDING
from ozx.hierarchy.documents import parse_document
from ozx.hierarchy.json_values import as_object
from ozx.hierarchy.keys import node_of

__all__ = ["NodeFacts", "ReadFault", "read_nodes"]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node, as its ``zarr.json`` says.

    Attributes
    ----------
    key
        The key of its ``zarr.json``.
    is_known
        Whether that could be read.
    zarr_format, node_type
        As they stand in the document; None where they are missing.
    has_ome
        Whether there is an object ``attributes.ome``.
    version
        ``attributes.ome.version`` as it stands; None where it is missing.
    unsharded_chunks
        Number of chunks in the grid of an array without the sharding codec; None for any other node, and where the
        document does not tell.
    """

    key: str
    is_known: bool = True
    zarr_format: Any = None
    node_type: Any = None
    has_ome: bool = False
    version: Any = None
    unsharded_chunks: int | None = None


@dataclass(frozen=True, slots=True)
class ReadFault:
    """A ``zarr.json`` that could not be read, and why."""

    key: str
    error: FormatError | UnsupportedError


def read_nodes(
    metadata: Mapping[str, bytes], unread: Collection[str] = ()
) -> tuple[dict[str, NodeFacts], list[ReadFault]]:
    """Return the nodes by path, and what could not be read; each value is asked for once.

    Parameters
    ----------
    metadata
        Key of each ``zarr.json`` to its bytes; may read them when asked.
    unread
        Keys that are known to be damaged and are not asked for.
    """
    nodes, faults = {}, []
    for key in metadata:
        path = node_of(key)
        nodes[path] = NodeFacts(key, is_known=False)
        if key in unread:
            continue
        try:
            nodes[path] = _node_facts(key, parse_document(metadata[key], key))
        except (FormatError, UnsupportedError) as error:
            faults.append(ReadFault(key, error))
    return nodes, faults


def _node_facts(key: str, document: dict[str, Any]) -> NodeFacts:
    ome = as_object(document.get("attributes")).get("ome")
    node_type = document.get("node_type")
    return NodeFacts(
        key,
        zarr_format=document.get("zarr_format"),
        node_type=node_type,
        has_ome=isinstance(ome, dict),
        version=as_object(ome).get("version"),
        unsharded_chunks=_count_unsharded_chunks(document) if node_type == "array" else None,
    )


def _count_unsharded_chunks(document: dict[str, Any]) -> int | None:
    array = parse_array(document)
    shape, chunks = array.shape, array.chunks
    if SHARDING in array.codecs or shape is None or chunks is None or len(shape) != len(chunks) or 0 in chunks:
        return None
    return math.prod(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))
