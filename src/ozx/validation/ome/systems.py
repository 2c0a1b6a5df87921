"""Coordinate systems, from 0.6 on: OME-Zarr 0.6 (released by 2026-09), checked structurally.

The rules check names, types and references; parameters of transformations only for scale and translation. Ends of
transformations may be objects, as in 0.6, or strings, as in its drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.ome.metadata import Axis
from ozx.validation.nodes.expecting import MISSING, expect_list, expect_object, expect_objects, expect_text, find
from ozx.validation.nodes.place import Check, Place
from ozx.validation.ome.axes import check_axes, check_axis_order
from ozx.validation.ome.transformations import check_datasets, check_vector
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

__all__ = ["check_scene", "check_systems"]

# OME-Zarr 0.6, "coordinateTransformations": "The following transformations are supported".
_PARTS = {
    "identity": (),
    "mapAxis": ("mapAxis",),
    "translation": ("translation", "path"),
    "scale": ("scale", "path"),
    "affine": ("affine", "path"),
    "rotation": ("rotation", "path"),
    "sequence": ("transformations",),
    "displacements": ("path",),
    "coordinates": ("path",),
    "inverseOf": ("transformation",),
    "bijection": ("forward", "inverse"),
    "byDimension": ("transformations",),
}
# No real transformation is nested deeper.
_DEEPEST = 16


def check_systems(item: dict[str, Any], place: Place) -> Iterator[Finding]:
    """Yield findings about one image with coordinate systems."""
    # OME-Zarr 0.6, "multiscales": "Each `multiscales` dictionary MUST contain the field "coordinateSystems"".
    systems = yield from _check_list_of_systems(item["coordinateSystems"], place / "coordinateSystems")
    for where, axes in systems.values():
        # "The following MUST hold for all coordinate systems. The length of "axes" must be between 2 and 5 …"
        if axes is not None:
            yield from check_axis_order(axes, where / "axes")
    for where, dataset in (yield from check_datasets(item, place)):
        yield from _check_level(
            find(dataset, "coordinateTransformations"), where / "coordinateTransformations", systems
        )
    # "each `multiscales` dictionary MAY contain the field `coordinateTransformations`".
    if "coordinateTransformations" in item:
        where = place / "coordinateTransformations"
        for place_of_step, step in (
            yield from expect_objects(item["coordinateTransformations"], where, "ome/transformations")
        ):
            yield from _check_transformation(step, place_of_step)
            yield from _check_end(find(step, "output"), place_of_step / "output", systems)


def check_scene(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about a scene, which places images relative to each other."""
    scene = yield from expect_object(value, place, "ome/scene")
    if scene is None:
        return
    if "coordinateSystems" in scene:
        yield from _check_list_of_systems(scene["coordinateSystems"], place / "coordinateSystems")
    where = place / "coordinateTransformations"
    for place_of_step, step in (
        yield from expect_objects(find(scene, "coordinateTransformations"), where, "ome/scene")
    ):
        yield from _check_transformation(step, place_of_step)
        # OME-Zarr 0.6, "coordinateTransformations": "MUST contain the field "output" … "input", unless part of a
        # `sequence` or `inverseOf`".
        for end in ("input", "output"):
            yield from _check_end(find(step, end), place_of_step / end, None)


_Systems = dict[str, tuple[Place, tuple[Axis, ...] | None]]


def _check_list_of_systems(value: Any, place: Place) -> Check[_Systems]:
    """Return the coordinate systems by name, with their axes."""
    systems: _Systems = {}
    for where, item in (yield from expect_objects(value, place, "ome/coordinate-systems")):
        # OME-Zarr 0.6, "coordinateSystems": "MUST contain the field "name". The value MUST be a non-empty string that
        # is unique among all entries under `coordinateSystems`."
        name = yield from expect_text(item, "name", where, "ome/coordinate-systems")
        if name is not None and name in systems:
            message = f"expected names of coordinate systems that differ; found {shown(name)} twice"
            yield (where / "name").finding("ome/coordinate-systems", message)
        # "MUST contain the field "axes", whose value is an array of valid "axes"".
        axes = yield from check_axes(find(item, "axes"), where / "axes")
        systems[name or ""] = where, axes
    return systems


