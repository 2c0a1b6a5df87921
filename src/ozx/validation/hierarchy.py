"""All checks of metadata documents: of single nodes, and of the whole hierarchy.

No function here reads a file. A check of a node is a function from a `ParsedNode` to findings, a check of the
hierarchy is a function from all `NodeFacts` to findings; the tables below list the checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from ozx.errors import FormatError
from ozx.extensions import iter_registered
from ozx.extras import install_hint
from ozx.progress import NO_PROGRESS, Progress
from ozx.validation.nodes.facts import NodeFacts, ParsedNode, ReadFault, read_legacy_nodes, read_nodes, remember
from ozx.validation.ome.documents import check_ome
from ozx.validation.ome.hierarchy import check_ome_hierarchy
from ozx.validation.ome.second_opinion import check_ome_twice, has_second_opinion
from ozx.validation.report import Finding, Level
from ozx.validation.rules.findings import FindingCollector, Kind, finding_from_error, make_finding
from ozx.validation.zarr.arrays import check_array
from ozx.validation.zarr.documents import (
    check_copies,
    check_dimension_names,
    check_fields,
    check_json,
    check_legacy,
    check_name,
    check_node_name,
    check_recovered,
    consolidated_copies,
)
from ozx.validation.zarr.extensions import check_conventions, check_extensions, check_references, check_schemas
from ozx.validation.zarr.schemas import Schemas
from ozx.zarr.keys import is_metadata_key
from ozx.zarr.normalisation import say_the_same

NodeCheck = Callable[[ParsedNode], Iterable[Finding]]

#: Checks of each node that depend on the node's path.
PLACE_CHECKS: tuple[NodeCheck, ...] = (check_name, check_node_name, check_recovered)

#: Checks of each node that depend only on the node's documents. A repeated document is not checked again if it has no
#: findings, or if its findings would only be counted.
NODE_CHECKS: tuple[NodeCheck, ...] = (
    check_json,
    check_fields,
    check_array,
    check_extensions,
    check_legacy,
    check_conventions,
    check_dimension_names,
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options that select the checks of one file or directory."""

    level: Level = "hierarchy"
    # Whether ZIP compression, other comments and other extra fields are errors, too (the profile ``strict``).
    plain_only: bool = False
    second_opinion: bool = True
    # The given schemas of conventions.
    schemas: Schemas = field(default_factory=Schemas)
    # Number of chunks decoded at a time; None for the number of processors.
    jobs: int | None = None
    progress: Progress = NO_PROGRESS

    def node_checks(self) -> tuple[NodeCheck, ...]:
        """Return the selected checks of a single node."""
        of_ome = check_ome_twice if self.second_opinion and has_second_opinion() else check_ome
        of_schemas = (partial(check_schemas, schemas=self.schemas),) if self.schemas else ()
        return (*NODE_CHECKS, of_ome, *of_schemas)


DEFAULTS = Options()


class NodeChecker:
    """Collector of findings about nodes; each node is checked when it is read.

    Only the first findings of each rule are kept, and further findings are counted, because documents can be hostile.
    """

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._node_checks = options.node_checks()
        self._lacks_opinion = options.second_opinion and not has_second_opinion()
        self._found = FindingCollector()
        # The copies in the root's consolidated metadata that no node was compared with yet, and the nodes whose copies
        # differ or are missing.
        self._copies: dict[str, Any] | None = None
        self._differing: list[str] = []
        self._missing: list[str] = []
        # Handlers of extensions get the node's path, and their answer may depend on it.
        self._met: dict[bytes, Counter[Kind]] = {}
        self._may_remember = next(iter_registered(), None) is None

    def look(self, node: ParsedNode) -> None:
        """Check one node, and collect its findings."""
        self._compare(node)
        self._found.add(chain.from_iterable(check(node) for check in PLACE_CHECKS))
        kinds = self._met.get(node.source)
        if kinds is not None and self._found.count_again(kinds):
            return
        before = self._found.counts()
        try:
            self._found.add(chain.from_iterable(check(node) for check in self._node_checks))
        except RecursionError:
            error = FormatError(
                f"{node.key}: expected metadata of limited depth; found deeper nesting", rule="zarr/json"
            )
            self._found.add([finding_from_error(error, entry=node.key)])
        if node.source and self._may_remember:
            remember(self._met, node.source, self._found.counts() - before)

    def _compare(self, node: ParsedNode) -> None:
        """Compare a node with its copy in the root's consolidated metadata; the root is the first node."""
        if not node.path:
            self._copies = consolidated_copies(node)
        elif self._copies is not None:
            copy = self._copies.pop(node.path, None)
            if copy is None:
                self._missing.append(node.path)
            elif not say_the_same(copy, node.document):
                self._differing.append(node.path)

    def findings(
        self, nodes: Mapping[str, NodeFacts], has_file: Callable[[str], bool] = lambda _: True
    ) -> Iterator[Finding]:
        """Yield all findings about the nodes and about the whole hierarchy, when all nodes are read.

        `nodes` are by path; `has_file` returns whether a file has a key, True for every key if the files are unknown.
        """
        self._found.add(check_references(nodes))
        self._found.add(check_ome_hierarchy(nodes, has_file))
        # Unreadable nodes are not missing.
        left = [path for path in self._copies or () if path not in nodes]
        self._found.add(check_copies(self._differing, self._missing, left))
        yield from self._found
        if self._lacks_opinion and any(node.ome is not None for node in nodes.values()):
            yield make_finding(
                "ome/second-opinion",
                "ome-zarr-models was not asked for a second opinion, because it is not installed",
                severity="note",
                hint=install_hint("validate"),
            )


def check_documents(metadata: Mapping[str, bytes], options: Options = DEFAULTS) -> Iterator[Finding]:
    """Yield findings about the metadata documents of a hierarchy: every ``zarr.json``, or the documents of Zarr v2.

    `ozx.validation.container.one_hierarchy` checks that RFC-9 allows the hierarchy in a file. A mapping may read the
    documents lazily: each key is looked up once, the root's first. A `FormatError` or `UnsupportedError` that the
    mapping raises becomes a finding.
    """
    checker = NodeChecker(options)
    is_v3 = any(map(is_metadata_key, metadata))
    faults: list[ReadFault]
    nodes, faults = read_nodes(metadata, look=checker.look) if is_v3 else read_legacy_nodes(metadata, (), checker.look)
    for key, error in faults:
        yield finding_from_error(error, entry=key)
    yield from checker.findings(nodes)
