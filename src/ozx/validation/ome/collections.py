"""Rules about collections of images (OME-Zarr 0.5.2, transitional "bioformats2raw.layout" metadata)."""

from __future__ import annotations

from collections.abc import Iterator

from ozx.hierarchy.nodes import join_path
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.ome.series import LAYOUT
from ozx.validation.report import Finding
from ozx.validation.wording import shown

_OME_XML = "OME/METADATA.ome.xml"


def check_collection(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a collection of images."""
    if LAYOUT not in (group.node.ome or {}):
        return
    # OME-Zarr 0.5.2, "bioformats2raw.layout": "SHOULD have OME metadata representing the entire collection of images in
    # a file named "OME/METADATA.ome.xml"".
    if not nodes.has_file(join_path(group.path, _OME_XML)):
        message = f"expected the file {_OME_XML} beside the images; found none"
        yield (group.place / LAYOUT).finding("ome/ome-xml", message)
    listing = nodes.group(join_path(group.path, "OME"))
    series = None if listing is None else listing.ome.series
    if listing is not None and series is not None:
        yield from _check_series(group, listing, nodes)
    elif group.ome.plate is not None:
        # OME-Zarr 0.5.2, "bioformats2raw.layout": "If "plate" metadata is present … Matching "series" metadata (as
        # described next) SHOULD be provided for tools that are unaware of the "plate" specification."
        message = "expected series in the group OME, for programs that do not know plates; found none"
        yield (group.place / LAYOUT).finding("ome/plate-series", message)
    elif not nodes.is_unknown(join_path(group.path, "OME")):
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
