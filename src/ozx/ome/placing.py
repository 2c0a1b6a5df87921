"""Positions of images in other coordinate systems, by affine matrices (OME-Zarr 0.6)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.ome.model import CoordinateSystem, End, Multiscale, Scene, Transformation, describe_transformation
from ozx.zarr.json_reading import as_list, as_numbers, as_object

# Coordinate transformations as affine matrices (OME-Zarr 0.6, "Transformation types").
#
# A matrix has one row for each axis of the output, and one column for each axis of the input and for the offset.

#: Shape (axes of the output, axes of the input + 1).
Matrix = NDArray[np.float64]

# No real transformation is nested deeper, and no image has more axes.
_DEEPEST = 16
_MOST_AXES = 16


class _Task(NamedTuple):
    """A transformation to convert, the number of its input axes, and its nesting depth."""

    step: dict[str, Any]
    axes: int
    depth: int


def to_matrix(step: dict[str, Any], count: int, depth: int = 0) -> Matrix | None:
    """Return the affine matrix of a transformation of `count` axes; None if it has no matrix or is malformed.

    Displacements, coordinates, and transformations with parameters in arrays have no matrix here. A bijection has the
    matrix of its forward transformation.
    """
    make = _MATRICES.get(str(step.get("type")))
    if make is None or depth > _DEEPEST or count > _MOST_AXES:
        return None
    matrix = make(_Task(step, count, depth))
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


def _identity(task: _Task) -> Matrix | None:
    return _still(task.axes)


def _scale(task: _Task) -> Matrix | None:
    numbers = as_numbers(task.step.get("scale"))
    return None if numbers is None or len(numbers) != task.axes else np.diag(numbers) @ _still(task.axes)


def _translation(task: _Task) -> Matrix | None:
    numbers = as_numbers(task.step.get("translation"))
    if numbers is None or len(numbers) != task.axes:
        return None
    made = _still(task.axes)
    made[:, -1] = numbers
    return made


def _rows(value: Any, columns: int) -> Matrix | None:
    rows = [as_numbers(row) for row in as_list(value)[: _MOST_AXES + 1]]
    found = [row for row in rows if row is not None and len(row) == columns]
    return np.array(found, np.float64) if rows and len(found) == len(rows) else None


def _affine(task: _Task) -> Matrix | None:
    return _rows(task.step.get("affine"), task.axes + 1)


def _rotation(task: _Task) -> Matrix | None:
    rows = _rows(task.step.get("rotation"), task.axes)
    return None if rows is None or len(rows) != task.axes else np.column_stack([rows, np.zeros(task.axes)])


def _indices(value: Any, count: int) -> list[int] | None:
    items = as_list(value)
    is_right = all(type(item) is int and 0 <= item < count for item in items) and len(set(items)) == len(items)
    return items if is_right else None


def _map_axis(task: _Task) -> Matrix | None:
    indices = _indices(task.step.get("mapAxis"), task.axes)
    return None if indices is None or len(indices) != task.axes else _still(task.axes)[indices]


def _project_axis(task: _Task) -> Matrix | None:
    dropped = _indices(task.step.get("droppedInputs", []), task.axes)
    created = _indices(task.step.get("createdOutputs", []), _MOST_AXES)
    if dropped is None or created is None:
        return None
    rows = list(np.delete(_still(task.axes), dropped, axis=0))
    for index in sorted(created):
        if index > len(rows):
            return None
        rows.insert(index, np.zeros(task.axes + 1))
    return np.array(rows).reshape(len(rows), task.axes + 1)


def _sequence(task: _Task) -> Matrix | None:
    made: Matrix | None = _still(task.axes)
    for part in as_list(task.step.get("transformations")):
        then = None if made is None else to_matrix(as_object(part), len(made), task.depth + 1)
        made = None if made is None or then is None else compose(made, then)
    return made


def _by_dimension(task: _Task) -> Matrix | None:
    rows: dict[int, NDArray[np.float64]] = {}
    for part in map(as_object, as_list(task.step.get("transformations"))):
        inputs = _indices(part.get("inputAxes"), task.axes)
        outputs = _indices(part.get("outputAxes"), _MOST_AXES)
        if inputs is None or outputs is None:
            return None
        inner = to_matrix(as_object(part.get("transformation")), len(inputs), task.depth + 1)
        if inner is None or len(inner) != len(outputs):
            return None
        for output, row in zip(outputs, inner, strict=True):
            rows[output] = np.zeros(task.axes + 1)
            rows[output][[*inputs, task.axes]] = row
    if not rows or sorted(rows) != list(range(len(rows))):
        return None
    return np.array([rows[number] for number in range(len(rows))])


def _forward(task: _Task) -> Matrix | None:
    return to_matrix(as_object(task.step.get("forward")), task.axes, task.depth + 1)


_MATRICES: dict[str, Callable[[_Task], Matrix | None]] = {
    "identity": _identity,
    "scale": _scale,
    "translation": _translation,
    "affine": _affine,
    "rotation": _rotation,
    "mapAxis": _map_axis,
    "projectAxis": _project_axis,
    "sequence": _sequence,
    "byDimension": _by_dimension,
    "bijection": _forward,
}


#: Path of a group relative to the opened group, and name of one of the group's coordinate systems.
_System = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Placement:
    """The position of an image in a coordinate system, as an affine matrix."""

    system: str | None = None  # name of the coordinate system, or None if the image stays in that of its levels
    matrix: Matrix | None = None  # matrix from the coordinate system of the levels to `system`
    unapplied: tuple[str, ...] = ()  # one phrase for each transformation that cannot be applied


def place_image(multiscale: Multiscale) -> Placement:
    """Return where an image is in another coordinate system, if an affine matrix maps its levels to that system.

    If matrices map the levels to several other systems, the first of these systems counts, in the order of the image's
    transformations.
    """
    graph = _Graph()
    graph.add_image("", multiscale)
    start = ("", multiscale.system or "")
    for step in multiscale.transformations:
        for end in (step.output, step.input):
            if end.path is not None or end.name in (None, multiscale.system):
                continue
            matrix = graph.lead(start, ("", str(end.name)))
            if matrix is not None:
                return Placement(end.name, matrix, tuple(graph.unapplied))
    return Placement(unapplied=tuple(graph.unapplied))


def place_scene(scene: Scene, images: Mapping[str, Multiscale]) -> dict[str, Placement]:
    """Return the position of each image of a scene, by image path.

    All positions are in the scene's first coordinate system, or else in the system of the first image.
    """
    graph = _Graph()
    graph.add_systems("", scene.systems)
    for path, multiscale in images.items():
        graph.add_image(path, multiscale)
    graph.add_steps("", scene.transformations)
    first = next(iter(images.items()), None)
    # "it is RECOMMENDED that the scene's first entry under the `coordinateSystems` field is used as the default".
    goal = ("", str(scene.systems[0].name)) if scene.systems else None
    if goal is None and first is not None:
        goal = first[0], str(first[1].system)
    places = {}
    for path, multiscale in images.items():
        matrix = None if goal is None else graph.lead((path, multiscale.system or ""), goal)
        places[path] = Placement(None if goal is None or matrix is None else goal[1], matrix, tuple(graph.unapplied))
    return places


class _Graph:
    """A graph of coordinate systems, with the matrices between them as edges."""

    def __init__(self) -> None:
        self.unapplied: list[str] = []
        self._counts: dict[_System, int] = {}
        self._edges: dict[_System, list[tuple[_System, Matrix]]] = defaultdict(list)

    def add_image(self, path: str, multiscale: Multiscale) -> None:
        self.add_systems(path, multiscale.systems)
        self._counts.setdefault((path, multiscale.system or ""), len(multiscale.axes))
        self.add_steps(path, (step for step in multiscale.transformations if not _leads_to_labels(step)))

    def add_systems(self, path: str, systems: Iterable[CoordinateSystem]) -> None:
        for system in systems:
            if system.name is not None:
                self._counts.setdefault((path, system.name), len(system.axes))

    def add_steps(self, path: str, steps: Iterable[Transformation]) -> None:
        for step in steps:
            start, stop = _resolve(path, step.input), _resolve(path, step.output)
            count = self._counts.get(start)
            matrix = None if count is None else to_matrix(step.document, count)
            if matrix is None or len(matrix) != self._counts.get(stop):
                self.unapplied.append(describe_transformation(step))
                continue
            self._edges[start].append((stop, matrix))
            back = invert(matrix)
            if back is not None:
                self._edges[stop].append((start, back))

    def lead(self, start: _System, goal: _System) -> Matrix | None:
        """Return the matrix of the shortest path from one coordinate system to another; None if there is no path."""
        count = self._counts.get(start)
        if count is None:
            return None
        found: dict[_System, Matrix] = {start: np.eye(count, count + 1)}
        waiting = deque([start])
        while waiting and goal not in found:
            here = waiting.popleft()
            for there, matrix in self._edges[here]:
                made = compose(found[here], matrix)
                if there not in found and made is not None:
                    found[there] = made
                    waiting.append(there)
        return found.get(goal)


def _leads_to_labels(step: Transformation) -> bool:
    return step.input.path is not None or step.output.path is not None


def _resolve(path: str, end: End) -> _System:
    return (path if end.path is None else f"{path}/{end.path.strip('/')}".strip("/")), end.name or ""
