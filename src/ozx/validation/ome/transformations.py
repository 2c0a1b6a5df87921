"""Rules about levels and their transformations (OME-Zarr up to 0.5, "multiscales" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ozx.hierarchy.json.reading import as_numbers
from ozx.validation.nodes.place import MISSING, Check, Place, describe_found, expect_objects, expect_text, find
from ozx.validation.report import Finding
from ozx.validation.wording import shown

_ALLOWED = ("scale", "translation")


def check_datasets(item: dict[str, Any], place: Place) -> Check[list[tuple[Place, dict[str, Any]]]]:
    """Check the list of levels, and yield findings; return the levels that are objects."""
    # "Each "multiscales" dictionary MUST contain the field "datasets", which is a list of dictionaries describing the
    # arrays storing the individual resolution levels."
    datasets = yield from expect_objects(find(item, "datasets"), place / "datasets", "ome/datasets")
    for where, dataset in datasets:
        # "Each dictionary in "datasets" MUST contain the field "path"".
        yield from expect_text(dataset, "path", where, "ome/datasets")
    return datasets


def check_transformations(value: Any, place: Place, ndim: int | None) -> Check[tuple[float, ...] | None]:
    """Check the transformations of a level or an image with `ndim` axes, and yield findings; return the scale."""
    # OME-Zarr 0.5.2, "multiscales": "Each dictionary in "datasets" MUST contain the field "coordinateTransformations",
    # which contains a list of transformations". "It is a list of dictionaries."
    steps = yield from expect_objects(value, place, "ome/transformations")
    kinds = []
    scale = None
    for where, step in steps:
        # "Each entry describes a single transformation and MUST contain the field "type"." In "multiscales": "The
        # transformation MUST only be of type `translation` or `scale`."
        kind = find(step, "type")
        if kind not in _ALLOWED:
            message = f"expected the type scale or translation; {describe_found(kind)}"
            yield where.finding("ome/transformations", message)
            continue
        kinds.append(kind)
        vector = yield from _check_parameters(step, kind, where, ndim)
        scale = vector if kind == "scale" and scale is None else scale
    if steps:
        yield from _check_kinds(kinds, place)
    return scale


def check_order_of_scales(scales: list[tuple[float, ...] | None], place: Place) -> Iterator[Finding]:
    """Yield a finding for each level with a finer scale than the level before."""
    # "The "path"s MUST be ordered from largest (i.e. highest resolution) to smallest."
    known = [(number, scale) for number, scale in enumerate(scales) if scale is not None]
    for (_, finer), (number, coarser) in pairwise(known):
        if len(finer) == len(coarser) and any(b < a for a, b in zip(finer, coarser, strict=True)):
            message = f"expected levels from the finest to the coarsest; the pixels of level {number}, "
            message += f"{shown(list(coarser))}, are smaller than those of the level before, {shown(list(finer))}"
            yield (place / number).finding("ome/level-order", message)


def _check_kinds(kinds: list[str], place: Place) -> Iterator[Finding]:
    # "They MUST contain exactly one `scale` transformation that specifies the pixel size in physical units".
    if kinds.count("scale") != 1:
        yield place.finding("ome/scale", f"expected exactly one scale; found {kinds.count('scale'):,}")
    # "It MAY contain exactly one `translation` that specifies the offset from the origin in physical units."
    if kinds.count("translation") > 1:
        message = f"expected at most one translation; found {kinds.count('translation'):,}"
        yield place.finding("ome/translation", message)
    # "If `translation` is given it MUST be listed after `scale`".
    elif kinds == ["translation", "scale"]:
        yield place.finding("ome/translation", "expected the translation after the scale; found it before")


def _check_parameters(
    step: dict[str, Any], kind: str, place: Place, ndim: int | None
) -> Check[tuple[float, ...] | None]:
    # "scale | one of: "scale":List[float], "path":str", likewise for "translation".
    if kind not in step and isinstance(step.get("path"), str):
        message = f"the {kind} is stored in the array {shown(step['path'])}, which few programs read"
        yield place.finding("ome/transformation-path", message)
        return None
    return (yield from check_vector(step, kind, place, ndim))


def check_vector(step: dict[str, Any], kind: str, place: Place, ndim: int | None) -> Check[tuple[float, ...] | None]:
    """Check the numbers of a scale or translation, and yield findings; return the numbers if they are valid."""
    value = find(step, kind)
    where, rule = place / kind, f"ome/{kind}"
    numbers = as_numbers(value)
    if numbers is None:
        message = f"expected {kind}, a list of numbers; {describe_found(value)}"
        yield (place if value is MISSING else where).finding(rule, message)
        return None
    # "The length of the `scale` and `translation` array MUST be the same as the length of "axes"."
    if ndim is not None and len(numbers) != ndim:
        yield where.finding(rule, f"{kind}: expected one number for each of the {ndim} axes; found {len(numbers):,}")
        return None
    # Pixels have a size. (0.6, "scale": "Values in the `scale` array SHOULD be non-zero".)
    if kind == "scale" and any(number <= 0 for number in numbers):
        yield where.finding("ome/scale-value", f"scale: expected numbers greater than 0; found {shown(value)}")
        return None
    return numbers
