"""Describe a file for the viewer page in JSON: its contents, and how to show each picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from ozx.desktop.viewer.pictures import TILE, Picture, Pictures, sample_type
from ozx.errors import FormatError
from ozx.images.image import GroupNodes
from ozx.images.pictures.planes import first_index
from ozx.images.pictures.render import complete_channels, is_telling
from ozx.ome.colors import ShownChannel
from ozx.ome.images import image_paths
from ozx.ome.model import describe_scene
from ozx.ome.nodes import ome_at
from ozx.ome.recovered import describe_loss
from ozx.store.level import Level

# The most images that the page offers in a list; `ozx info` counts all.
_MOST_IMAGES = 10_000
_MOST_COLORS = 100_000


def describe_file(pictures: Pictures, name: str) -> dict[str, Any]:
    """Return a description of the file: its images, or the wells of its plate with their fields."""
    nodes = pictures.nodes
    ome = nodes[""].ome
    fields = pictures.fields
    answer: dict[str, Any] = {
        "schema": 1,
        "name": os.path.basename(name.rstrip("/")) or name,
        "path": name,
        "kind": "other" if ome is None else ome.kind,
        "version": None if ome is None else ome.version,
        "tile": TILE,
        "images": [],
        "plate": None,
        "notes": [],
        "recovered": list(map(describe_loss, nodes.losses)),
    }
    if fields is not None and ome is not None and ome.plate is not None:
        wells = [
            {"row": row, "column": column, "fields": list(paths)}
            for (row, column), paths in sorted(fields.paths.items())
        ]
        answer["plate"] = {"name": ome.plate.name, "rows": fields.rows, "columns": fields.columns, "wells": wells}
        answer["notes"] = list(fields.notes)
        return answer
    if ome is not None and ome.scene is not None:
        answer["notes"] = [describe_scene(ome.scene)]
    answer["images"] = [{"path": path, "name": name} for path, name in _images(nodes)]
    if not answer["images"]:
        raise FormatError("expected OME-Zarr images, found none", hint="Show the contents with ozx info.")
    return answer


def describe_picture(picture: Picture) -> dict[str, Any]:
    """Return the description of a picture: size, levels, axes, channels, and the display settings in its metadata."""
    view, full = picture.view, picture.view.levels[0]
    channels = complete_channels(view.channels, view.channel_count, full.dtype, is_gray=view.plane.is_gray)
    display = view.display
    return {
        "schema": 1,
        "path": picture.path,
        "name": view.name,
        "kind": "labels" if view.is_label else "image",
        "dtype": str(full.dtype),
        "samples": sample_type(full.dtype, is_label=view.is_label),
        "width": picture.sizes[0][1],
        "height": picture.sizes[0][0],
        "levels": [
            {"width": width, "height": height, "factor": list(picture.factor(level))}
            for level, (height, width) in enumerate(picture.sizes)
        ],
        "axes": [
            {"name": axis.name, "type": axis.type, "unit": axis.unit, "length": length}
            for axis, length in zip(picture.view.axes, full.shape, strict=True)
        ],
        "channels": [_channel(known, number, full.dtype) for number, known in enumerate(channels)],
        "sliders": [_slider(picture, dimension) for dimension in picture.slider_dimensions],
        "pixel": _pixel(picture),
        "labels": [path[len(view.path) + 1 :] if view.path else path for path in view.label_paths],
        "colors": {str(value): rgba for value, rgba in islice(display.colors.items(), _MOST_COLORS)},
        "storage": [_storage(level, picture.lead) for level in view.levels],
        "notes": list(picture.notes),
    }


def _images(nodes: GroupNodes) -> Iterator[tuple[str, str]]:
    for path in islice(image_paths(nodes), _MOST_IMAGES):
        names = (item.name for item in ome_at(nodes, path).multiscales)
        yield path, next(filter(None, names), path or "image")


def _channel(known: ShownChannel, number: int, dtype: np.dtype[Any]) -> dict[str, Any]:
    window = known.window if is_telling(known.window, dtype) else None
    reach = _reach(dtype)
    if reach is None and window is not None and window.min is not None and window.max is not None:
        reach = window.min, window.max
    return {
        "label": known.label or f"Channel {number}",
        "color": known.color,
        "active": known.active,
        "window": None if window is None else {"start": window.start, "end": window.end},
        "reach": reach,
    }


def _reach(dtype: np.dtype[Any]) -> tuple[float, float] | None:
    """Return the minimum and maximum of an integer or boolean pixel type; None for other types."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        return None
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _slider(picture: Picture, dimension: int) -> dict[str, Any]:
    axis, length = picture.view.axes[dimension], picture.view.levels[0].shape[dimension]
    return {
        "name": axis.name or f"axis {dimension}",
        "length": length,
        "start": first_index(picture.view.plane, axis, length),
        "unit": axis.unit,
        "scale": _placed(picture.view.levels[0].scale, dimension, picture),
        "origin": _placed(picture.view.levels[0].translation, dimension, picture),
    }


def _pixel(picture: Picture) -> dict[str, Any]:
    level = picture.view.levels[0]
    down, right = picture.dimensions
    size = [_placed(level.scale, dimension, picture) for dimension in (down, right)]
    origin = [_placed(level.translation, dimension, picture) or 0.0 for dimension in (down, right)]
    units = {picture.view.axes[down].unit, picture.view.axes[right].unit}
    return {"x": size[1], "y": size[0], "unit": units.pop() if len(units) == 1 else None, "origin": origin}


def _placed(numbers: tuple[float, ...] | None, dimension: int, picture: Picture) -> float | None:
    return None if numbers is None or dimension < picture.lead else numbers[dimension]


def _storage(level: Level, lead: int) -> dict[str, Any]:
    array = level.array
    return {
        "path": level.path,
        "shape": list(level.shape),
        "chunks": list(array.chunks),
        "shards": None if array.shards is None else list(array.shards),
        "scale": None if level.scale is None else level.scale[lead:],
    }
