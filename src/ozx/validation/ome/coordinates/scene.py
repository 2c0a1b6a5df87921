"""Rules about scenes, which define the positions of several images (OME-Zarr 0.6, "scene" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_object
from ozx.validation.nodes.expecting import expect_object, expect_objects, find
from ozx.validation.nodes.place import Place
from ozx.validation.ome.coordinates.ends import check_ends
from ozx.validation.ome.coordinates.steps import check_step
from ozx.validation.ome.coordinates.systems import Systems, check_systems
from ozx.validation.report import Finding
from ozx.validation.wording import listed


def check_scene(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about a scene, from its own metadata only."""
    scene = yield from expect_object(value, place, "ome/scene")
    if scene is None:
        return
    systems: Systems = {}
    # "It MAY contain the field `coordinateSystems`".
    if "coordinateSystems" in scene:
        systems = yield from check_systems(scene["coordinateSystems"], place / "coordinateSystems", of_image=False)
    # "The `scene` object MUST contain the field `coordinateTransformations`".
    where = place / "coordinateTransformations"
    for place_of_step, step in (
        yield from expect_objects(find(scene, "coordinateTransformations"), where, "ome/scene")
    ):
        ends = yield from check_ends(step, place_of_step, systems)
        counts = [None if end is None else end.dimensions(systems) for end in ends]
        yield from check_step(step, place_of_step, counts[0], counts[1])
        for end in ("input", "output"):
            others = [key for key in as_object(step.get(end)) if key not in ("name", "path")]
            if others:
                message = f"scene.schema expects name and path only; found {listed(others)}"
                yield (place_of_step / end).finding("ome/schema", message)
