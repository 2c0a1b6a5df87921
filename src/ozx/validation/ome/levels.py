"""Rules about axes, and about levels with their transformations and arrays (OME-Zarr 0.5.2, multiscales metadata)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ozx.ome.model import Axis, Multiscale
from ozx.ome.units import UNITS_OF
from ozx.validation.nodes.place import (
    MISSING,
    Check,
    JsonPlace,
    as_integer,
    describe_found,
    expect_objects,
    expect_text,
    repeated,
)
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.json_reading import as_list, as_numbers, as_object, as_text

# Writers round scales.
_SAME = 1.001
# A level may be cropped or padded to whole pixels or chunks; a larger difference means another scale.
_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class _LevelFacts:
    array: ArrayMetadata
    shape: tuple[int, ...]
    scale: tuple[float, ...] | None
    place: JsonPlace


def check_levels(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about the images of a group and the arrays of their resolution levels."""
    has_systems = any("coordinateSystems" in as_object(item) for item in as_list(group.ome.raw.get("multiscales")))
    for number, multiscale in enumerate(group.ome.multiscales):
        place = group.place / "multiscales" / number
        levels = yield from _find_levels(group, multiscale, nodes, place)
        for level in levels:
            yield from _check_axes(level, multiscale.axes)
            if not group.is_v2 and not has_systems:
                yield from _check_names(level, multiscale.axes)
        yield from _check_shapes(levels)
        yield from _check_types(levels, place, is_demanded=has_systems)
        if levels and number == 0:
            yield from _check_display(group, multiscale.axes, levels[0].shape)


def _find_levels(
    group: OmeGroup, multiscale: Multiscale, nodes: OmeNodes, place: JsonPlace
) -> Check[list[_LevelFacts]]:
    levels = []
    for number, dataset in enumerate(multiscale.datasets):
        if dataset.path is None:
            continue
        where = place / "datasets" / number / "path"
        path = nodes.resolve(group, dataset.path)
        array = None if path is None else nodes.array(path)
        if array is not None:
            if array.shape is not None:
                levels.append(_LevelFacts(array, array.shape, dataset.scale, where))
        # OME-Zarr 0.5.2, "multiscales": "Each dictionary in "datasets" MUST contain the field "path", whose value
        # contains the path to the array for this resolution relative to the current zarr group."
        elif path is None or not nodes.is_unknown(path):
            found = "there is a group" if path is not None and nodes.is_group(path) else "there is none"
            yield where.finding("ome/level-missing", f"expected an array at {shown(dataset.path)}; {found}")
    return levels


def _check_axes(level: _LevelFacts, axes: Sequence[Axis]) -> Iterator[Finding]:
    # OME-Zarr 0.5.2, "axes": "The length of "axes" MUST be equal to the number of dimensions of the arrays that contain
    # the image data."
    if axes and len(level.shape) != len(axes):
        message = f"expected an array of {len(axes)} dimensions, one for each axis; it has {len(level.shape)}"
        yield level.place.finding("ome/dimensions", message)


def _check_names(level: _LevelFacts, axes: Sequence[Axis]) -> Iterator[Finding]:
    # OME-Zarr 0.5.2, "axes": "The "dimension_names" attribute MUST be included in the `zarr.json` of the Zarr array of
    # a multiscale level and MUST match the names in the "axes" metadata."
    names = level.array.dimension_names
    expected = [axis.name for axis in axes]
    if not axes or (names is not None and list(names) == expected):
        return
    found = "it has none" if names is None else f"they are {shown(list(names))}"
    message = f"expected an array whose dimension_names are those of the axes, {shown(expected)}; {found}"
    yield level.place.finding("ome/dimension-names", message)


