"""Make neuroglancer's state: layers, colours, contrast, positions of a plate's wells, and all dimensions.

Its dimensions are in SI units; a channel axis ``c`` becomes the local dimension ``c'``, one layer per channel. In
neuroglancer's OME-Zarr source, whole numbers are the centres of pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote

import numpy as np

from ozx.desktop.viewer.descriptions import describe_picture
from ozx.desktop.viewer.pictures import Picture, Pictures
from ozx.errors import FormatError
from ozx.hierarchy.images import image_paths
from ozx.store.image_view import GroupNodes, ImageView

_SHADER = "#uicontrol invlerp contrast\n#uicontrol vec3 color color\nvoid main() { emitRGB(color * contrast()); }\n"
_PREFIXES = dict(
    zip(
        ("yocto", "zepto", "atto", "femto", "pico", "nano", "micro", "milli", "", "kilo", "mega", "giga", "tera"),
        range(-24, 13, 3),
        strict=True,
    )
) | {"centi": -2, "deci": -1, "hecto": 2}
_BASES = {"meter": "m", "second": "s"}
_OTHERS = {
    "angstrom": (1e-10, "m"),
    "inch": (0.0254, "m"),
    "foot": (0.3048, "m"),
    "yard": (0.9144, "m"),
    "minute": (60.0, "s"),
    "hour": (3600.0, "s"),
    "day": (86400.0, "s"),
}
# Pixels along a screen; the first view fills it.
_SCREEN = 800
# The most images of a series that are useful as a list of layers.
_MOST_IMAGES = 8

#: The place of an image in a plate: pixels down and to the right.
Offset = tuple[int, int]


def make_state(pictures: Pictures, base: str) -> dict[str, Any]:
    """Return the neuroglancer state that shows a file; `base` is the URL of the file's root without a slash at the end.

    Raises
    ------
    FormatError
        The file has no image.
    """
    fields = pictures.fields
    if fields is None:
        paths = list(islice(image_paths(GroupNodes(pictures.group)), _MOST_IMAGES))
        if not paths:
            raise FormatError("expected OME-Zarr images, found none", hint="Show the contents with ozx info.")
        images = [pictures.image(path) for path in paths]
        groups = [_layers(pictures, image, [(image.view, None)], base) for image in images]
        for image, group in zip(images[1:], groups[1:], strict=True):
            for layer in group:
                layer["visible"] = False
                layer["name"] = f"{image.view.name or image.path}: {layer['name']}"
        return _state([layer for group in groups for layer in group], images[0], 1, 1)
    first = pictures.image(fields.first.path)
    height, width = first.levels[0].height, first.levels[0].width
    found = [
        (view, (row * height, column * width))
        for row, column in sorted(fields.paths)
        if (view := fields.view(row, column, 0)) is not None
    ]
    return _state(_layers(pictures, first, found, base), first, len(fields.rows), len(fields.columns))


def si_unit(unit: str | None) -> tuple[float, str]:
    """Return the factor and symbol of `unit` in SI base units; 1 and an empty symbol if the unit is unknown."""
    if unit in _OTHERS:
        return _OTHERS[unit]
    for base, symbol in _BASES.items():
        prefix = (unit or "").removesuffix(base)
        if unit is not None and unit.endswith(base) and prefix in _PREFIXES:
            return float(f"1e{_PREFIXES[prefix]}"), symbol
    return 1.0, ""


def _state(layers: list[dict[str, Any]], picture: Picture, rows: int, columns: int) -> dict[str, Any]:
    dimensions = _dimensions(picture.view)
    lengths = dict(zip(dimensions, picture.sources[0].shape, strict=True))
    down, right = (list(dimensions)[dimension] for dimension in picture.dimensions)
    lengths[down] *= rows
    lengths[right] *= columns
    middle = {name: (length - 1) / 2 for name, length in lengths.items()}
    middle |= {slider["name"]: slider["start"] for slider in describe_picture(picture)["sliders"]}
    shown = [name for name in dimensions if not name.endswith("'")]
    return {
        "dimensions": {name: dimensions[name] for name in shown},
        "displayDimensions": [right, down, *(name for name in shown if name == "z")],
        "position": [middle[name] for name in shown],
        "crossSectionScale": max(lengths[down], lengths[right]) / _SCREEN,
        "layers": layers,
        "layout": "xy",
        "crossSectionBackgroundColor": "#000000",
        "showAxisLines": False,
        "showDefaultAnnotations": False,
        "selectedLayer": {"visible": True, "layer": layers[0]["name"]},
    }


def _layers(
    pictures: Pictures, picture: Picture, images: Sequence[tuple[ImageView, Offset | None]], base: str
) -> list[dict[str, Any]]:
    """Return one layer for each channel and label image of `picture`.

    `images` are the images that a layer shows, each at its offset: for a plate, the first fields of all wells, with
    `picture` for one of them; otherwise only the image of `picture`.
    """
    description = describe_picture(picture)
    source = [_source(view, view.path, offset, base) for view, offset in images]
    layers = []
    if picture.view.is_label:
        layers.append(_segmentation(picture.view, description["name"] or "labels", source))
    else:
        for number, channel in enumerate(description["channels"]):
            controls = {
                "contrast": {"range": _range(picture, description, number)},
                "color": f"#{channel['color'].lower()}",
            }
            layer = {"type": "image", "name": channel["label"], "source": source, "visible": channel["active"]}
            layer["tab"] = "rendering"
            layer |= {"shader": _SHADER, "shaderControls": controls, "opacity": 1, "blend": "additive"}
            layers.append(layer | _local(picture.view, number))
    for path in picture.view.labels:
        label = pictures.image(path).view
        part = path[len(picture.view.path) :].strip("/")
        parts = [_source(label, f"{view.path}/{part}".strip("/"), offset, base) for view, offset in images]
        layers.append(_segmentation(label, part.removeprefix("labels/"), parts))
    return layers


def _source(view: ImageView, path: str, offset: Offset | None, base: str) -> dict[str, Any]:
    zarr_format = view.levels[0].array.metadata.zarr_format
    source: dict[str, Any] = {"url": "/".join(filter(None, [base, quote(path)])) + f"/|zarr{zarr_format}:"}
    if offset is not None:
        dimensions, scale = _dimensions(view), view.levels[0].scale
        moved = view.levels[0].translation or (0.0,) * len(dimensions)
        rank = len(dimensions)
        matrix = np.eye(rank, rank + 1)
        # Replace a field's position under the microscope by its well's place.
        for dimension, pixels in zip((rank - 2, rank - 1), offset, strict=True):
            matrix[dimension, rank] = pixels - moved[dimension] / (1.0 if scale is None else scale[dimension])
        source["transform"] = {"matrix": matrix.tolist(), "outputDimensions": dimensions}
    return source


def _segmentation(view: ImageView, name: str, source: list[dict[str, Any]]) -> dict[str, Any]:
    colors = {
        str(value): f"#{red:02x}{green:02x}{blue:02x}" for value, (red, green, blue, _) in view.display.colors.items()
    }
    layer = {"type": "segmentation", "name": name, "source": source, "segments": [], "segmentColors": colors}
    return layer | _local(view, 0)


def _local(view: ImageView, channel: int) -> dict[str, Any]:
    """Return the part of the state that selects a layer's channel; empty for a picture without channels."""
    names = [f"{axis.name}'" for axis in view.axes if axis.type == "channel"]
    return {"localDimensions": {names[0]: [1, ""]}, "localPosition": [channel]} if names else {}


def _dimensions(view: ImageView) -> dict[str, list[float | str]]:
    """Return the scale and unit of each dimension by its name in neuroglancer."""
    found: dict[str, list[float | str]] = {}
    for number, axis in enumerate(view.axes):
        name = axis.name or f"d{number}"
        scale = None if view.levels[0].scale is None else view.levels[0].scale[number]
        size, unit = si_unit(axis.unit)
        found[f"{name}'" if axis.type == "channel" else name] = [float(f"{(scale or 1.0) * size:.12g}"), unit]
    return found


def _range(picture: Picture, description: dict[str, Any], channel: int) -> list[float]:
    known = description["channels"][channel]["window"]
    if known is not None:
        return [known["start"], known["end"]]
    found = picture.contrast(channel, [slider["start"] for slider in description["sliders"]])
    return [found.start, found.end]
