"""Rules that compare the OME-Zarr metadata of a group with other nodes and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ozx.hierarchy.ome.versions import describe_draft
from ozx.validation.nodes.expecting import MISSING, find
from ozx.validation.nodes.facts import Hierarchy, NodeFacts
from ozx.validation.ome.collections import check_collection
from ozx.validation.ome.coordinates.connections import check_connections
from ozx.validation.ome.coordinates.references import check_transformation_references
from ozx.validation.ome.label_images import check_label_group, check_label_image, check_labels_are_listed
from ozx.validation.ome.levels import check_levels
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.ome.wells import check_plate_wells, check_well_fields
from ozx.validation.report import Finding
from ozx.validation.wording import shown

_CHECKS: tuple[Callable[[OmeGroup, OmeNodes], Iterator[Finding]], ...] = (
    check_levels,
    check_labels_are_listed,
    check_label_group,
    check_label_image,
    check_plate_wells,
    check_well_fields,
    check_collection,
    check_transformation_references,
)


def check_ome_hierarchy(hierarchy: Hierarchy) -> Iterator[Finding]:
    """Yield findings about OME-Zarr metadata that contradicts other nodes or arrays."""
    for node in hierarchy.nodes.values():
        yield from _check_version(node)
    nodes = OmeNodes(hierarchy)
    for group in nodes.groups():
        for check in _CHECKS:
            yield from check(group, nodes)
    yield from check_connections(nodes)


def _check_version(node: NodeFacts) -> Iterator[Finding]:
    if not node.path and isinstance(node.version, str):
        draft = describe_draft(node.version)
        if draft is not None:
            yield node.ome_finding("ome/draft-version", f"{node.version} is {draft}", "/version")
    # OME-Zarr 0.5.2, "OME-Zarr Metadata": "The version of the OME-Zarr Metadata is denoted as a string in the `version`
    # attribute within the `ome` namespace." `rfc9/one-hierarchy` checks the root.
    if node.ome is None or node.zarr_format == 2 or not node.path or isinstance(node.ome.get("version"), str):
        return
    version = find(node.ome, "version")
    if version is MISSING:
        yield node.ome_finding("ome/version", "expected a version, which is the same as the root's; it is missing")
    else:
        message = f"expected a version, a string; found {shown(version)}"
        yield node.ome_finding("ome/version", message, severity="error")