def _check_shapes(levels: Sequence[_LevelFacts]) -> Iterator[Finding]:
    for finer, coarser in pairwise(levels):
        if len(finer.shape) != len(coarser.shape):
            continue
        # "The "path"s MUST be ordered from largest (i.e. highest resolution) to smallest." A level with a coarser scale
        # than the level before is in the right order with any shape.
        grows = any(after > before for before, after in zip(finer.shape, coarser.shape, strict=True))
        if grows and not _is_coarser(finer.scale, coarser.scale):
            message = "expected levels from the largest to the smallest; found the shape "
            message += f"{shown(list(coarser.shape))} after {shown(list(finer.shape))}"
            yield coarser.place.finding("ome/level-order", message)
        # Scale and shape of a level agree: pixels twice as large are half as many. No clause demands this, but if they
        # disagree, readers that use scales and readers that use shapes show different positions.
        elif finer.scale is not None and coarser.scale is not None and not _agree(finer, coarser):
            shapes = f"{shown(list(coarser.shape))} after {shown(list(finer.shape))}"
            scales = f"{shown(list(coarser.scale))} after {shown(list(finer.scale))}"
            message = f"expected shapes that shrink as scales grow; found the shape {shapes}, the scale {scales}"
            yield coarser.place.finding("ome/level-shape", message)


def _is_coarser(finer: Sequence[float] | None, coarser: Sequence[float] | None) -> bool:
    return finer is not None and coarser is not None and any(b > a for a, b in zip(finer, coarser, strict=False))


def _agree(finer: _LevelFacts, coarser: _LevelFacts) -> bool:
    """Return whether the shapes of two levels are consistent with their scales."""
    scales = zip(finer.scale or (), coarser.scale or (), strict=False)
    for before, after, (small, large) in zip(finer.shape, coarser.shape, scales, strict=False):
        if small <= 0 or large < small:
            continue  # `ome/scale-value` and `ome/level-order` report it
        expected = before * small / large
        is_same = large < small * _SAME
        if (is_same and after != before) or abs(after - expected) > max(1, _TOLERANCE * expected):
            return False
    return True


def _check_types(levels: Sequence[_LevelFacts], place: JsonPlace, *, is_demanded: bool) -> Iterator[Finding]:
    # OME-Zarr 0.6, "multiscales": "Every Zarr array referred to by a `path` MUST have the same number of dimensions and
    # datatype". No clause of 0.5 names their data types.
    types = [level.array.data_type for level in levels if level.array.data_type is not None]
    if len(set(types)) > 1:
        message = f"expected levels of one data type; found {listed(types)}"
        yield (place / "datasets").finding("ome/level-type", message, severity="error" if is_demanded else None)


def _check_display(group: OmeGroup, axes: Sequence[Axis], shape: Sequence[int]) -> Iterator[Finding]:
    omero = group.ome.raw.get("omero")
    if not isinstance(omero, dict) or len(axes) != len(shape):
        return
    lengths = dict(zip(map(_role, axes), shape, strict=True))
    # OME-Zarr 0.5.2, "omero": "Array matching the c dimension size".
    channels = omero.get("channels")
    count = lengths.get("channel", 1)
    if isinstance(channels, list) and len(channels) != count:
        message = f"expected {count:,} channels, as many as the array has; found {len(channels):,}"
        yield (group.place / "omero" / "channels").finding("ome/channel-count", message)
    # "First timepoint to show the user", "First Z section to show the user": vizarr shows black beyond the range.
    rdefs = omero.get("rdefs")
    for key, role in (("defaultT", "time"), ("defaultZ", "z")):
        value = as_object(rdefs).get(key)
        length = lengths.get(role, 1)
        if value is not None and not (as_integer(value) is not None and 0 <= value < max(length, 1)):
            message = f"expected {key} to be a number from 0 to {max(length, 1) - 1:,}; found {shown(value)}"
            yield (group.place / "omero" / "rdefs" / key).finding("ome/default-plane", message)


def _role(axis: Axis) -> str | None:
    return (
        "z"
        if axis.type == "space" and str(axis.name).lower() == "z"
        else (axis.type if axis.type != "space" else axis.name)
    )


