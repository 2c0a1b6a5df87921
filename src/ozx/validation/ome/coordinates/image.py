"""Rules about images with coordinate systems (OME-Zarr 0.6, "multiscales" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.reading import as_list, as_numbers, as_object
from ozx.validation.nodes.place import Check, JsonPlace, expect_objects, find
from ozx.validation.ome.coordinates.ends import CheckedEnd, Systems, check_ends, check_level_ends, check_systems
from ozx.validation.ome.coordinates.steps import check_step
from ozx.validation.ome.levels import check_datasets, check_order_of_scales
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

_LEVEL_KINDS = ("scale", "identity", "sequence")
# "the transformation MUST be one of identity, scale, or translation"; by "labels" metadata also "a sequence of a scale
# and a translation transformation".
_LABEL_KINDS = ("identity", "scale", "translation", "sequence")


def check_image(item: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about one image that has coordinate systems."""
    # "`coordinateSystems` | JSON array of objects | yes".
    systems = yield from check_systems(find(item, "coordinateSystems"), place / "coordinateSystems", of_image=True)
    outputs: list[str] = []
    scales = []
    for where, dataset in (yield from check_datasets(item, place)):
        # "Each object in `datasets` MUST contain the field `coordinateTransformations`".
        steps = yield from expect_objects(
            find(dataset, "coordinateTransformations"), where / "coordinateTransformations", "ome/transformations"
        )
        # "`coordinateTransformations` herein MUST be restricted to a single `scale`, `identity` or `sequence` of a
        # scale followed by a translation transformation."
        if len(steps) > 1:
            message = f"expected one transformation; found {len(steps):,}"
            yield (where / "coordinateTransformations").finding("ome/transformations", message)
        for place_of_step, step in steps[:1]:
            name = yield from _check_level(step, dataset.get("path"), place_of_step, systems)
            outputs += [] if name is None else [name]
            scales.append(_scale_of(step))
    yield from check_order_of_scales(scales, place / "datasets")
    # "It MUST be the same value for every resolution level in a single multiscales".
    if len(set(outputs)) > 1:
        message = f"expected one coordinate system as the output of all levels; found {listed(sorted(set(outputs)))}"
        yield (place / "datasets").finding("ome/transformation-ends", message)
    if "coordinateTransformations" in item:
        yield from _check_further(item, place / "coordinateTransformations", systems, outputs)


def _check_level(step: dict[str, Any], path: Any, place: JsonPlace, systems: Systems) -> Check[str | None]:
    """Check the transformation of a level, and yield findings; return the name of its output."""
    name = yield from check_level_ends(step, path, place, systems)
    axes = None if name is None else systems.get(name)
    count = None if axes is None else len(axes)
    kind = step.get("type")
    if isinstance(kind, str) and kind not in _LEVEL_KINDS:
        yield place.finding("ome/transformations", f"expected a scale, identity or sequence; found {shown(kind)}")
    if kind == "sequence":
        yield from _check_scale_and_translation(step, place)
    yield from check_step(step, place, count, count)
    return name


def _check_scale_and_translation(step: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    parts = as_list(step.get("transformations"))
    kinds = [as_object(part).get("type") for part in parts]
    if parts and kinds != ["scale", "translation"]:
        message = f"expected a sequence of a scale and a translation; found {shown(kinds)}"
        yield place.finding("ome/transformations", message)


def _scale_of(step: dict[str, Any]) -> tuple[float, ...] | None:
    parts = [step, *map(as_object, as_list(step.get("transformations"))[:1])]
    return next((as_numbers(part.get("scale")) for part in parts if part.get("type") == "scale"), None)


def _check_further(item: dict[str, Any], place: JsonPlace, systems: Systems, outputs: list[str]) -> Iterator[Finding]:
    # "each `multiscales` object MAY contain the field `coordinateTransformations`".
    value = item["coordinateTransformations"]
    steps = yield from expect_objects(value, place, "ome/transformations", may_be_empty=True)
    if value == []:
        yield place.finding("ome/schema", "image.schema expects at least one transformation; the list is empty")
    for where, step in steps:
        ends = yield from check_ends(step, where, systems)
        known = [end for end in ends if end is not None]
        counts = [None if end is None else end.dimensions(systems) for end in ends]
        yield from check_step(step, where, counts[0], counts[1])
        # "One of `input` or `output` MUST reference the "intrinsic" coordinate system by `name` (`path` MAY be omitted
        # or null)."
        if outputs and len(known) == 2 and not any(end.path is None and end.name in outputs for end in known):
            message = f"expected {shown(outputs[0])}, the system of the levels, as input or output; found "
            yield where.finding("ome/transformation-ends", message + " and ".join(shown(end.name) for end in known))
        for end in known:
            yield from _check_label_end(end, step, where)


def _check_label_end(end: CheckedEnd, step: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "The other MUST reference a named coordinate system in the same multiscales group …, or in a child labels group
    # (by `name` and `path`)."
    if end.path is None:
        return
    if not end.path.startswith("labels/"):
        message = f"expected a label image of this image, labels/NAME; found {shown(end.path)}"
        yield (end.place / "path").finding("ome/transformation-ends", message)
    # "When referencing a child labels group, the transformation MUST be `identity`, `scale`, or `translation`."
    elif step.get("type") not in _LABEL_KINDS:
        message = f"expected identity, scale or translation to a label image; found {shown(step.get('type'))}"
        yield place.finding("ome/transformations", message)
    elif step["type"] == "sequence":
        yield from _check_scale_and_translation(step, place)
