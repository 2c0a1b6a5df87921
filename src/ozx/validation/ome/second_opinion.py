"""Additional findings of the package ome-zarr-models about OME-Zarr metadata.

ome-zarr-models gets parsed attributes, because its ``from_zarr`` walks the store, which takes minutes for a plate. Our
own rules check the arrays.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from ozx.ome.model import AXIS_TYPES
from ozx.validation.nodes.facts import ParsedNode
from ozx.validation.nodes.place import JsonPlace
from ozx.validation.ome.documents import LAYOUT, check_ome
from ozx.validation.report import Finding
from ozx.zarr.json_reading import as_list, as_numbers, as_object, as_texts

# Detection of simple OME-Zarr 0.5 metadata that needs no check by ome-zarr-models, which loads slowly.

_LABEL = {"source": dict, "colors": list, "properties": list}


def is_plain(ome: dict[str, Any], key: str) -> bool:
    """Return whether the value of `key` in ``attributes.ome`` has a simple, valid form.

    Simple forms are common multiscale metadata, the metadata of a label image, and a list of labels.
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


# The model for each key, by module and class; both versions have the same names.
_MODELS = {
    "image-label": ("image_label", "ImageLabelAttrs"),
    "multiscales": ("image", "ImageAttrs"),
    "labels": ("labels", "LabelsAttrs"),
    "plate": ("hcs", "HCSAttrs"),
    "well": ("well", "WellAttrs"),
    LAYOUT: ("bioformats2raw", "BioFormats2RawAttrs"),
}
# Values that ome-zarr-models does not check and that differ between images.
_IGNORED = ("name", "type", "metadata")
# Rules of ozx that give a warning for metadata that ome-zarr-models refuses.
_ALSO_ERRORS = ("ome/inner-version",)
# Only this many refusals are reported, because refusals of one part are often equal.
_MOST = 3
# ome-zarr-models compares each item with every other in lists of rows, columns, fields, axes and datasets.
_LONGEST_COMPARED = 500


def has_second_opinion() -> bool:
    """Return whether ome-zarr-models is installed (the extra ``validate``)."""
    return find_spec("ome_zarr_models") is not None


def check_ome_twice(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the OME-Zarr metadata of a node, by the rules of ozx and by ome-zarr-models."""
    ours = list(check_ome(node))
    yield from ours
    yield from check_second_opinion(node, ours)


def check_second_opinion(node: ParsedNode, ours: Collection[Finding]) -> Iterator[Finding]:
    """Yield findings for errors that ome-zarr-models reports but the rules of ozx do not."""
    ome = node.ome
    if ome is None or node.node_type == "array" or any(finding.id == "ome/unknown-version" for finding in ours):
        return
    if node.is_v3 and ome.get("version") != "0.5":
        return
    place = JsonPlace(node.attributes_key, node.ome_pointer)
    known = {_key_of(finding, place) for finding in ours if finding.severity == "error" or finding.id in _ALSO_ERRORS}
    for pointer, message in refusals(ome, is_v3=node.is_v3):
        if (pointer[0] in known) if pointer else known:  # our own rules report it
            continue
        text = f"the rules of ozx allow this, but ome-zarr-models {_version()} refuses it: {message}"
        yield place.below(*pointer).finding("ome/second-opinion", text)


def refusals(ome: dict[str, Any], *, is_v3: bool) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the errors that ome-zarr-models reports about OME-Zarr metadata, as JSON pointers and messages."""
    found: dict[tuple[tuple[str | int, ...], str], None] = {}
    for key, (module, model) in _MODELS.items():
        if key not in ome or (is_v3 and is_plain(ome, key)) or _takes_long(ome[key]):
            continue
        if key != "multiscales" or "image-label" not in ome:
            found |= dict.fromkeys(_refusals_of(is_v3, module, model, _canonical(ome, key, is_v3=is_v3)))
    return list(found)[:_MOST]


def _takes_long(part: Any) -> bool:
    """Return whether ome-zarr-models would take too long, because it compares too many items with each other."""
    lists = [part.get(name) for name in ("rows", "columns", "images")] if isinstance(part, dict) else []
    lists += [as_object(item).get(name) for item in as_list(part) for name in ("axes", "datasets")]
    return any(len(as_list(items)) > _LONGEST_COMPARED for items in lists)


@lru_cache(maxsize=4096)
def _refusals_of(is_v3: bool, module: str, model: str, text: str) -> list[tuple[tuple[str | int, ...], str]]:  # noqa: FBT001
    """Return the errors of ome-zarr-models about JSON metadata; cached, because images of a plate are similar."""
    from pydantic import ValidationError  # noqa: PLC0415 (both take longer to load than most files to check)

    validator = getattr(import_module(f"ome_zarr_models.{'v05' if is_v3 else 'v04'}.{module}"), model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            validator.model_validate(json.loads(text))
    except ValidationError as error:
        return [(_pointer(fault["loc"], json.loads(text)), _sentence(fault["msg"])) for fault in error.errors()[:_MOST]]
    except Exception:  # noqa: BLE001 (its validators raise other errors for unexpected types: no opinion)
        return []
    return []


def _canonical(ome: dict[str, Any], key: str, *, is_v3: bool) -> str:
    """Return the parts of metadata that ome-zarr-models checks, as JSON text; equal parts give equal text."""
    keys = [key, *(["multiscales"] if key == "image-label" else []), *(["version"] if is_v3 else ["omero"])]
    chosen = {name: ome[name] for name in keys if name in ome}
    if isinstance(chosen.get("multiscales"), list):
        chosen["multiscales"] = [_without_details(item) for item in chosen["multiscales"]]
    return json.dumps(chosen, sort_keys=True)


def _without_details(multiscale: Any) -> Any:
    if not isinstance(multiscale, dict):
        return multiscale
    item = {key: value for key, value in multiscale.items() if key not in _IGNORED}
    if isinstance(item.get("datasets"), list):
        item["datasets"] = [_without_offsets(dataset) for dataset in item["datasets"]]
    return item


def _without_offsets(dataset: Any) -> Any:
    if not isinstance(dataset, dict):
        return dataset
    steps = []
    for step in as_list(dataset.get("coordinateTransformations")):
        numbers = as_numbers(as_object(step).get("translation"))
        steps.append(step if numbers is None else {**step, "translation": [0.0] * len(numbers)})
    return {**dataset, "coordinateTransformations": steps} if steps else dataset


def _pointer(location: tuple[str | int, ...], document: Any) -> tuple[str | int, ...]:
    """Convert the location in a pydantic error to a JSON pointer, without names of models."""
    pointer: list[str | int] = []
    value = document
    for part in location:
        steps = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if part in steps:
            value = steps[part]
            pointer.append(part)
    return tuple(pointer)


def _sentence(message: str) -> str:
    return " ".join(message.removeprefix("Value error, ").split())


def _key_of(finding: Finding, place: JsonPlace) -> str:
    pointer = (finding.where.pointer or "").removeprefix(place.pointer)
    return pointer.removeprefix("/").partition("/")[0]


@cache
def _version() -> str:
    return metadata.version("ome-zarr-models")
