"""Rules about the images of a group (OME-Zarr 0.5.2, "multiscales" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.validation.nodes.expecting import MISSING, expect_objects, find
from ozx.validation.nodes.place import Place
from ozx.validation.ome.axes import check_axes, check_axis_order
from ozx.validation.ome.coordinates.image import check_image
from ozx.validation.ome.transformations import check_datasets, check_order_of_scales, check_transformations
from ozx.validation.report import Finding
from ozx.validation.wording import shown


def check_multiscales(value: Any, place: Place, *, has_systems: bool | None = None) -> Iterator[Finding]:
    """Yield findings about the images of a group, from the group's own metadata only.

    `has_systems` tells whether images of this version have coordinate systems; if None, the form of each image decides.
    """
    # OME-Zarr 0.5.2, "multiscales": ""multiscales" contains a list of dictionaries where each entry describes a
    # multiscale image."
    items = yield from expect_objects(value, place, "ome/multiscales")
    for where, item in items:
        if has_systems or (has_systems is None and "coordinateSystems" in item):
            yield from check_image(item, where)
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
    yield from check_order_of_scales(scales, place / "datasets")
    # "Each "multiscales" dictionary MAY contain the field "coordinateTransformations" … The transformations MUST follow
    # the same rules about allowed types, order, etc. as in "datasets:coordinateTransformations"".
    if "coordinateTransformations" in item:
        where = place / "coordinateTransformations"
        yield from check_transformations(item["coordinateTransformations"], where, ndim)


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
        missing = "a type" if "metadata" in item else "a type and metadata"
        message = f"expected {missing} of the downscaling method; found none"
        yield place.finding("ome/downscaling", message)
