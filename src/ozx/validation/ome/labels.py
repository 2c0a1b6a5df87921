"""Rules about lists of labels, label images, and the images to which they belong (OME-Zarr 0.5.2, labels metadata)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ozx.ome.images import LABELS
from ozx.ome.references import resolve_reference
from ozx.validation.nodes.place import (
    MISSING,
    JsonPlace,
    as_integer,
    expect_integer,
    expect_list,
    expect_object,
    expect_objects,
    repeated,
)
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_object
from ozx.zarr.keys import join_path

# Rules about the list of labels and about each label image (OME-Zarr 0.5.2, "labels" metadata).


def check_labels(value: Any, place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about the list of label images in a ``labels`` group."""
    # OME-Zarr 0.5.2, "labels": "The OME-Zarr Metadata in the `zarr.json` file associated with the "labels" group MUST
    # contain a JSON object with the key `labels`, whose value is a JSON array of paths to the labeled multiscale
    # image(s)."
    items = yield from expect_list(value, place, "ome/labels", "a list of paths")
    for number, item in enumerate(items or []):
        if not isinstance(item, str) or not item:
            yield (place / number).finding("ome/labels", f"expected a path; found {shown(item)}")


def check_image_label(value: Any, place: JsonPlace, *, is_v2: bool = False) -> Iterator[Finding]:
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
        image = (source or {}).get("image", MISSING)
        if image is not MISSING and not isinstance(image, str):
            message = f"expected the path of an image; found {shown(image)}"
            yield (place / "source" / "image").finding("ome/image-label-source", message)


def _check_values(value: Any, place: JsonPlace) -> Iterator[Finding]:
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
    several = repeated(number for number in values if number is not None)
    if is_colors and several:
        message = f"expected one color for each label value; found several for {listed(several)}"
        yield place.finding("ome/image-label-unique", message)
    # label.schema: "uniqueItems": true.
    elif several and len({json.dumps(item, sort_keys=True) for _, item in items}) < len(items):
        yield place.finding("ome/schema", "label.schema expects distinct objects; found equal objects")


def _check_rgba(rgba: Any, place: JsonPlace) -> Iterator[Finding]:
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


# Rules about label images and the images to which they belong (OME-Zarr 0.5.2, "labels" metadata).

