"""Rules about coordinate systems, and about the transformations that connect them and other groups (OME-Zarr 0.6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ozx.ome.model import Axis
from ozx.validation.nodes.place import MISSING, Check, JsonPlace, describe_found, expect_objects, expect_text
from ozx.validation.ome.coordinates.steps import CheckedTransformation, check_step
from ozx.validation.ome.levels import check_axes, check_axis_order
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_list, as_object, as_text

# Rules about images with the vectors of a transformation (OME-Zarr 0.6, "coordinates and displacements").

_VECTORS = "ome/vector-field"
# Type of the axis that holds the vectors.
_AXIS_TYPES = {"displacements": "displacement", "coordinates": "coordinate"}


def check_vector_field(step: CheckedTransformation, path: str | None, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about the image at `path` that contains the vectors of a transformation."""
    where = step.place / "path"
    # "store a vector field of arbitrary sampling density in an ome-zarr multiscale group".
    if path is None or not nodes.is_image(path):
        yield where.finding(_VECTORS, f"expected an image of vectors at {shown(step.document['path'])}; found none")
        return
    image = nodes.group(path)
    if image is None or not image.ome.multiscales or not image.ome.multiscales[0].axes:
        return
    axes = image.ome.multiscales[0].axes
    # "If the input coordinate system has `N` axes, the multiscale image at location `path` MUST have `N+1` dimensions."
    if step.start is not None and len(axes) != step.start + 1:
        message = (
            f"the image has {len(axes)} axes; expected {step.start + 1}: the axes of the input, and one of the vectors"
        )
        yield where.finding(_VECTORS, message)
    # "specify `"type": "displacement"` or `"type": "coordinate"` depending on the type of transformation".
    kind = _AXIS_TYPES[step.document["type"]]
    places = [number for number, axis in enumerate(axes) if axis.type == kind]
    if len(places) != 1:
        message = f"expected an image with one axis of type {kind}; found the types {listed([a.type for a in axes])}"
        yield where.finding(_VECTORS, message)
        return
    # "and `"discrete": true`".
    if not _is_discrete(image, axes[places[0]].name):
        yield where.finding(_VECTORS, f"expected the axis of type {kind} in {shown(path)} to be discrete; it is not")
    yield from _check_length(step, image, places[0], nodes)


def _is_discrete(image: OmeGroup, name: str | None) -> bool:
    item = as_object(as_list(image.ome.raw.get("multiscales"))[0])
    systems = [as_object(system) for system in as_list(item.get("coordinateSystems"))]
    axes = [as_object(axis) for system in systems for axis in as_list(system.get("axes"))]
    return any(axis.get("name") == name and axis.get("discrete") is True for axis in axes)


def _check_length(step: CheckedTransformation, image: OmeGroup, axis: int, nodes: OmeNodes) -> Iterator[Finding]:
    # "For `coordinates` transformations, the length of the array along the `coordinate` dimension MUST equal `M`"; "For
    # `displacements` transformations, the length of the array along the `displacement` dimension MUST equal `N`".
    wanted = step.start if step.document["type"] == "displacements" else step.stop
    shape = nodes.finest_shape(image)
    if wanted is not None and axis < len(shape) and shape[axis] != wanted:
        message = f"expected vectors of {wanted} numbers; those of {shown(step.document['path'])} have {shape[axis]}"
        yield (step.place / "path").finding(_VECTORS, message)


_FIELDS = ("displacements", "coordinates")


