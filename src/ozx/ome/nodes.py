"""The nodes of a hierarchy, parsed from their metadata documents, and notes about nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ozx.errors import FormatError
from ozx.ome.model import OmeMetadata, parse_ome
from ozx.ome.recovered import describe_losses
from ozx.quoting import quote
from ozx.zarr.array import ArrayMetadata, convention_names, parse_array
from ozx.zarr.extensions import declared_extensions
from ozx.zarr.json_reading import as_object, parse_document
from ozx.zarr.keys import METADATA, breadth_first, node_of
from ozx.zarr.v2_documents import parse_v2_array


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a hierarchy."""

    # Path of the node; the root's is empty.
    path: str
    # ``group``, ``array``, or None where the metadata names neither.
    node_type: str | None
    zarr_format: int
    array: ArrayMetadata | None = None
    ome: OmeMetadata | None = None
    # Faults of the metadata, one phrase each.
    problems: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    # Of the root: what a recovered file lacks, one sentence each.
    recovered: tuple[str, ...] = ()


class NodeCollector:
    """Collector that builds nodes from metadata documents, which are added in any order."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        # The Zarr v2 documents of each node, by its path, then by the key's last component.
        self._legacy: dict[str, dict[str, dict[str, Any]]] = {}
        self._problems: dict[str, list[str]] = {}

    def add(self, key: str, value: bytes) -> None:
        """Add the value of a metadata key; a later value of the same key replaces the earlier value."""
        try:
            document = parse_document(value, key)
        except FormatError as error:
            self.add_problem(key, error.message.removeprefix(f"{key}: "))
            return
        path, name = node_of(key), key.rpartition("/")[2]
        if name == METADATA:
            self._nodes[path] = _with_declarations(_parse_node(path, document), document, document.get("attributes"))
        elif name != ".zmetadata":  # it only contains copies of the other documents
            self._legacy.setdefault(path, {})[name] = document

    def add_problem(self, key: str, problem: str) -> None:
        """Record that the value of a metadata key is unreadable; the type of its node is then None."""
        self._problems.setdefault(node_of(key), []).append(f"{key.rpartition('/')[2]}: {problem}")

    def nodes(self) -> dict[str, Node]:
        """Return the nodes by path, breadth-first; Zarr v3 metadata takes precedence over v2."""
        found = {path: _parse_legacy_node(path, documents) for path, documents in self._legacy.items()}
        for path, node in self._nodes.items():
            both = [f"it has Zarr v2 metadata beside zarr.json: {name}" for name in sorted(self._legacy.get(path, ()))]
            found[path] = _with_problems(node, both)
        for path, problems in self._problems.items():
            node = found.get(path, Node(path, None, 3))
            found[path] = _with_problems(node, problems)
        return {path: found[path] for path in sorted(found, key=breadth_first)}


class NoteCollector:
    """Collector of notes about nodes; the same note about many nodes becomes one sentence.

    Examples
    --------
    >>> notes = NoteCollector()
    >>> for path in ("", "labels/cells", "labels/nuclei"):
    ...     notes.add(path, "no unit")
    >>> notes.sentences()
    ('the root and 2 more: no unit',)
    """

    def __init__(self) -> None:
        # By note: the path of the first node, and the number of nodes.
        self._found: dict[str, tuple[str, int]] = {}

    def add(self, path: str, note: str) -> None:
        """Add a note about the node at `path`; the root's path is empty."""
        first, count = self._found.get(note, (path, 0))
        self._found[note] = first, count + 1

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each distinct note, in the order of addition."""
        return tuple(tell(first, count, note) for note, (first, count) in self._found.items())


def tell(first: str, count: int, note: str) -> str:
    """Return a note about `count` nodes as one sentence that names the first node."""
    return f"{first or 'the root'}{f' and {count - 1:,} more' if count > 1 else ''}: {note}"


def ome_at(nodes: Mapping[str, Node], path: str) -> OmeMetadata:
    """Return the OME-Zarr metadata of the node at `path`; metadata without any value if it has none."""
    node = nodes.get(path)
    return OmeMetadata(version=None) if node is None or node.ome is None else node.ome


def group_command(path: str, node: str, *, is_v2: bool = False) -> str:
    """Return the command that makes an .ozx file of one group in a directory or archive, which may be remote."""
    out = quote(f"{node.rpartition('/')[2]}.ozx")
    if os.path.isdir(path):
        return f"ozx pack {quote(os.path.join(path, node))} {out}"
    if "://" in path and not path.lower().endswith((".ozx", ".zip")):
        return f"ozx pack {quote(path.rstrip('/') + f'/{node}/')} {out}"
    if is_v2:
        return f"ozx repack {quote(f'{path}|zip:{node}/')} {out}"
    return f"ozx extract {quote(path)} {out} --path {quote(node)}"


def _with_problems(node: Node, problems: list[str]) -> Node:
    return replace(node, problems=(*node.problems, *problems))


def _parse_node(path: str, document: dict[str, Any]) -> Node:
    # Zarr core 3.1, "Metadata documents": zarr_format is 3, node_type "array" or "group".
    problems = [] if document.get("zarr_format") == 3 else ["zarr_format is not 3"]
    node_type = document.get("node_type")
    if node_type == "array":
        array = parse_array(document)
        return Node(path, "array", 3, array=array, problems=(*problems, *array.problems))
    if node_type == "group":
        attributes = document.get("attributes", {})
        problems += [] if isinstance(attributes, dict) else ["attributes is not an object"]
        return _group_node(path, 3, as_object(attributes), problems)
    return Node(path, None, 3, problems=(*problems, "node_type is neither array nor group"))


def _parse_legacy_node(path: str, documents: dict[str, dict[str, Any]]) -> Node:
    attributes = documents.get(".zattrs")
    if ".zarray" in documents:
        array = parse_v2_array(documents[".zarray"], attributes)
        node = Node(path, "array", 2, array=array, problems=array.problems)
    else:
        problems = [] if ".zgroup" in documents else ["it has neither .zgroup nor .zarray"]
        node = _group_node(path, 2, attributes or {}, problems)
    return _with_declarations(node, {}, attributes)


def _with_declarations(node: Node, document: dict[str, Any], attributes: Any) -> Node:
    extensions, conventions = declared_extensions(document), convention_names(attributes)
    recovered = () if node.path else describe_losses(attributes)
    if not (extensions or conventions or recovered):
        return node
    return replace(node, extensions=extensions, conventions=conventions, recovered=recovered)


def _group_node(path: str, zarr_format: int, attributes: dict[str, Any], problems: list[str]) -> Node:
    ome = parse_ome(attributes, zarr_format)
    found = () if ome is None else ome.problems
    return Node(path, "group", zarr_format, ome=ome, problems=(*problems, *found))