# Rules about the axes of an image and their order (OME-Zarr 0.5.2, "axes" and "multiscales" metadata).

# The order of the types; a custom type has the place of a channel.
_RANKS = {"time": 0, "channel": 1, "space": 2}


def check_axes(value: Any, place: JsonPlace) -> Check[tuple[Axis, ...] | None]:
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
    if several := repeated(axis.name for axis in axes if axis.name is not None):
        yield place.finding("ome/axis-names", f"axes: expected each name once; found {listed(several)} more than once")
    is_whole = isinstance(value, list) and len(items) == len(value)
    return tuple(axes) if axes and is_whole else None


def _check_type_and_unit(item: dict[str, Any], name: str | None, place: JsonPlace) -> Iterator[Finding]:
    # "SHOULD contain the field "type". It SHOULD be one of "space", "time" or "channel", but MAY take other string
    # values". "multiscales" allows "a null / custom type", too.
    kind = item.get("type", MISSING)
    if kind is MISSING:
        yield place.finding("ome/axis-type", f"axis {shown(name)}: expected a type; it is missing")
    elif kind is not None and not isinstance(kind, str):
        message = f"axis {shown(name)}: expected a type, a string; found {shown(kind)}"
        yield place.finding("ome/axis-type", message, severity="error")
    units = UNITS_OF.get(kind) if isinstance(kind, str) else None
    if units is None:  # the text names units for space and time only
        return
    # "SHOULD contain the field "unit" to specify the physical unit of this dimension. The value SHOULD be one of the
    # following strings".
    unit = item.get("unit", MISSING)
    if unit is MISSING or unit is None:
        # Only a note: a writer that does not know the pixel size must not invent a unit.
        message = f"axis {shown(name)}: expected a unit of {kind}; it is missing"
        yield place.finding("ome/axis-unit", message, severity="note")
    elif not isinstance(unit, str) or unit not in units:
        message = f"axis {shown(name)}: expected a unit of {kind} as OME-Zarr spells it, such as "
        yield place.finding("ome/axis-unit", f"{message}{sorted(units)[-9]}; found {shown(unit)}")


