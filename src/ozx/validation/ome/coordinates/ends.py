"""Rules about coordinate systems, and about the inputs and outputs that connect them (OME-Zarr 0.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.ome.model import Axis
from ozx.validation.nodes.place import MISSING, Check, JsonPlace, describe_found, expect_objects, expect_text
from ozx.validation.ome.coordinates.references import further_transformations, system_lengths
from ozx.validation.ome.levels import check_axes, check_axis_order
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_object, as_text

# Rules about lists of coordinate systems (OME-Zarr 0.6, "coordinateSystems" metadata).

#: Axes of each coordinate system by its name; None if they cannot be read.
Systems = dict[str, tuple[Axis, ...] | None]


def check_systems(value: Any, place: JsonPlace, *, of_image: bool) -> Check[Systems]:
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
        axes = yield from check_axes(item.get("axes", MISSING), where / "axes")
        # "The following conditions apply to all coordinate systems inside multiscales metadata". The schema and the
        # published case byDimension allow axes of type `array` instead of those of space.
        if axes is not None and of_image and not all(axis.type == "array" for axis in axes):
            yield from check_axis_order(axes, where / "axes")
        if name is not None:
            systems[name] = axes
    return systems


_RULE = "ome/transformation-ends"


#: The input or output of a transformation: its place, a coordinate system's name, and its group's path (None: this
#: group).
End = tuple[JsonPlace, str, str | None]


def check_ends(step: dict[str, Any], place: JsonPlace, systems: Systems) -> Check[tuple[list[End], list[int | None]]]:
    """Check the input and output of a transformation, and yield findings; return the ends that can be read.

    Also returns the number of axes of the input and of the output; None if the coordinate system is not in `systems`.
    """
    ends: list[End] = []
    counts: list[int | None] = []
    for key in ("input", "output"):
        end = yield from _check_end(step.get(key, MISSING), place / key, systems)
        axes = systems.get(end[1]) if end is not None and end[2] is None else None
        counts.append(None if axes is None else len(axes))
        ends += [] if end is None else [end]
    return ends, counts


def check_level_ends(step: dict[str, Any], path: Any, place: JsonPlace, systems: Systems) -> Check[str | None]:
    """Check the input and output of a level's transformation, and yield findings; return the output's name."""
    # Inside `multiscales > datasets`: "in the `input` object provide `path` and omit `name`", "in the `output` object
    # provide `name` and omit `path`".
    start, where = step.get("input", MISSING), place / "input"
    given = start.get("path") if isinstance(start, dict) else None
    if not isinstance(given, str):
        yield where.finding(_RULE, f"expected an input, an object with the path of the level; {describe_found(start)}")
    # "The `input` object MUST specify a `path` field matching the `path` field of the dataset."
    elif isinstance(path, str) and given != path:
        yield where.finding(_RULE, f"expected the path of the level, {shown(path)}; found {shown(given)}")
    # "The `name` field under `input` SHOULD be omitted", "The `path` field of `output` SHOULD be omitted".
    yield from _check_omitted(start, "name", where)
    stop, where = step.get("output", MISSING), place / "output"
    yield from _check_omitted(stop, "path", where)
    name = stop.get("name") if isinstance(stop, dict) else None
    if not isinstance(name, str):
        yield where.finding(
            _RULE, f"expected an output, an object with the name of a coordinate system; {describe_found(stop)}"
        )
        return None
    yield from _check_name(name, where, systems)
    return name


def _check_end(value: Any, place: JsonPlace, systems: Systems) -> Check[End | None]:
    # "the `input` and `output` fields of `coordinateTransformations` MUST contain a json object, which MUST contain the
    # field `name` and MAY contain the field `path`."
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        expected = f"{place.steps[-1]}, an object with the name of a coordinate system"
        yield place.finding(_RULE, f"expected {expected}; {describe_found(value)}")
        return None
    path = value.get("path") if isinstance(value, dict) else None
    if path is not None and not isinstance(path, str):
        yield (place / "path").finding(_RULE, f"expected the path of a group, a string; found {shown(path)}")
        return None
    # "If the `path` field is null or omitted, this is to be interpreted as referring to a named coordinate system in
    # the same `zarr.json` file."
    if path is None:
        yield from _check_name(name, place, systems)
    return place, name, path


def _check_name(name: str, place: JsonPlace, systems: Systems) -> Check[None]:
    if name not in systems:
        known = listed(list(systems)) if systems else "none"
        yield place.finding(_RULE, f"{shown(name)} is not a coordinate system of this group, which has {known}")


def _check_omitted(end: Any, key: str, place: JsonPlace) -> Check[None]:
    if isinstance(end, dict) and end.get(key) is not None:
        message = f"expected no {key} in the {place.steps[-1]} of a level; found {shown(end[key])}"
        yield (place / key).finding(_RULE, message, severity="warning")


# Rules about the connections between coordinate systems (OME-Zarr 0.6, "Graph connectedness").

#: Path of a group and name of one of its systems.
_System = tuple[str, str]


def check_connections(nodes: OmeNodes) -> Iterator[Finding]:
    """Yield a finding for each image or scene whose coordinate systems are not all connected."""
    groups = [group for group in nodes.groups() if (not group.is_v2 and system_lengths(group)) or _is_scene(group)]
    linked: dict[_System, _System] = {}
    for group in groups:
        for _, step in further_transformations(group):
            ends = [_resolve(step.get(key), group, nodes) for key in ("input", "output")]
            if ends[0] is not None and ends[1] is not None:
                linked[_representative(linked, ends[0])] = _representative(linked, ends[1])
    for group in groups:
        # "The graph MUST be connected (but need not be complete): any two coordinate systems in the metadata MUST be
        # linked by a path of one or more coordinate transformations".
        systems = dict.fromkeys((group.path, name) for name in system_lengths(group))
        if _is_scene(group):
            for _, step in further_transformations(group):
                for key in ("input", "output"):
                    end = _resolve(step.get(key), group, nodes)
                    systems |= {} if end is None else dict.fromkeys(_all_of(end[0], nodes) or [end])
        first = _representative(linked, next(iter(systems))) if systems else None
        apart = [system for system in systems if _representative(linked, system) != first]
        if apart:
            names = [name if path == group.path else f"{name} of {path or 'the root'}" for path, name in apart]
            place = group.place / ("scene" if _is_scene(group) else "multiscales")
            message = "expected transformations that connect all coordinate systems; found no path "
            message += f"from {shown(next(iter(systems))[1])} to {listed(names)}"
            yield place.finding("ome/system-graph", message)


def _is_scene(group: OmeGroup) -> bool:
    return isinstance(group.ome.raw.get("scene"), dict)


def _all_of(path: str, nodes: OmeNodes) -> list[_System]:
    group = nodes.group(path)
    return [] if group is None else [(path, name) for name in system_lengths(group)]


def _resolve(value: Any, group: OmeGroup, nodes: OmeNodes) -> _System | None:
    """Return the coordinate system at one end of a transformation.

    All systems of a group whose metadata is unknown are taken for the same system.
    """
    end = as_object(value)
    name, given = as_text(end.get("name")), as_text(end.get("path"))
    path = group.path if given is None else nodes.resolve(group, given)
    if name is None or path is None:
        return None
    return (path, name) if nodes.group(path) is not None else (path, "")


def _representative(linked: dict[_System, _System], system: _System) -> _System:
    """Return the same system for all systems that are connected (a disjoint-set forest); `linked` leads towards it."""
    while (above := linked.get(system, system)) != system:
        # Shorten the chain, so that the next search takes half as many steps.
        linked[system] = linked.get(above, above)
        system = above
    return system
