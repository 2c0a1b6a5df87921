"""Comparison of the copies in the root's consolidated metadata with the nodes themselves."""

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


class ConsolidatedCopies:
    """Comparison of nodes with their copies in the root's consolidated metadata; the root must be the first node.

    Examples
    --------
    >>> copies = ConsolidatedCopies()
    >>> stale = b'{"node_type": "group", "consolidated_metadata": {"metadata": {"0": {"node_type": "array"}}}}'
    >>> copies.look(NodeDocument.of_v3("zarr.json", stale))
    >>> [finding.message for finding in copies.findings(Hierarchy({}))]
    ['copies of missing nodes: 1, "0"']
    """

    def __init__(self) -> None:
        self._copies: dict[str, Any] | None = None
        self._other: list[str] = []
        self._missing: list[str] = []

    def look(self, node: NodeDocument) -> None:
        """Compare a node with its copy in the consolidated metadata."""
        if not node.path:
            copies = as_object(node.document.get(FIELD)).get("metadata")
            # `zarr/consolidated-metadata` and `zarr/reader-refuses` report values of other forms.
            if isinstance(copies, dict) and all(isinstance(copy, dict) for copy in copies.values()):
                self._copies = dict(copies)
        elif self._copies is not None:
            copy = self._copies.pop(node.path, None)
            if copy is None:
                self._missing.append(node.path)
            elif not say_the_same(copy, node.document):
                self._other.append(node.path)

    def findings(self, hierarchy: Hierarchy) -> Iterator[Finding]:
        """Yield findings about wrong and missing copies, and about copies of missing (not of unreadable) nodes."""
        left = [path for path in self._copies or () if path not in hierarchy.nodes]
        # Not in core 3.1: zarr-python reads the copies instead of the documents.
        for paths, what in (
            (self._other, "copies that differ from their nodes"),
            (self._missing, "nodes without a copy"),
            (left, "copies of missing nodes"),
        ):
            if paths:
                message = f"{what}: {len(paths):,}, {listed(paths)}"
                pointer = f"/{FIELD}/metadata"
                yield make_finding("zarr/stale-copies", message, entry=ROOT_METADATA, pointer=pointer)
