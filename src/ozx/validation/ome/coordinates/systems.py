"""Rules about lists of coordinate systems (OME-Zarr 0.6, "coordinateSystems" metadata)."""

from __future__ import annotations

from typing import Any

from ozx.hierarchy.ome.metadata import Axis
from ozx.validation.nodes.expecting import expect_objects, expect_text, find
from ozx.validation.nodes.place import Check, Place
from ozx.validation.ome.axes import check_axes, check_axis_order
from ozx.validation.wording import shown

#: Axes of each coordinate system by its name; None if they cannot be read.
Systems = dict[str, tuple[Axis, ...] | None]


def check_systems(value: Any, place: Place, *, of_image: bool) -> Check[Systems]:
    """Check a list of coordinate systems, and yield findings; return the axes of each system by its name.

    The coordinate systems of an image may have only certain types of axes.
    """
    systems: Systems = {}
    for where, item in (yield from expect_objects(value, place, "ome/coordinate-systems", may_be_empty=not of_image)):
        # "MUST contain the field `name`. The value MUST be a non-empty string that is unique among all entries in a
        # `coordinateSystems` array."
        name = yield from expect_text(item, "name", where, "ome/coordinate-systems")
        if name is not None and name in systems:
            message = f"expected coordinate systems with different names; found {shown(name)} twice"
            yield (where / "name").finding("ome/coordinate-systems", message)
        # "MUST contain the field `axes`, whose value is an array of valid `axes`".
        axes = yield from check_axes(find(item, "axes"), where / "axes")
        # "The following conditions apply to all coordinate systems inside multiscales metadata". The schema and the
        # published case byDimension allow axes of type `array` instead of those of space.
        if axes is not None and of_image and not all(axis.type == "array" for axis in axes):
            yield from check_axis_order(axes, where / "axes")
        if name is not None:
            systems[name] = axes
    return systems
