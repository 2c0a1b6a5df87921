"""The OME-Zarr metadata of all nodes together: what is said is there, and the arrays are as it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ozx.validation.findings import Finding
from ozx.validation.node_facts import Hierarchy
from ozx.validation.ome.collections import check_collection
from ozx.validation.ome.label_images import check_label_group, check_label_image, check_labels_are_listed
from ozx.validation.ome.levels import check_levels
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.ome.wells import check_plate_wells, check_well_fields

__all__ = ["check_ome_hierarchy"]

_CHECKS: tuple[Callable[[OmeGroup, OmeNodes], Iterator[Finding]], ...] = (
    check_levels,
    check_labels_are_listed,
    check_label_group,
    check_label_image,
    check_plate_wells,
    check_well_fields,
    check_collection,
)


def check_ome_hierarchy(hierarchy: Hierarchy) -> Iterator[Finding]:
    """Yield what is wrong between the OME-Zarr metadata of nodes, and between these and the arrays."""
    nodes = OmeNodes(hierarchy)
    for group in nodes.groups():
        for check in _CHECKS:
            yield from check(group, nodes)
