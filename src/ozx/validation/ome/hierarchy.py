"""Rules that compare the OME-Zarr metadata of a group with other nodes and arrays, and those about collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ozx.ome.images import SERIES
from ozx.ome.versions import describe_draft
from ozx.validation.nodes.facts import NodeFacts
from ozx.validation.nodes.place import MISSING, JsonPlace
from ozx.validation.ome.coordinates.ends import check_connections, check_transformation_references
from ozx.validation.ome.documents import LAYOUT
from ozx.validation.ome.labels import check_label_group, check_label_image, check_labels_are_listed
from ozx.validation.ome.levels import check_levels
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.ome.plates import check_plate_wells, check_well_fields
from ozx.validation.report import Finding
from ozx.validation.wording import shown
from ozx.zarr.keys import ORIGINAL_METADATA, join_path

# Rules about collections of images (OME-Zarr 0.5.2, transitional "bioformats2raw.layout" metadata).


def check_collection(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a collection of images."""
    if LAYOUT not in group.ome.raw:
        return
    # OME-Zarr 0.5.2, "bioformats2raw.layout": "SHOULD have OME metadata representing the entire collection of images in
    # a file named "OME/METADATA.ome.xml"".
    if not nodes.has_file(join_path(group.path, ORIGINAL_METADATA)):
        message = f"expected the file {ORIGINAL_METADATA} beside the images; found none"
        yield (group.place / LAYOUT).finding("ome/ome-xml", message)
    listing = nodes.group(join_path(group.path, SERIES))
    series = None if listing is None else listing.ome.series
    if listing is not None and series is not None:
        yield from _check_series(group, listing, nodes)
    elif group.ome.plate is not None:
        # OME-Zarr 0.5.2, "bioformats2raw.layout": "If "plate" metadata is present … Matching "series" metadata (as
        # described next) SHOULD be provided for tools that are unaware of the "plate" specification."
        message = "expected series in the group OME, for programs that do not know plates; found none"
        yield (group.place / LAYOUT).finding("ome/plate-series", message)
    elif not nodes.is_unknown(join_path(group.path, SERIES)):
        yield from _check_numbers(group, nodes)


def _check_series(group: OmeGroup, listing: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    # ""series" MUST be a list of string objects, each of which is a path to an image group."
    for number, name in enumerate(listing.ome.series or ()):
        path = nodes.resolve(group, name)
        if path is None or not nodes.is_image(path):
            where = listing.place / "series" / number
            yield where.finding("ome/series-missing", f"expected an image at {shown(name)}; found none")


def _check_numbers(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    # "If the "series" attribute does not exist and no "plate" is present: separate "multiscales" images MUST be stored
    # in consecutively numbered groups starting from 0 (i.e. "0/", "1/", "2/", "3/", ...)."
    prefix = f"{group.path}/" if group.path else ""
    names = [path.removeprefix(prefix) for path in nodes.below(group.path) if nodes.is_image(path)]
    found = sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10)
    if found != list(range(len(found))) or not found:
        message = f"expected images in groups 0, 1, 2, …, because series is missing; found {shown(found)}"
        yield (group.place / LAYOUT).finding("ome/series-numbers", message)


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


def check_ome_hierarchy(facts: Mapping[str, NodeFacts], has_file: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield findings about OME-Zarr metadata that contradicts other nodes or arrays."""
    for node in facts.values():
        yield from _check_version(node)
    nodes = OmeNodes(facts, has_file)
    for group in nodes.groups():
        for check in _CHECKS:
            yield from check(group, nodes)
    yield from check_connections(nodes)


def _check_version(node: NodeFacts) -> Iterator[Finding]:
    place = JsonPlace(node.ome_key, node.ome_pointer)
    if not node.path and isinstance(node.version, str):
        draft = describe_draft(node.version)
        if draft is not None:
            yield (place / "version").finding("ome/draft-version", f"{node.version} is {draft}")
    # OME-Zarr 0.5.2, "OME-Zarr Metadata": "The version of the OME-Zarr Metadata is denoted as a string in the `version`
    # attribute within the `ome` namespace." `rfc9/one-hierarchy` checks the root.
    if node.ome is None or node.zarr_format == 2 or not node.path or isinstance(node.ome.get("version"), str):
        return
    version = node.ome.get("version", MISSING)
    if version is MISSING:
        yield place.finding("ome/version", "expected a version, which is the same as the root's; it is missing")
    else:
        message = f"expected a version, a string; found {shown(version)}"
        yield place.finding("ome/version", message, severity="error")
