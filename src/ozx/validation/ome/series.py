"""Rules about series of images (OME-Zarr 0.5.2, transitional "bioformats2raw.layout" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.validation.nodes.expecting import expect_list
from ozx.validation.nodes.place import Place
from ozx.validation.report import Finding
from ozx.validation.wording import shown

LAYOUT = "bioformats2raw.layout"


def check_layout(value: Any, place: Place) -> Iterator[Finding]:
    """Yield a finding if the ``bioformats2raw.layout`` is not 3."""
    # OME-Zarr 0.5.2, "bioformats2raw.layout": "MUST have the value "3" for the "bioformats2raw.layout" key in their
    # OME-Zarr Metadata in the `zarr.json` at the top of the hierarchy". Its schema asks for the number.
    if type(value) is not int or value != 3:
        yield place.finding("ome/bioformats2raw", f"{LAYOUT}: expected the number 3; found {shown(value)}")


def check_series(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about the list of images in the group ``OME``."""
    # ""series" MUST be a list of string objects, each of which is a path to an image group."
    items = yield from expect_list(value, place, "ome/series", "a list of paths")
    for number, item in enumerate(items or []):
        if not isinstance(item, str) or not item:
            yield (place / number).finding("ome/series", f"expected a path; found {shown(item)}")
