"""Detection of simple OME-Zarr 0.5 metadata that needs no check by ome-zarr-models, which loads slowly."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ozx.hierarchy.json.values import as_list, as_numbers, as_object, as_texts
from ozx.hierarchy.ome.axis_names import AXIS_TYPES

_LABEL = {"source": dict, "colors": list, "properties": list}


def is_plain(ome: dict[str, Any], key: str) -> bool:
    """Return whether the value of `key` in ``attributes.ome`` has a simple, valid form.

    Simple forms are common multiscale metadata, the metadata of a label image, and a list of labels.

    Examples
    --------
    >>> is_plain({"version": "0.5", "labels": ["nuclei"]}, "labels")
    True
    """
    part = ome.get(key)
    if ome.get("version") != "0.5":
        return False
    if key == "labels":
        return bool(part) and as_texts(part) is not None
    if key == "image-label" and not _is_plain_label(part):
        return False
    images = as_list(ome.get("multiscales"))
    return key in ("multiscales", "image-label") and bool(images) and all(map(_is_plain_image, map(as_object, images)))


def _is_plain_label(label: Any) -> bool:
    if not isinstance(label, dict) or not label.keys() <= {"version", "colors", "properties", "source"}:
        return False
    source, colors, properties = (label.get(key, kind()) for key, kind in _LABEL.items())
    if not isinstance(source, dict) or not all(key == "image" and isinstance(source[key], str) for key in source):
        return False
    colored, described = _label_values(colors), _label_values(properties)
    if colored is None or described is None or len(set(colored)) < len(colored):
        return False
    has_both = "colors" in label and "properties" in label
    return (
        label.get("version", "0.5") == "0.5"
        and (not has_both or set(colored) == set(described))
        and all(color.keys() == {"label-value", "rgba"} and _is_color(color["rgba"]) for color in colors)
    )


def _label_values(items: Any) -> list[int] | None:
    """Return the label values of a list of objects; None if an object has no label value."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    values = [item.get("label-value") for item in items]
    return values if all(type(value) is int for value in values) else None


def _is_color(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(type(part) is int and 0 <= part <= 255 for part in value)


def _is_plain_image(image: dict[str, Any]) -> bool:
    if not image.keys() <= {"axes", "datasets", "name", "type", "metadata"}:
        return False
    axes = [as_object(axis) for axis in as_list(image.get("axes"))]
    names = [axis.get("name") for axis in axes]
    if names != [name for name in AXIS_TYPES if name in names] or names[-2:] != ["y", "x"]:
        return False
    if not all(_is_plain_axis(axis) for axis in axes):
        return False
    scales = [_scale_of(as_object(dataset), len(axes)) for dataset in as_list(image.get("datasets"))]
    known = [scale for scale in scales if scale is not None]
    # The finest level comes first.
    return 0 < len(scales) == len(known) and all(
        finer <= coarser for pair in pairwise(known) for finer, coarser in zip(*pair, strict=True)
    )


def _is_plain_axis(axis: dict[str, Any]) -> bool:
    has_unit = isinstance(axis.get("unit", ""), str)
    return axis.keys() <= {"name", "type", "unit"} and axis.get("type") == AXIS_TYPES[axis["name"]] and has_unit


def _scale_of(dataset: dict[str, Any], count: int) -> list[float] | None:
    """Return the scale of a level if its transformations are simple (`count` numbers each), else None."""
    steps = as_list(dataset.get("coordinateTransformations"))
    if dataset.keys() != {"path", "coordinateTransformations"} or not isinstance(dataset["path"], str):
        return None
    kinds = ["scale", "translation"][: len(steps)]
    vectors = [
        as_numbers(step.get(kind)) if step.keys() == {"type", kind} and step["type"] == kind else None
        for step, kind in zip(map(as_object, steps), kinds, strict=False)
    ]
    if not 0 < len(steps) <= 2 or any(vector is None or len(vector) != count for vector in vectors):
        return None
    scale = vectors[0]
    return list(scale) if scale is not None and min(scale) > 0 else None
