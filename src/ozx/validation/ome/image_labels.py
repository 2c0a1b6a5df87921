"""Rules about the list of labels and about each label image (OME-Zarr 0.5.2, "labels" metadata)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ozx.validation.nodes.expecting import (
    MISSING,
    as_integer,
    expect_integer,
    expect_list,
    expect_object,
    expect_objects,
    find,
)
from ozx.validation.nodes.place import Place
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown


def check_labels(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about the list of label images in a ``labels`` group."""
    # OME-Zarr 0.5.2, "labels": "The OME-Zarr Metadata in the `zarr.json` file associated with the "labels" group MUST
    # contain a JSON object with the key `labels`, whose value is a JSON array of paths to the labeled multiscale
    # image(s)."
    items = yield from expect_list(value, place, "ome/labels", "a list of paths")
    for number, item in enumerate(items or []):
        if not isinstance(item, str) or not item:
            yield (place / number).finding("ome/labels", f"expected a path; found {shown(item)}")


def check_image_label(value: Any, place: Place, *, is_v2: bool = False) -> Iterator[Finding]:
    """Yield findings about the ``image-label`` metadata of a label image, or about its absence."""
    # "the OME-Zarr Metadata in this image-level `zarr.json` file SHOULD contain another key, `image-label`, whose value
    # is also a JSON object."
    if value is MISSING:
        yield place.finding("ome/image-label", "expected image-label, an object, in a label image; it is missing")
        return
    label = yield from expect_object(value, place, "ome/image-label-values")
    if label is None:
        return
    # "That `image-label` object SHOULD contain the following keys: first, a `colors` key". The second key,
    # `version`, is a remnant of 0.4: the group's own version counts.
    if "colors" in label:
        yield from _check_values(label["colors"], place / "colors")
    elif not is_v2:
        # Only a note: a program that segments images has no colors to write.
        message = "image-label: expected colors, a list of objects; they are missing"
        yield place.finding("ome/image-label", message, severity="note")
    # "Like the `colors` key, the value of the `properties` key MUST be an array of JSON objects describing the set of
    # unique possible pixel values."
    if "properties" in label:
        yield from _check_values(label["properties"], place / "properties")
    # "The value of the `source` key MUST be a JSON object containing information about the original image from which
    # the label image derives. This object MAY include a key `image`, whose value MUST be a string specifying the
    # relative path to a Zarr image group."
    if "source" in label:
        source = yield from expect_object(label["source"], place / "source", "ome/image-label-source")
        image = find(source or {}, "image")
        if image is not MISSING and not isinstance(image, str):
            message = f"expected the path of an image; found {shown(image)}"
            yield (place / "source" / "image").finding("ome/image-label-source", message)


def _check_values(value: Any, place: Place) -> Iterator[Finding]:
    is_colors = place.pointer.endswith("/colors")
    values = []
    items = yield from expect_objects(value, place, "ome/image-label-values", may_be_empty=True)
    # label.schema: "minItems": 1.
    if value == []:
        yield place.finding("ome/schema", "label.schema expects at least one object; the list is empty")
    for where, item in items:
        # "Each of these objects MUST contain the `label-value` key, whose value MUST be the integer corresponding to a
        # particular label."
        values.append((yield from expect_integer(item, "label-value", where, "ome/image-label-values")))
        if is_colors and "rgba" in item:
            yield from _check_rgba(item["rgba"], where / "rgba")
    # "This array contains one JSON object for each unique custom label." (0.4: "All `label-value`s must be unique.")
    counts = Counter(number for number in values if number is not None)
    repeated = [number for number, count in counts.items() if count > 1]
    if is_colors and repeated:
        message = f"expected one color for each label value; found several for {listed(repeated)}"
        yield place.finding("ome/image-label-unique", message)
    # label.schema: "uniqueItems": true.
    elif repeated and len({json.dumps(item, sort_keys=True) for _, item in items}) < len(items):
        yield place.finding("ome/schema", "label.schema expects distinct objects; found equal objects")


def _check_rgba(rgba: Any, place: Place) -> Iterator[Finding]:
    # "the objects in this array MAY contain an `rgba` key whose value MUST be an array of four integers between 0 and
    # 255, inclusive."
    is_right = (
        isinstance(rgba, list)
        and len(rgba) == 4
        and all((whole := as_integer(part)) is not None and 0 <= whole <= 255 for part in rgba)
    )
    if not is_right:
        message = f"expected rgba, four integers from 0 to 255; found {shown(rgba)}"
        yield place.finding("ome/image-label-values", message)