def _check_details(item: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # OME-Zarr 0.6, "axes": "MAY contain the field `discrete`. The value MUST be a boolean", "MAY contain the field
    # `longName`. The value MUST be a string". 0.5 does not define them.
    for key, kind, expected in (("discrete", bool, "true or false"), ("longName", str, "a string")):
        if key in item and not isinstance(item[key], kind):
            yield (place / key).finding("ome/axis-fields", f"expected {key}, {expected}; found {shown(item[key])}")


def check_axis_order(axes: Sequence[Axis], place: JsonPlace) -> Iterator[Finding]:
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


# Rules about levels and their transformations (OME-Zarr up to 0.5, "multiscales" metadata).

_ALLOWED = ("scale", "translation")


def check_datasets(item: dict[str, Any], place: JsonPlace) -> Check[list[tuple[JsonPlace, dict[str, Any]]]]:
    """Check the list of levels, and yield findings; return the levels that are objects."""
    # "Each "multiscales" dictionary MUST contain the field "datasets", which is a list of dictionaries describing the
    # arrays storing the individual resolution levels."
    datasets = yield from expect_objects(item.get("datasets", MISSING), place / "datasets", "ome/datasets")
    for where, dataset in datasets:
        # "Each dictionary in "datasets" MUST contain the field "path"".
        yield from expect_text(dataset, "path", where, "ome/datasets")
    return datasets


def check_transformations(value: Any, place: JsonPlace, ndim: int | None) -> Check[tuple[float, ...] | None]:
    """Check the transformations of a level or an image with `ndim` axes, and yield findings; return the scale."""
    # OME-Zarr 0.5.2, "multiscales": "Each dictionary in "datasets" MUST contain the field "coordinateTransformations",
    # which contains a list of transformations". "It is a list of dictionaries."
    steps = yield from expect_objects(value, place, "ome/transformations")
    kinds = []
    scale = None
    for where, step in steps:
        # "Each entry describes a single transformation and MUST contain the field "type"." In "multiscales": "The
        # transformation MUST only be of type `translation` or `scale`."
        kind = step.get("type", MISSING)
        if kind not in _ALLOWED:
            message = f"expected the type scale or translation; {describe_found(kind)}"
            yield where.finding("ome/transformations", message)
            continue
        kinds.append(kind)
        vector = yield from _check_parameters(step, kind, where, ndim)
        scale = vector if kind == "scale" and scale is None else scale
    if steps:
        yield from _check_kinds(kinds, place)
    return scale


def check_order_of_scales(scales: list[tuple[float, ...] | None], place: JsonPlace) -> Iterator[Finding]:
    """Yield a finding for each level with a finer scale than the level before."""
    # "The "path"s MUST be ordered from largest (i.e. highest resolution) to smallest."
    known = [(number, scale) for number, scale in enumerate(scales) if scale is not None]
    for (_, finer), (number, coarser) in pairwise(known):
        if len(finer) == len(coarser) and any(b < a for a, b in zip(finer, coarser, strict=True)):
            message = f"expected levels from the finest to the coarsest; the pixels of level {number}, "
            message += f"{shown(list(coarser))}, are smaller than those of the level before, {shown(list(finer))}"
            yield (place / number).finding("ome/level-order", message)


def _check_kinds(kinds: list[str], place: JsonPlace) -> Iterator[Finding]:
    # "They MUST contain exactly one `scale` transformation that specifies the pixel size in physical units".
    if kinds.count("scale") != 1:
        yield place.finding("ome/scale", f"expected exactly one scale; found {kinds.count('scale'):,}")
    # "It MAY contain exactly one `translation` that specifies the offset from the origin in physical units."
    if kinds.count("translation") > 1:
        message = f"expected at most one translation; found {kinds.count('translation'):,}"
        yield place.finding("ome/translation", message)
    # "If `translation` is given it MUST be listed after `scale`".
    elif kinds == ["translation", "scale"]:
        yield place.finding("ome/translation", "expected the translation after the scale; found it before")


def _check_parameters(
    step: dict[str, Any], kind: str, place: JsonPlace, ndim: int | None
) -> Check[tuple[float, ...] | None]:
    # "scale | one of: "scale":List[float], "path":str", likewise for "translation".
    if kind not in step and isinstance(step.get("path"), str):
        message = f"the {kind} is stored in the array {shown(step['path'])}, which few programs read"
        yield place.finding("ome/transformation-path", message)
        return None
    return (yield from check_vector(step, kind, place, ndim))


def check_vector(
    step: dict[str, Any], kind: str, place: JsonPlace, ndim: int | None
) -> Check[tuple[float, ...] | None]:
    """Check the numbers of a scale or translation, and yield findings; return the numbers if they are valid."""
    value = step.get(kind, MISSING)
    where, rule = place / kind, f"ome/{kind}"
    numbers = as_numbers(value)
    if numbers is None:
        message = f"expected {kind}, a list of numbers; {describe_found(value)}"
        yield (place if value is MISSING else where).finding(rule, message)
        return None
    # "The length of the `scale` and `translation` array MUST be the same as the length of "axes"."
    if ndim is not None and len(numbers) != ndim:
        yield where.finding(rule, f"{kind}: expected one number for each of the {ndim} axes; found {len(numbers):,}")
        return None
    # Pixels have a size. (0.6, "scale": "Values in the `scale` array SHOULD be non-zero".)
    if kind == "scale" and any(number <= 0 for number in numbers):
        yield where.finding("ome/scale-value", f"scale: expected numbers greater than 0; found {shown(value)}")
        return None
    return numbers
