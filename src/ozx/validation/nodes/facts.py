"""The parsed metadata of one node, deleted after its checks, and the facts that checks of the whole hierarchy need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ozx.errors import FormatError, UnsupportedError
from ozx.ome.model import OME_KEYS
from ozx.ome.references import iter_references
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding
from ozx.zarr.array import ArrayMetadata, parse_array
from ozx.zarr.chunk_grid import ChunkGrid
from ozx.zarr.codecs import SHARDING
from ozx.zarr.json_reading import Document, JsonFaults, as_object, parse_strictly
from ozx.zarr.keys import ROOT_METADATA, node_of
from ozx.zarr.v2_documents import parse_v2_array


@dataclass(frozen=True, slots=True)
class ParsedNode:
    """One node and its parsed metadata."""

    # The key of its ``zarr.json``; in Zarr v2 of its ``.zarray`` or ``.zgroup``, or of ``.zattrs`` if it has neither.
    key: str
    document: Document
    # Path of the node; the root's path is empty.
    path: str
    # ``array`` or ``group``, or an invalid value from ``zarr.json``.
    node_type: Any
    is_v3: bool = True
    # The user's attributes, of any JSON type; an empty object if there are none.
    attributes: Any = field(default_factory=dict)
    attributes_key: str = ""
    attributes_pointer: str = ""
    # The OME-Zarr metadata (in Zarr v3 ``attributes.ome``, in Zarr v2 all attributes), and their JSON pointer.
    ome: dict[str, Any] | None = None
    ome_pointer: str = ""
    # The metadata of an array, as far as they can be read.
    array: ArrayMetadata | None = None
    # JSON that programs may interpret differently, by key of the document.
    faults: Mapping[str, JsonFaults] = field(default_factory=dict)
    # The bytes of a ``zarr.json``; many nodes of a plate share them.
    source: bytes = field(default=b"", repr=False)

    @classmethod
    def of_v3(cls, key: str, document: Document, faults: JsonFaults | None = None, source: bytes = b"") -> ParsedNode:
        """Return the node described by a parsed ``zarr.json``."""
        attributes, node_type = document.get("attributes", {}), document.get("node_type")
        ome = as_object(attributes).get("ome")
        return cls(
            key,
            document,
            node_of(key),
            node_type,
            attributes=attributes,
            attributes_key=key,
            attributes_pointer="/attributes",
            ome=ome if isinstance(ome, dict) else None,
            ome_pointer="/attributes/ome",
            array=parse_array(document) if node_type == "array" else None,
            faults={key: faults} if faults else {},
            source=source,
        )

    def at(self, key: str) -> ParsedNode:
        """Return a copy of this node for an identical ``zarr.json`` at `key`."""
        faults = {key: next(iter(self.faults.values()))} if self.faults else {}
        return replace(self, key=key, path=node_of(key), attributes_key=key, faults=faults)

    def finding(
        self, rule: str, message: str, pointer: str = "", *, severity: Severity | None = None, hint: str | None = None
    ) -> Finding:
        """Return a finding about the node; `pointer` is a JSON pointer into `document`."""
        return make_finding(rule, message, entry=self.key, pointer=pointer or None, severity=severity, hint=hint)


def merge_legacy(documents: Mapping[str, tuple[Document, JsonFaults]]) -> ParsedNode:
    """Merge the parsed ``.zarray``, ``.zgroup`` and ``.zattrs`` of a Zarr v2 node into one node."""
    key = next(iter(documents))
    attributes_key = next((found for found in documents if found.endswith(".zattrs")), "")
    document = documents[key][0]
    attributes = documents[attributes_key][0] if attributes_key else {}
    array = parse_v2_array(document) if key.endswith(".zarray") else None
    return ParsedNode(
        key,
        document,
        node_of(key),
        "group" if array is None else "array",
        is_v3=False,
        attributes=attributes,
        attributes_key=attributes_key or key,
        ome=attributes if any(name in attributes for name in OME_KEYS) else None,
        array=array,
        faults={key: faults for key, (_, faults) in documents.items() if faults},
    )


# Facts about each node; the documents are not kept in memory.

_LONGEST_REMEMBERED = 16 << 10
_MOST_REMEMBERED = 512

_T = TypeVar("_T")

#: Called once with every node that can be read.
Look = Callable[[ParsedNode], object]


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
    memory: dict[bytes, tuple[ParsedNode, NodeFacts]] = {}
    for key in sorted(metadata, key=lambda key: key != ROOT_METADATA):
        path = node_of(key)
        nodes[path] = NodeFacts(key, is_known=False)
        if key in unread:
            continue
        try:
            data = metadata[key]
            met = memory.get(data)
            if met is None:
                document = ParsedNode.of_v3(key, *parse_strictly(data, key), data)
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


def facts_of(node: ParsedNode, *, keep: bool = True) -> NodeFacts:
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
