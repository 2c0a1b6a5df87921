"""Rules about transformations that refer to other groups and arrays, and about fields of vectors (OME-Zarr 0.6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ozx.validation.nodes.place import Check, JsonPlace
from ozx.validation.ome.coordinates.steps import Step, check_step
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_list, as_object, as_text

# Rules about images with the vectors of a transformation (OME-Zarr 0.6, "coordinates and displacements").

_RULE = "ome/vector-field"
# Type of the axis that holds the vectors.
_AXIS_TYPES = {"displacements": "displacement", "coordinates": "coordinate"}


def check_vector_field(step: Step, path: str | None, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about the image at `path` that contains the vectors of a transformation."""
    where = step.place / "path"
    # "store a vector field of arbitrary sampling density in an ome-zarr multiscale group".
    if path is None or not nodes.is_image(path):
        yield where.finding(_RULE, f"expected an image of vectors at {shown(step.document['path'])}; found none")
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
        yield where.finding(_RULE, message)
    # "specify `"type": "displacement"` or `"type": "coordinate"` depending on the type of transformation".
    kind = _AXIS_TYPES[step.document["type"]]
    places = [number for number, axis in enumerate(axes) if axis.type == kind]
    if len(places) != 1:
        message = f"expected an image with one axis of type {kind}; found the types {listed([a.type for a in axes])}"
        yield where.finding(_RULE, message)
        return
    # "and `"discrete": true`".
    if not _is_discrete(image, axes[places[0]].name):
        yield where.finding(_RULE, f"expected the axis of type {kind} in {shown(path)} to be discrete; it is not")
    yield from _check_length(step, image, places[0], nodes)


def _is_discrete(image: OmeGroup, name: str | None) -> bool:
    item = as_object(as_list(image.ome.raw.get("multiscales"))[0])
    systems = [as_object(system) for system in as_list(item.get("coordinateSystems"))]
    axes = [as_object(axis) for system in systems for axis in as_list(system.get("axes"))]
    return any(axis.get("name") == name and axis.get("discrete") is True for axis in axes)


def _check_length(step: Step, image: OmeGroup, axis: int, nodes: OmeNodes) -> Iterator[Finding]:
    # "For `coordinates` transformations, the length of the array along the `coordinate` dimension MUST equal `M`"; "For
    # `displacements` transformations, the length of the array along the `displacement` dimension MUST equal `N`".
    wanted = step.start if step.document["type"] == "displacements" else step.stop
    shape = nodes.finest_shape(image)
    if wanted is not None and axis < len(shape) and shape[axis] != wanted:
        message = f"expected vectors of {wanted} numbers; those of {shown(step.document['path'])} have {shape[axis]}"
        yield (step.place / "path").finding(_RULE, message)


_FIELDS = ("displacements", "coordinates")


def check_transformation_references(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about transformations with inputs, outputs or parameters that are stored in other groups."""
    steps = list(further_transformations(group))
    own = system_lengths(group) if steps else {}
    for place, step in steps:
        # The checks of single nodes cannot find the systems of other groups.
        known = list(check_step(step, place, _end(step, "input", own), _end(step, "output", own)))
        start = yield from _check_end(step, "input", place, group, nodes)
        stop = yield from _check_end(step, "output", place, group, nodes)
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


def _check_end(step: dict[str, Any], key: str, place: JsonPlace, group: OmeGroup, nodes: OmeNodes) -> Check[int | None]:
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


def _check_parameters(step: Step, group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
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