def _check_level(value: Any, place: Place, systems: _Systems) -> Iterator[Finding]:
    # "Each dictionary in `datasets` MUST contain the field `coordinateTransformations`, whose value is a list of
    # dictionaries that define a transformation … This transformation MUST be one of the following: A single scale or
    # identity transformation; a sequence transformation containing one scale and one translation transformation."
    steps = yield from expect_objects(value, place, "ome/transformations")
    if len(steps) > 1:
        yield place.finding("ome/transformations", f"expected one transformation; found {len(steps):,}")
    for where, step in steps[:1]:
        kind = yield from _check_transformation(step, where)
        if kind not in ("scale", "identity", "sequence", None):
            yield where.finding("ome/transformations", f"expected a scale, identity or sequence; found {shown(kind)}")
        if kind == "sequence":
            parts = step.get("transformations")
            kinds = (
                [part.get("type") if isinstance(part, dict) else None for part in parts]
                if isinstance(parts, list)
                else []
            )
            if kinds != ["scale", "translation"]:
                message = f"expected a sequence of a scale and a translation; found {shown(kinds)}"
                yield where.finding("ome/transformations", message)
        # "The value of the transformation's `output` MUST be the name of the default coordinate system."
        axes = yield from _check_end(find(step, "output"), where / "output", systems)
        if kind == "scale" and "scale" in step:
            yield from check_vector(step, "scale", where, None if axes is None else len(axes))


def _check_transformation(step: dict[str, Any], place: Place, depth: int = 0) -> Check[str | None]:
    """Return the type of a transformation."""
    # OME-Zarr 0.6, "coordinateTransformations": "MUST contain the field "type" (string). MUST contain any other fields
    # required by the given "type" (see table below)."
    kind = find(step, "type")
    if not isinstance(kind, str) or kind not in _PARTS:
        found = "it is missing" if kind is MISSING else f"found {shown(kind)}"
        yield place.finding("ome/transformations", f"expected a type out of {', '.join(_PARTS)}; {found}")
        return None
    parts = _PARTS[kind]
    is_whole = all(part in step for part in parts) if kind == "bijection" else any(part in step for part in parts)
    if parts and not is_whole:
        message = f"{kind}: expected {(' and ' if kind == 'bijection' else ' or ').join(parts)}; missing"
        yield place.finding("ome/transformations", message)
        return kind
    if depth < _DEEPEST:
        yield from _check_inner(step, kind, place, depth)
    return kind


def _check_inner(step: dict[str, Any], kind: str, place: Place, depth: int) -> Iterator[Finding]:
    for part in _PARTS[kind]:
        where = place / part
        if part == "transformations":
            items = yield from expect_list(step[part], where, "ome/transformations", "a list of transformations")
            inner = [(where / number, item) for number, item in enumerate(items or [])]
        elif part in ("transformation", "forward", "inverse"):
            inner = [(where, step[part])]
        else:
            continue
        for place_of_step, item in inner:
            found = yield from expect_object(item, place_of_step, "ome/transformations")
            if found is not None:
                yield from _check_transformation(found, place_of_step, depth + 1)


def _check_end(value: Any, place: Place, systems: _Systems | None) -> Check[tuple[Axis, ...] | None]:
    """Yield a finding if a transformation's input or output does not exist; return the axes of its system."""
    name = value.get("name") if isinstance(value, dict) else value
    path = value.get("path") if isinstance(value, dict) else None
    if not isinstance(name, str) and not isinstance(path, str):
        found = "it is missing" if value is MISSING else f"found {shown(value)}"
        message = f"expected the name of a coordinate system or a path, in an object; {found}"
        yield place.finding("ome/transformations", message)
        return None
    if systems is None or not isinstance(name, str) or path is not None:
        return None
    if name not in systems:
        known = listed(list(systems)) if systems else "none"
        yield place.finding(
            "ome/transformations", f"{shown(name)} is not a coordinate system of this image, which has {known}"
        )
        return None
    return systems[name][1]
