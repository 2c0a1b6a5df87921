"""Facts about each node, needed for checks of the whole hierarchy; the documents are not kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ozx.errors import FormatError, UnsupportedError
from ozx.ome.references import iter_references
from ozx.validation.nodes.document import NodeDocument, merge_legacy
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.chunk_grid import ChunkGrid
from ozx.zarr.codecs import SHARDING
from ozx.zarr.json_reading import parse_strictly
from ozx.zarr.keys import ROOT_METADATA, node_of

_LONGEST_REMEMBERED = 16 << 10
_MOST_REMEMBERED = 512

_T = TypeVar("_T")

#: Called once with every node that can be read.
Look = Callable[[NodeDocument], object]


def remember(memory: dict[bytes, _T], data: bytes, known: _T) -> None:
    """Add what is known about a document, by its bytes, unless it is long; if there are too many, forget the oldest.

    Thousands of nodes in a plate have identical documents. The memory takes at most some megabytes.
    """
    if len(data) <= _LONGEST_REMEMBERED:
        if len(memory) >= _MOST_REMEMBERED:
            # The fields of a plate may all differ, and come before their arrays.
            del memory[next(iter(memory))]
        memory[data] = known


# Axes along which `ozx repack --shards auto` does not join chunks.
_APART = ("t", "c", "time", "channel")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts about a node from its ``zarr.json``, or in Zarr v2 from ``.zgroup``, ``.zarray`` and ``.zattrs``."""

    # The key of its ``zarr.json``, ``.zarray`` or ``.zgroup``.
    key: str
    # Whether the documents of the node can be read.
    is_known: bool = True
    # The values in the document; None if missing.
    zarr_format: Any = None
    node_type: Any = None
    # Whether there is an object ``attributes.ome``.
    has_ome: bool = False
    # The value of ``attributes.ome.version``; None if missing.
    version: Any = None
    # NaN and infinities as bare words, which are no JSON.
    bare_words: tuple[str, ...] = ()
    # Number of chunks in the grid of an array without the sharding codec; None for other nodes, and if unknown.
    unsharded_chunks: int | None = None
    # If each chunk holds the whole image of one time point or channel: an argument of ``--shards`` that joins up to
    # ten time points or channels. Automatic shards do not join them.
    joining_shards: str | None = None
    # The metadata of an array, except its attributes; kept only if checks of the hierarchy follow.
    array: ArrayMetadata | None = None
    # The OME-Zarr metadata of a group: ``attributes.ome``, or in Zarr v2 all attributes; kept like `array`.
    ome: dict[str, Any] | None = None
    # Key and JSON pointer of `ome`.
    ome_key: str = ""
    ome_pointer: str = ""
    # Name and reference of each extension that refers to another node; kept like `array`.
    references: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        """Path of the node; the root's path is empty."""
        return node_of(self.key)

    def at(self, key: str) -> NodeFacts:
        """Return a copy of these facts for an identical ``zarr.json`` at `key`."""
        return replace(self, key=key, ome_key=key)


#: The key of a metadata document that cannot be read, and the reason.
ReadFault = tuple[str, FormatError | UnsupportedError]


def read_nodes(
    metadata: Mapping[str, bytes], unread: Collection[str] = (), look: Look | None = None
) -> tuple[dict[str, NodeFacts], list[ReadFault]]:
    """Read all nodes of a hierarchy; return their facts by path, and faults of unreadable documents.

    Keys in `unread` (damaged entries) are not looked up. `look` is called with each readable document. Without
    `look`, the facts lack `array`, `ome` and `references`.
    """
    nodes, faults = {}, []
    memory: dict[bytes, tuple[NodeDocument, NodeFacts]] = {}
    for key in sorted(metadata, key=lambda key: key != ROOT_METADATA):
        path = node_of(key)
        nodes[path] = NodeFacts(key, is_known=False)
        if key in unread:
            continue
        try:
            data = metadata[key]
            met = memory.get(data)
            if met is None:
                document = NodeDocument.of_v3(key, *parse_strictly(data, key), data)
                nodes[path] = facts_of(document, keep=look is not None)
                remember(memory, data, (document, nodes[path]))
            else:
                document, nodes[path] = met[0].at(key), met[1].at(key)
        except (FormatError, UnsupportedError) as error:
            faults.append((key, error))
            continue
        if look is not None:
            look(document)
    return nodes, faults


def read_legacy_nodes(
    metadata: Mapping[str, bytes], unread: Collection[str], look: Look
) -> tuple[dict[str, NodeFacts], list[ReadFault]]:
    """Read all nodes of a Zarr v2 hierarchy; return their facts by path, and faults of unreadable documents."""
    nodes, faults = {}, []
    for path, keys in _by_node(metadata).items():
        nodes[path] = NodeFacts(keys[0], is_known=False, zarr_format=2)
        documents = {}
        for key in keys:
            if key in unread:
                continue
            try:
                documents[key] = parse_strictly(metadata[key], key)
            except (FormatError, UnsupportedError) as error:
                faults.append((key, error))
        if len(documents) == len(keys):
            document = merge_legacy(documents)
            nodes[path] = facts_of(document, keep=True)
            look(document)
    return nodes, faults


def _by_node(keys: Iterable[str]) -> dict[str, list[str]]:
    nodes: dict[str, list[str]] = {}
    for key in keys:
        if not key.endswith(".zmetadata"):  # it only contains copies of the other documents
            nodes.setdefault(node_of(key), []).append(key)
    # The document of an array comes before the document of a group; attributes come last.
    order = (".zarray", ".zgroup", ".zattrs")
    return {path: sorted(found, key=lambda key: order.index(key.rpartition("/")[2])) for path, found in nodes.items()}


def facts_of(node: NodeDocument, *, keep: bool = True) -> NodeFacts:
    """Return the facts about a node; `array` and `ome` are kept only if `keep` is true."""
    node_type, ome = node.node_type, node.ome
    facts = NodeFacts(
        node.key,
        zarr_format=node.document.get("zarr_format"),
        node_type=node_type,
        has_ome=ome is not None,
        version=(ome or {}).get("version"),
        bare_words=tuple(word for faults in node.faults.values() for word in faults.get("words", ())),
        unsharded_chunks=None if node.array is None else _count_unsharded_chunks(node.array),
        joining_shards=None if node.array is None else _joining_shards(node.array),
    )
    if not keep:
        return facts
    return replace(
        facts,
        array=None if node.array is None else replace(node.array, attributes={}),
        ome=None if node_type == "array" else ome,
        ome_key=node.attributes_key,
        ome_pointer=node.ome_pointer,
        references=tuple(iter_references(node.document)) if node.is_v3 else (),
    )


def _count_unsharded_chunks(array: ArrayMetadata) -> int | None:
    shape, chunks = array.shape, array.chunks
    if SHARDING in array.codecs or shape is None or chunks is None or len(shape) != len(chunks) or 0 in chunks:
        return None
    return ChunkGrid(shape, chunks).total


def _joining_shards(array: ArrayMetadata) -> str | None:
    shape, chunks, names = array.shape, array.chunks, array.dimension_names
    if shape is None or chunks is None or names is None or not len(shape) == len(chunks) == len(names):
        return None
    shards = []
    for length, chunk, name in zip(shape, chunks, names, strict=True):
        is_apart = (name or "").lower() in _APART
        if not name or (length > chunk and not (chunk == 1 and is_apart)):
            return None
        shards.append(f"{name}={min(length, 10) if is_apart and chunk == 1 else chunk}")
    return ",".join(shards)
