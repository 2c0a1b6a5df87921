"""The images of a group: OME-Zarr 0.5.2, "multiscales" metadata."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ozx.validation.nodes.expecting import MISSING, expect_objects, find
from ozx.validation.nodes.place import Place
from ozx.validation.ome.axes import check_axes, check_axis_order
from ozx.validation.ome.systems import check_systems
from ozx.validation.ome.transformations import check_datasets, check_transformations
from ozx.validation.report import Finding
from ozx.validation.wording import shown

__all__ = ["check_multiscales"]


def check_multiscales(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about the images of a group from their metadata alone."""
    # OME-Zarr 0.5.2, "multiscales": ""multiscales" contains a list of dictionaries where each entry describes a
    # multiscale image."
    items = yield from expect_objects(value, place, "ome/multiscales")
    for where, item in items:
        if "coordinateSystems" in item:  # from 0.6 on
            yield from check_systems(item, where)
        else:
            yield from _check_multiscale(item, where)
        yield from _check_descriptions(item, where)


def _check_multiscale(item: dict[str, Any], place: Place) -> Iterator[Finding]:
    # "Each "multiscales" dictionary MUST contain the field "axes", see "axes" metadata."
    axes = yield from check_axes(find(item, "axes"), place / "axes")
    if axes is not None:
        yield from check_axis_order(axes, place / "axes")
    ndim = None if axes is None else len(axes)
    scales = []
    for where, dataset in (yield from check_datasets(item, place)):
        steps = find(dataset, "coordinateTransformations")
        scales.append((yield from check_transformations(steps, where / "coordinateTransformations", ndim)))
    yield from _check_order_of_scales(scales, place / "datasets")
    # "Each "multiscales" dictionary MAY contain the field "coordinateTransformations" … The transformations MUST follow
    # the same rules about allowed types, order, etc. as in "datasets:coordinateTransformations"".
    if "coordinateTransformations" in item:
        where = place / "coordinateTransformations"
        yield from check_transformations(item["coordinateTransformations"], where, ndim)


def _check_order_of_scales(scales: list[tuple[float, ...] | None], place: Place) -> Iterator[Finding]:
    # "The "path"s MUST be ordered from largest (i.e. highest resolution) to smallest."
    known = [(number, scale) for number, scale in enumerate(scales) if scale is not None]
    for (_, finer), (number, coarser) in pairwise(known):
        if len(finer) == len(coarser) and any(b < a for a, b in zip(finer, coarser, strict=True)):
            message = f"expected levels from the finest to the coarsest; the pixels of level {number}, "
            message += f"{shown(list(coarser))}, are smaller than those of the level before, {shown(list(finer))}"
            yield (place / number).finding("ome/level-order", message)


def _check_descriptions(item: dict[str, Any], place: Place) -> Iterator[Finding]:
    # "Each "multiscales" dictionary SHOULD contain the field "name"."
    name = find(item, "name")
    if not isinstance(name, str):
        found = "it is missing" if name is MISSING else f"found {shown(name)}"
        yield place.finding("ome/image-name", f"expected a name, a string; {found}")
    # "Each "multiscales" dictionary SHOULD contain the field "type", which gives the type of downscaling method used to
    # generate the multiscale image pyramid. It SHOULD contain the field "metadata", which contains a dictionary with
    # additional information about the downscaling method." An image of one level was not downscaled, and a type without
    # metadata is accepted.
    levels = item.get("datasets")
    if isinstance(levels, list) and len(levels) > 1 and "type" not in item:
        missing = "type" if "metadata" in item else "type and metadata"
        message = f"expected {missing}, the downscaling method; missing"
        yield place.finding("ome/downscaling", message)