def check_transformation_references(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about transformations with inputs, outputs or parameters that are stored in other groups."""
    steps = list(further_transformations(group))
    own = system_lengths(group) if steps else {}
    for place, step in steps:
        # The checks of single nodes cannot find the systems of other groups.
        known = list(check_step(step, place, _end(step, "input", own), _end(step, "output", own)))
        start = yield from _check_foreign(step, "input", place, group, nodes)
        stop = yield from _check_foreign(step, "output", place, group, nodes)
        look = partial(_check_parameters, group=group, nodes=nodes)
        yield from (finding for finding in check_step(step, place, start, stop, look=look) if finding not in known)


def further_transformations(group: OmeGroup) -> Iterator[tuple[JsonPlace, dict[str, Any]]]:
    """Yield all transformations of a scene or image except those of levels, with their positions in the document."""
    images = [
        (group.place / "multiscales" / n, item) for n, item in enumerate(as_list(group.ome.raw.get("multiscales")))
    ]
    for place, item in [*images, (group.place / "scene", group.ome.raw.get("scene"))]:
        for number, step in enumerate(as_list(as_object(item).get("coordinateTransformations"))):
            if isinstance(step, dict) and ("coordinateSystems" in as_object(item) or place.steps[-1] == "scene"):
                yield place / "coordinateTransformations" / number, step


def system_lengths(group: OmeGroup) -> dict[str, int]:
    """Return the number of axes of each coordinate system in a group, by the system's name."""
    lengths: dict[str, int] = {}
    for item in [*as_list(group.ome.raw.get("multiscales")), group.ome.raw.get("scene")]:
        for system in map(as_object, as_list(as_object(item).get("coordinateSystems"))):
            name = as_text(system.get("name"))
            if name is not None:
                lengths.setdefault(name, len(as_list(system.get("axes"))))
    return lengths


def _end(step: dict[str, Any], key: str, own: dict[str, int]) -> int | None:
    """Return the number of axes of an input or output in this group.

    None means that the input or output is in another group or malformed.
    """
    end = as_object(step.get(key))
    name = as_text(end.get("name"))
    return None if name is None or end.get("path") is not None else own.get(name)


def _check_foreign(
    step: dict[str, Any], key: str, place: JsonPlace, group: OmeGroup, nodes: OmeNodes
) -> Check[int | None]:
    """Check that a group contains the coordinate system of an input or output, and yield findings; return its axes."""
    end = as_object(step.get(key))
    name, path = as_text(end.get("name")), as_text(end.get("path"))
    if name is None or path is None:
        return _end(step, key, system_lengths(group))
    where = place / key / "path"
    # The `path` "Refers to the path of a multiscale image subgroup in the Zarr hierarchy."
    found = nodes.resolve(group, path)
    if found is None or not nodes.is_image(found):
        yield where.finding("ome/transformation-ends", f"expected an image at {shown(path)}; found none")
        return None
    image = nodes.group(found)
    if image is None:
        return None
    # The `name` "Refers to the name of a `coordinateSystem` either in the multiscale image subgroup specified by the
    # path, or within the `scene` object itself."
    lengths = system_lengths(image)
    if name not in lengths:
        message = (
            f"{shown(name)} is not a coordinate system of {shown(path)}, which has {listed(list(lengths)) or 'none'}"
        )
        yield (place / key / "name").finding("ome/transformation-ends", message)
        return None
    return lengths[name]


def _check_parameters(step: CheckedTransformation, group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about the array or image that contains the parameters of a transformation."""
    kind, path = step.document["type"], step.document["path"]
    found = nodes.resolve(group, path)
    where = step.place / "path"
    if kind in _FIELDS:
        yield from check_vector_field(step, found, nodes)
        return
    array = None if found is None else nodes.array(found)
    if array is None:
        if found is None or not nodes.is_unknown(found):
            message = f"expected an array at {shown(path)}; found none"
            yield where.finding("ome/transformation-parameters", message)
        return
    # "affine": "The array at this path MUST be 2D whose shape MUST be `(M)x(N+1)`." "rotation": "`N x N`".
    extra = 1 if kind == "affine" else 0
    columns = None if step.start is None else step.start + extra
    rows = step.stop if kind == "affine" or step.stop is not None else step.start
    shape = array.shape or ()
    if len(shape) != 2 or any(
        wanted not in (None, length) for wanted, length in zip((rows, columns), shape, strict=True)
    ):
        expected = [("M" if rows is None else rows), ("N" if columns is None else columns)]
        message = f"expected an array of the shape {expected[0]} × {expected[1]}; it has {shown(list(shape))}"
        yield where.finding("ome/transformation-parameters", message)


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
