"""Positions of images in other coordinate systems, from combined transformations (OME-Zarr 0.6)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ozx.hierarchy.ome.affine import Matrix, compose, invert, to_matrix
from ozx.hierarchy.ome.metadata import CoordinateSystem, End, Multiscale, Scene, Transformation
from ozx.hierarchy.ome.transformation_words import describe_transformation

#: Path of a group relative to the opened group, and name of one of the group's coordinate systems.
_System = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """The position of an image in a coordinate system, as an affine matrix."""

    system: str | None = None  # name of the coordinate system, or None if the image stays in that of its levels
    matrix: Matrix | None = None  # matrix from the coordinate system of the levels to `system`
    unapplied: tuple[str, ...] = ()  # one phrase for each transformation that cannot be applied


def place_image(multiscale: Multiscale) -> Place:
    """Return where an image is in another coordinate system, if an affine matrix maps its levels to that system.

    If matrices map the levels to several other systems, the first of these systems counts, in the order of the image's
    transformations.

    Examples
    --------
    >>> place_image(Multiscale("cells", (), ())).system is None
    True
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
                return Place(end.name, matrix, tuple(graph.unapplied))
    return Place(unapplied=tuple(graph.unapplied))


def place_scene(scene: Scene, images: Mapping[str, Multiscale]) -> dict[str, Place]:
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
        places[path] = Place(None if goal is None or matrix is None else goal[1], matrix, tuple(graph.unapplied))
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