# OME-Zarr 0.5.2, "labels": "integer data types, i.e. one of …"; Zarr v2 spells them the same way once parsed.
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def check_labels_are_listed(image: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield a finding if the ``labels`` group of an image does not list its label images."""
    path = join_path(image.path, LABELS)
    if not image.ome.multiscales or not nodes.is_group(path) or nodes.is_unknown(path):
        return
    group = nodes.group(path)
    # OME-Zarr 0.5.2, "labels": "The OME-Zarr Metadata in the `zarr.json` file associated with the "labels" group MUST
    # contain a JSON object with the key `labels`".
    if group is None or group.ome.labels is None:
        message = f"expected {shown(path)} to list its label images under the key labels; the key is missing"
        yield image.place.finding("ome/labels", message)


def check_label_group(group: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a ``labels`` group, its label images, and the image to which they belong."""
    if group.ome.labels is None:
        return
    place = group.place / "labels"
    found = set()
    image = nodes.group(group.path.rpartition("/")[0]) if group.path else None
    for number, name in enumerate(group.ome.labels):
        path = nodes.resolve(group, name)
        # OME-Zarr 0.5.2, "labels": its "value is a JSON array of paths to the labeled multiscale image(s)."
        if path is None or not nodes.is_image(path):
            yield (place / number).finding("ome/label-missing", f"expected an image at {shown(name)}; found none")
            continue
        found.add(path)
        yield from _check_between(group, path, nodes)
        label = nodes.group(path)
        if label is not None:
            if "image-label" not in label.ome.raw:
                yield from check_image_label(MISSING, label.place)
                yield from _check_types(label, nodes)
            yield from _check_against_image(label, image, nodes)
    # "All label images SHOULD be listed within this metadata file." (0.4: "Unlisted groups MAY be labels.")
    for path in nodes.below(group.path) if not group.is_v2 else ():
        other = nodes.group(path)
        is_inside = any(path == label or path.startswith(f"{label}/") for label in found)
        if other is not None and other.ome.multiscales and not is_inside:
            message = f"expected all label images in the list; {shown(path)} is missing"
            yield place.finding("ome/label-unlisted", message)


def check_label_image(label: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a label image, its arrays, and the image that its ``source`` names."""
    if not isinstance(label.ome.raw.get("image-label"), dict):
        return
    yield from _check_types(label, nodes)
    # "This object MAY include a key `image`, whose value MUST be a string specifying the relative path to a Zarr image
    # group."
    source = as_object(as_object(label.ome.raw.get("image-label")).get("source")).get("image")
    if isinstance(source, str) and "://" not in source:
        path = resolve_reference(label.path, source)
        if path is None or not nodes.is_image(path):
            message = f"expected the relative path of an image; there is none at {shown(source)}"
            where = label.place / "image-label" / "source" / "image"
            yield where.finding("ome/image-label-source", message, severity="warning")


def _check_between(group: OmeGroup, path: str, nodes: OmeNodes) -> Iterator[Finding]:
    # "Intermediate groups between "labels" and the images within it are allowed, but these MUST NOT contain metadata."
    above = path.rpartition("/")[0]
    while above.startswith(f"{group.path}/"):
        between = nodes.group(above)
        if between is not None and not group.is_v2:
            message = "expected no OME-Zarr metadata in a group between labels and its label images; found some"
            yield between.place.finding("ome/labels-between", message)
        above = above.rpartition("/")[0]


def _check_types(label: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    # "The pixels of the label images MUST be integer data types, i.e. one of [`uint8`, `int8`, `uint16`, `int16`,
    # `uint32`, `int32`, `uint64`, `int64`]."
    for number, multiscale in enumerate(label.ome.multiscales):
        for level, dataset in enumerate(multiscale.datasets):
            path = None if dataset.path is None else nodes.resolve(label, dataset.path)
            array = None if path is None else nodes.array(path)
            if array is not None and array.data_type is not None and array.data_type not in _INTEGERS:
                where = label.place / "multiscales" / number / "datasets" / level / "path"
                message = f"expected a label image of integers; the array is of {shown(array.data_type)}"
                yield where.finding("ome/label-type", message)


def _check_against_image(label: OmeGroup, image: OmeGroup | None, nodes: OmeNodes) -> Iterator[Finding]:
    if image is None or not image.ome.multiscales or not label.ome.multiscales:
        return
    ours, theirs = label.ome.multiscales[0], image.ome.multiscales[0]
    # "Within the `multiscales` object, the JSON array associated with the `datasets` key MUST have the same number of
    # entries (scale levels) as the original unlabeled image."
    if len(ours.datasets) != len(theirs.datasets):
        message = f"expected {len(theirs.datasets):,} levels, as many as the image has; found {len(ours.datasets):,}"
        yield (label.place / "multiscales" / 0 / "datasets").finding("ome/label-levels", message)
    shape, of_image = nodes.finest_shape(label), nodes.finest_shape(image)
    # "Images": "Each dimension of the label should be either the same as the corresponding dimension of the image, or
    # `1` if that dimension of the label is irrelevant." An image may have axes that its labels do not have, so
    # axes are matched by name.
    lengths = dict(zip((axis.name for axis in theirs.axes), of_image, strict=False))
    names = [axis.name for axis in ours.axes]
    wrong = [name for name, length in zip(names, shape, strict=False) if length not in (1, lengths.get(name, length))]
    if wrong:
        message = f"expected the lengths of the image, {shown(list(of_image))}, or 1; found {shown(list(shape))}"
        yield (label.place / "multiscales" / 0).finding("ome/label-shape", message)
