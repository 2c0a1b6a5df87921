"""Rules about images with the vectors of a transformation (OME-Zarr 0.6, "coordinates and displacements")."""

from __future__ import annotations

from collections.abc import Iterator

from ozx.hierarchy.json.values import as_list, as_object
from ozx.validation.ome.coordinates.steps import Step
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

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
            f"expected an image with {step.start + 1} axes: the axes of the input, and one axis of the vectors; "
            f"found {len(axes)}"
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
    item = as_object(as_list(image.raw("multiscales"))[0])
    systems = [as_object(system) for system in as_list(item.get("coordinateSystems"))]
    axes = [as_object(axis) for system in systems for axis in as_list(system.get("axes"))]
    return any(axis.get("name") == name and axis.get("discrete") is True for axis in axes)


def _check_length(step: Step, image: OmeGroup, axis: int, nodes: OmeNodes) -> Iterator[Finding]:
    # "For `coordinates` transformations, the length of the array along the `coordinate` dimension MUST equal `M`"; "For
    # `displacements` transformations, the length of the array along the `displacement` dimension MUST equal `N`".
    wanted = step.start if step.document["type"] == "displacements" else step.stop
    datasets = image.ome.multiscales[0].datasets
    path = nodes.resolve(image, datasets[0].path) if datasets and datasets[0].path else None
    array = None if path is None else nodes.array(path)
    shape = (array.shape or ()) if array is not None else ()
    if wanted is not None and axis < len(shape) and shape[axis] != wanted:
        message = f"expected vectors of {wanted} numbers; those of {shown(step.document['path'])} have {shape[axis]}"
        yield (step.place / "path").finding(_RULE, message)
