"""The parsed metadata of one node, deleted after the checks of this node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ozx.hierarchy.json.reading import Document, JsonFaults, as_object, parse_strictly
from ozx.hierarchy.keys import node_of
from ozx.hierarchy.ome.model import OME_KEYS
from ozx.hierarchy.zarr.array import ArrayMetadata, parse_array
from ozx.hierarchy.zarr_v2.documents import parse_v2_array
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding


@dataclass(frozen=True, slots=True)
class NodeDocument:
    """One node and its parsed metadata."""

    # The key of its ``zarr.json``; in Zarr v2 of its ``.zarray`` or ``.zgroup``, or of ``.zattrs`` if it has neither.
    key: str
    document: Document
    is_v3: bool = True
    # The user's attributes, of any JSON type; an empty object if there are none.
    attributes: Any = field(default_factory=dict)
    attributes_key: str = ""
    attributes_pointer: str = ""
    # The metadata of an array, as far as they can be read.
    array: ArrayMetadata | None = None
    # JSON that programs may interpret differently, by key of the document.
    faults: Mapping[str, JsonFaults] = field(default_factory=dict)
    # The bytes of a ``zarr.json``; many nodes of a plate share them.
    source: bytes = field(default=b"", repr=False)

    @classmethod
    def of_v3(cls, key: str, data: bytes) -> NodeDocument:
        """Return the node described by a ``zarr.json``."""
        document, faults = parse_strictly(data, key)
        return cls(
            key,
            document,
            attributes=document.get("attributes", {}),
            attributes_key=key,
            attributes_pointer="/attributes",
            array=parse_array(document) if document.get("node_type") == "array" else None,
            faults={key: faults} if faults else {},
            source=data,
        )

    def at(self, key: str) -> NodeDocument:
        """Return a copy of this node for an identical ``zarr.json`` at `key`."""
        faults = {key: next(iter(self.faults.values()))} if self.faults else {}
        return replace(self, key=key, attributes_key=key, faults=faults)

    @property
    def path(self) -> str:
        """Path of the node; the root's path is empty."""
        return node_of(self.key)

    @property
    def node_type(self) -> Any:
        """Type of the node: ``array`` or ``group``, or an invalid value from ``zarr.json``."""
        if self.is_v3:
            return self.document.get("node_type")
        return "group" if self.array is None else "array"

    @property
    def ome(self) -> dict[str, Any] | None:
        """The OME-Zarr metadata (in Zarr v3 ``attributes.ome``, in Zarr v2 all attributes), or None."""
        if self.is_v3:
            ome = as_object(self.attributes).get("ome")
            return ome if isinstance(ome, dict) else None
        attributes = as_object(self.attributes)
        return attributes if any(name in attributes for name in OME_KEYS) else None

    @property
    def ome_pointer(self) -> str:
        """JSON pointer to the OME-Zarr metadata in the document `attributes_key`."""
        return "/attributes/ome" if self.is_v3 else ""

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
    return NodeDocument(
        key,
        document,
        is_v3=False,
        attributes=attributes,
        attributes_key=attributes_key or key,
        array=parse_v2_array(document) if key.endswith(".zarray") else None,
        faults={key: faults for key, (_, faults) in documents.items() if faults},
    )
