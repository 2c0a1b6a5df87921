"""Positions of images in other coordinate systems, by affine matrices (OME-Zarr 0.6)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.ome.model import CoordinateSystem, End, Multiscale, Scene, Transformation, describe_transformation
from ozx.zarr.json_reading import as_list, as_numbers, as_object

# Coordinate transformations as affine matrices (OME-Zarr 0.6, "Transformation types").
#
# A matrix has one row for each axis of the output, and one column for each axis of the input and for the offset.

#: Shape (axes of the output, axes of the input + 1).
Matrix = NDArray[np.float64]
#: A transformation in its JSON form.
_Step = dict[str, Any]

# No real transformation is nested deeper, and no image has more axes.
_DEEPEST = 16
_MOST_AXES = 16


def to_matrix(step: _Step, count: int, depth: int = 0) -> Matrix | None:
    """Return the affine matrix of a transformation of `count` axes; None if it has no matrix or is malformed.

    Displacements, coordinates, and transformations with parameters in arrays have no matrix here. A bijection has the
    matrix of its forward transformation.
    """
    kind = str(step.get("type"))
    if depth > _DEEPEST or count > _MOST_AXES:
        return None
    if kind in _NESTED_MATRICES:
        matrix = _NESTED_MATRICES[kind](step, count, depth + 1)
    else:
        matrix = _MATRICES[kind](step, count) if kind in _MATRICES else None
    return matrix if matrix is not None and matrix.shape[1] == count + 1 and np.isfinite(matrix).all() else None


def compose(first: Matrix, then: Matrix) -> Matrix | None:
    """Return the product of two affine matrices; None if their numbers of axes differ."""
    if then.shape[1] != first.shape[0] + 1:
        return None
    made = then[:, :-1] @ first
    made[:, -1] += then[:, -1]
    return made


def invert(matrix: Matrix) -> Matrix | None:
    """Return the inverse of an affine matrix, or None if it is not invertible."""
    rows, columns = matrix.shape
    if columns != rows + 1:
        return None
    try:
        turned = np.linalg.inv(matrix[:, :-1])
    except np.linalg.LinAlgError:
        return None
    return np.column_stack([turned, -turned @ matrix[:, -1]])


def _still(count: int) -> Matrix:
    return np.eye(count, count + 1)


def _identity(_: _Step, count: int) -> Matrix | None:
    return _still(count)


def _scale(step: _Step, count: int) -> Matrix | None:
    numbers = as_numbers(step.get("scale"))
    return None if numbers is None or len(numbers) != count else np.diag(numbers) @ _still(count)


def _translation(step: _Step, count: int) -> Matrix | None:
    numbers = as_numbers(step.get("translation"))
    if numbers is None or len(numbers) != count:
        return None
    made = _still(count)
    made[:, -1] = numbers
    return made


def _rows(value: Any, columns: int) -> Matrix | None:
    rows = [as_numbers(row) for row in as_list(value)[: _MOST_AXES + 1]]
    found = [row for row in rows if row is not None and len(row) == columns]
    return np.array(found, np.float64) if rows and len(found) == len(rows) else None


def _affine(step: _Step, count: int) -> Matrix | None:
    return _rows(step.get("affine"), count + 1)


def _rotation(step: _Step, count: int) -> Matrix | None:
    rows = _rows(step.get("rotation"), count)
    return None if rows is None or len(rows) != count else np.column_stack([rows, np.zeros(count)])


def _indices(value: Any, count: int) -> list[int] | None:
    items = as_list(value)
    is_right = all(type(item) is int and 0 <= item < count for item in items) and len(set(items)) == len(items)
    return items if is_right else None


def _map_axis(step: _Step, count: int) -> Matrix | None:
    indices = _indices(step.get("mapAxis"), count)
    return None if indices is None or len(indices) != count else _still(count)[indices]


def _project_axis(step: _Step, count: int) -> Matrix | None:
    dropped = _indices(step.get("droppedInputs", []), count)
    created = _indices(step.get("createdOutputs", []), _MOST_AXES)
    if dropped is None or created is None:
        return None
    rows = list(np.delete(_still(count), dropped, axis=0))
    for index in sorted(created):
        if index > len(rows):
            return None
        rows.insert(index, np.zeros(count + 1))
    return np.array(rows).reshape(len(rows), count + 1)


def _sequence(step: _Step, count: int, depth: int) -> Matrix | None:
    made: Matrix | None = _still(count)
    for part in as_list(step.get("transformations")):
        then = None if made is None else to_matrix(as_object(part), len(made), depth)
        made = None if made is None or then is None else compose(made, then)
    return made


def _by_dimension(step: _Step, count: int, depth: int) -> Matrix | None:
    rows: dict[int, NDArray[np.float64]] = {}
    for part in map(as_object, as_list(step.get("transformations"))):
        inputs = _indices(part.get("inputAxes"), count)
        outputs = _indices(part.get("outputAxes"), _MOST_AXES)
        if inputs is None or outputs is None:
            return None
        inner = to_matrix(as_object(part.get("transformation")), len(inputs), depth)
        if inner is None or len(inner) != len(outputs):
            return None
        for output, row in zip(outputs, inner, strict=True):
            rows[output] = np.zeros(count + 1)
            rows[output][[*inputs, count]] = row
    if not rows or sorted(rows) != list(range(len(rows))):
        return None
    return np.array([rows[number] for number in range(len(rows))])


def _forward(step: _Step, count: int, depth: int) -> Matrix | None:
    return to_matrix(as_object(step.get("forward")), count, depth)


_MATRICES: dict[str, Callable[[_Step, int], Matrix | None]] = {
    "identity": _identity,
    "scale": _scale,
    "translation": _translation,
    "affine": _affine,
    "rotation": _rotation,
    "mapAxis": _map_axis,
    "projectAxis": _project_axis,
}
#: Of transformations that hold others, whose depth is the last argument.
_NESTED_MATRICES: dict[str, Callable[[_Step, int, int], Matrix | None]] = {
    "sequence": _sequence,
    "byDimension": _by_dimension,
    "bijection": _forward,
}


#: Path of a group relative to the opened group, and name of one of the group's coordinate systems.
_System = tuple[str, str]
#: The systems to which matrices lead from each system.
_Edges = dict[_System, list[tuple[_System, Matrix]]]


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """The position of an image in a coordinate system, as an affine matrix."""

    system: str | None = None  # name of the coordinate system, or None if the image stays in that of its levels
    matrix: Matrix | None = None  # matrix from the coordinate system of the levels to `system`
    unapplied: tuple[str, ...] = ()  # one phrase for each transformation that cannot be applied


def place_image(multiscale: Multiscale) -> ImagePlace:
    """Return where an image is in another coordinate system, if an affine matrix maps its levels to that system.

    If matrices map the levels to several other systems, the first of these systems counts, in the order of the image's
    transformations.
    """
    counts, edges, unapplied = _connect({"": multiscale})
    start = ("", multiscale.system or "")
    for step in multiscale.transformations:
        for end in (step.output, step.input):
            if end.path is not None or end.name in (None, multiscale.system):
                continue
            matrix = _lead(start, ("", str(end.name)), counts[start], edges)
            if matrix is not None:
                return ImagePlace(end.name, matrix, unapplied)
    return ImagePlace(unapplied=unapplied)


def place_scene(scene: Scene, images: Mapping[str, Multiscale]) -> dict[str, ImagePlace]:
    """Return the position of each image of a scene, by image path.

    All positions are in the scene's first coordinate system, or else in the system of the first image.
    """
    counts, edges, unapplied = _connect(images, scene)
    first = next(iter(images.items()), None)
    # "it is RECOMMENDED that the scene's first entry under the `coordinateSystems` field is used as the default".
    goal = ("", str(scene.systems[0].name)) if scene.systems else None
    if goal is None and first is not None:
        goal = first[0], str(first[1].system)
    places = {}
    for path, multiscale in images.items():
        start = path, multiscale.system or ""
        matrix = None if goal is None else _lead(start, goal, counts[start], edges)
        places[path] = ImagePlace(None if goal is None or matrix is None else goal[1], matrix, unapplied)
    return places


def _connect(
    images: Mapping[str, Multiscale], scene: Scene | None = None
) -> tuple[dict[_System, int], _Edges, tuple[str, ...]]:
    """Return the number of axes of each coordinate system, the matrices between systems, and what has no matrix."""
    systems = [] if scene is None else [("", system) for system in scene.systems]
    steps = []
    for path, image in images.items():
        own = CoordinateSystem(image.system or "", image.axes)
        systems += [(path, system) for system in (*image.systems, own)]
        steps += [(path, step) for step in image.transformations if not _leads_to_labels(step)]
    steps += [] if scene is None else [("", step) for step in scene.transformations]
    counts: dict[_System, int] = {}
    for path, system in systems:
        if system.name is not None:
            counts.setdefault((path, system.name), len(system.axes))
    edges: _Edges = defaultdict(list)
    unapplied = []
    for path, step in steps:
        start, stop = _resolve(path, step.input), _resolve(path, step.output)
        matrix = to_matrix(step.document, counts[start]) if start in counts else None
        if matrix is None or len(matrix) != counts.get(stop):
            unapplied.append(describe_transformation(step))
            continue
        edges[start].append((stop, matrix))
        back = invert(matrix)
        if back is not None:
            edges[stop].append((start, back))
    return counts, edges, tuple(unapplied)


def _lead(start: _System, goal: _System, count: int, edges: _Edges) -> Matrix | None:
    """Return the matrix of the shortest path from a system of `count` axes to another; None if there is no path."""
    found: dict[_System, Matrix] = {start: _still(count)}
    waiting = deque([start])
    while waiting and goal not in found:
        here = waiting.popleft()
        for there, matrix in edges[here]:
            made = compose(found[here], matrix)
            if there not in found and made is not None:
                found[there] = made
                waiting.append(there)
    return found.get(goal)


def _leads_to_labels(step: Transformation) -> bool:
    return step.input.path is not None or step.output.path is not None


def _resolve(path: str, end: End) -> _System:
    return (path if end.path is None else f"{path}/{end.path.strip('/')}".strip("/")), end.name or ""
