"""The parsed metadata of one node, deleted after the checks of this node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ozx.ome.model import OME_KEYS
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding
from ozx.zarr.array import ArrayMetadata, parse_array
from ozx.zarr.json_reading import Document, JsonFaults, as_object
from ozx.zarr.keys import node_of
from ozx.zarr.v2_documents import parse_v2_array


@dataclass(frozen=True, slots=True)
class NodeDocument:
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
    def of_v3(cls, key: str, document: Document, faults: JsonFaults | None = None, source: bytes = b"") -> NodeDocument:
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

    def at(self, key: str) -> NodeDocument:
        """Return a copy of this node for an identical ``zarr.json`` at `key`."""
        faults = {key: next(iter(self.faults.values()))} if self.faults else {}
        return replace(self, key=key, path=node_of(key), attributes_key=key, faults=faults)

    def finding(
        self, rule: str, message: str, pointer: str = "", *, severity: Severity | None = None, hint: str | None = None
    ) -> Finding:
        """Return a finding about the node; `pointer` is a JSON pointer into `document`."""
        return make_finding(rule, message, entry=self.key, pointer=pointer or None, severity=severity, hint=hint)


def merge_legacy(documents: Mapping[str, tuple[Document, JsonFaults]]) -> NodeDocument:
    """Merge the parsed ``.zarray``, ``.zgroup`` and ``.zattrs`` of a Zarr v2 node into one node."""
    key = next(iter(documents))
    attributes_key = next((found for found in documents if found.endswith(".zattrs")), "")
    document = documents[key][0]
    attributes = documents[attributes_key][0] if attributes_key else {}
    array = parse_v2_array(document) if key.endswith(".zarray") else None
    return NodeDocument(
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
