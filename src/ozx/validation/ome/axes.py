"""Rules about the axes of an image and their order (OME-Zarr 0.5.2, "axes" and "multiscales" metadata)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ozx.hierarchy.json.values import as_text
from ozx.hierarchy.ome.metadata import Axis
from ozx.hierarchy.ome.units import SPACE_UNITS, TIME_UNITS
from ozx.validation.nodes.expecting import MISSING, expect_objects, expect_text, find
from ozx.validation.nodes.place import Check, Place
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

_UNITS = {"space": SPACE_UNITS, "time": TIME_UNITS}
# The order of the types; a custom type has the place of a channel.
_RANKS = {"time": 0, "channel": 1, "space": 2}


def check_axes(value: Any, place: Place) -> Check[tuple[Axis, ...] | None]:
    """Check each axis, and yield findings; return the axes, or None if they are incomplete."""
    # OME-Zarr 0.5.2, "axes": "It MUST be a list of dictionaries, where each dictionary describes a dimension (axis)".
    items = yield from expect_objects(value, place, "ome/axes")
    axes = []
    for where, item in items:
        # "MUST contain the field "name" that gives the name for this dimension."
        name = yield from expect_text(item, "name", where, "ome/axes")
        yield from _check_type_and_unit(item, name, where)
        yield from _check_details(item, where)
        axes.append(Axis(name, as_text(item.get("type")), as_text(item.get("unit"))))
    # "The values MUST be unique across all "name" fields."
    names = [axis.name for axis in axes if axis.name is not None]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        yield place.finding("ome/axis-names", f"axes: expected each name once; found {listed(repeated)} more than once")
    is_whole = isinstance(value, list) and len(items) == len(value)
    return tuple(axes) if axes and is_whole else None


def _check_type_and_unit(item: dict[str, Any], name: str | None, place: Place) -> Iterator[Finding]:
    # "SHOULD contain the field "type". It SHOULD be one of "space", "time" or "channel", but MAY take other string
    # values". "multiscales" allows "a null / custom type", too.
    kind = find(item, "type")
    if kind is MISSING:
        yield place.finding("ome/axis-type", f"axis {shown(name)}: expected a type; it is missing")
    elif kind is not None and not isinstance(kind, str):
        message = f"axis {shown(name)}: expected a type, a string; found {shown(kind)}"
        yield place.finding("ome/axis-type", message, severity="error")
    units = _UNITS.get(kind) if isinstance(kind, str) else None
    if units is None:  # the text names units for space and time only
        return
    # "SHOULD contain the field "unit" to specify the physical unit of this dimension. The value SHOULD be one of the
    # following strings".
    unit = find(item, "unit")
    if unit is MISSING or unit is None:
        # Only a note: a writer that does not know the pixel size must not invent a unit.
        message = f"axis {shown(name)}: expected a unit of {kind}; it is missing"
        yield place.finding("ome/axis-unit", message, severity="note")
    elif not isinstance(unit, str) or unit not in units:
        message = f"axis {shown(name)}: expected a unit of {kind} as OME-Zarr spells it, such as "
        yield place.finding("ome/axis-unit", f"{message}{sorted(units)[-9]}; found {shown(unit)}")


def _check_details(item: dict[str, Any], place: Place) -> Iterator[Finding]:
    # OME-Zarr 0.6, "axes": "MAY contain the field `discrete`. The value MUST be a boolean", "MAY contain the field
    # `longName`. The value MUST be a string". 0.5 does not define them.
    for key, kind, expected in (("discrete", bool, "true or false"), ("longName", str, "a string")):
        if key in item and not isinstance(item[key], kind):
            yield (place / key).finding("ome/axis-fields", f"expected {key}, {expected}; found {shown(item[key])}")


def check_axis_order(axes: Sequence[Axis], place: Place) -> Iterator[Finding]:
    """Yield findings about the number, types and order of an image's axes."""
    # OME-Zarr 0.5.2, "multiscales": "The length of "axes" must be between 2 and 5".
    if not 2 <= len(axes) <= 5:
        yield place.finding("ome/axes-count", f"expected 2 to 5 axes; found {len(axes):,}")
    kinds = [axis.type if axis.type in _RANKS else "custom" for axis in axes]
    counts = Counter(kinds)
    # "The "axes" MUST contain 2 or 3 entries of "type:space"".
    if counts["space"] not in (2, 3):
        yield place.finding("ome/axes-count", f"expected 2 or 3 axes of type space; found {counts['space']:,}")
    # "and MAY contain one additional entry of "type:time"".
    if counts["time"] > 1:
        yield place.finding("ome/axes-count", f"expected at most one axis of type time; found {counts['time']:,}")
    # "and MAY contain one additional entry of "type:channel" or a null / custom type."
    others = counts["channel"] + counts["custom"]
    if others > 1:
        message = f"axes: expected at most one axis that is not of type space or time; found {others:,}"
        yield place.finding("ome/axes-count", message)
    # "the entries MUST be ordered by "type" where the "time" axis must come first (if present), followed by the
    # "channel" or custom axis (if present) and the axes of type "space"."
    ranks = [_RANKS.get(kind, 1) for kind in kinds]
    if ranks != sorted(ranks):
        found = shown([axis.type or "no type" for axis in axes])
        yield place.finding("ome/axes-order", f"axes: expected time, then channel, then space; found {found}")
    # "If there are three spatial axes where two correspond to the image plane ("yx") and images are stacked along the
    # other (anisotropic) axis ("z"), the spatial axes SHOULD be ordered as "zyx"."
    names = [str(axis.name).lower() for axis in axes if axis.type == "space"]
    if sorted(names) == ["x", "y", "z"] and names != ["z", "y", "x"]:
        yield place.finding("ome/axes-zyx", f"expected the axes of space in the order z, y, x; found {listed(names)}")
