"""The copies in the root's consolidated metadata, compared with the nodes as these are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_object
from ozx.hierarchy.keys import ROOT_METADATA
from ozx.hierarchy.zarr.consolidation import FIELD, say_the_same
from ozx.validation.nodes.document import NodeDocument
from ozx.validation.nodes.facts import Hierarchy
from ozx.validation.report import Finding
from ozx.validation.rules.findings import make_finding
from ozx.validation.wording import listed

__all__ = ["ConsolidatedCopies"]


class ConsolidatedCopies:
    """Is shown the nodes of a hierarchy, the root first; forgets a copy once it was compared.

    Examples
    --------
    >>> copies = ConsolidatedCopies()
    >>> stale = b'{"node_type": "group", "consolidated_metadata": {"metadata": {"0": {"node_type": "array"}}}}'
    >>> copies.look(NodeDocument.of_v3("zarr.json", stale))
    >>> [finding.message for finding in copies.findings(Hierarchy({}))]
    ['copies of nodes that are not there: 1, "0"']
    """

    def __init__(self) -> None:
        self._copies: dict[str, Any] | None = None
        self._other: list[str] = []
        self._missing: list[str] = []

    def look(self, node: NodeDocument) -> None:
        """Compare a node with its copy."""
        if not node.path:
            copies = as_object(node.document.get(FIELD)).get("metadata")
            # Of others `zarr/consolidated-metadata` and `zarr/reader-refuses` speak.
            if isinstance(copies, dict) and all(isinstance(copy, dict) for copy in copies.values()):
                self._copies = dict(copies)
        elif self._copies is not None:
            copy = self._copies.pop(node.path, None)
            if copy is None:
                self._missing.append(node.path)
            elif not say_the_same(copy, node.document):
                self._other.append(node.path)

    def findings(self, hierarchy: Hierarchy) -> Iterator[Finding]:
        """Yield how the copies differ from all nodes, of which those that cannot be read have findings of their own."""
        left = [path for path in self._copies or () if path not in hierarchy.nodes]
        # No part of core 3.1, but of zarr-python, which reads the copies and never looks at the documents.
        for paths, what in (
            (self._other, "copies that say something else than their nodes"),
            (self._missing, "nodes without a copy"),
            (left, "copies of nodes that are not there"),
        ):
            if paths:
                message = f"{what}: {len(paths):,}, {listed(paths)}"
                pointer = f"/{FIELD}/metadata"
                yield make_finding("zarr/stale-copies", message, entry=ROOT_METADATA, pointer=pointer)
