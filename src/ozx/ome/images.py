"""The images of a hierarchy: OME-Zarr metadata combined with the metadata of the arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ozx.ome.colors import parse_window
from ozx.ome.model import Axis, Channel, CoordinateSystem, Dataset, Multiscale, Transformation
from ozx.ome.nodes import Node, ome_at
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.entry_order import component_order
from ozx.zarr.json_reading import as_list, as_object, as_text
from ozx.zarr.keys import join_path

LABELS = "labels"  # OME-Zarr 0.5, "labels": the group of this name beside the levels of an image
_FRAMES = "frames"  # where ozx.stream puts records of frames
SERIES = "OME"  # OME-Zarr 0.5, "bioformats2raw.layout": the group that lists the series
# Each level halves the image: a dozen levels are many, and a list of a million is an attack.
_MOST_LEVELS = 1000


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """One resolution level: its array, and the physical position of its pixels.

    If the metadata lacks a value, its attribute is None. If the array is missing, all attributes except `path`, `scale`
    and `translation` are None.

    Attributes
    ----------
    path
        Path of the array below the image.
    shape
        Lengths of the dimensions, in pixels.
    dtype
        Zarr v3 name of the data type.
    chunks, shards
        Lengths in pixels of a chunk, the unit that is decoded, and of a shard. Without sharding, `shards` is None.
    codecs
        Names, from the outside in; those inside a shard follow ``sharding_indexed``.
    scale, translation
        Pixel spacing and position of the first pixel along each axis, in the unit of the axis.
    """

    path: str
    shape: tuple[int, ...] | None
    dtype: str | None
    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None
    codecs: tuple[str, ...] | None
    scale: tuple[float, ...] | None = None
    translation: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Description of an image's frame records: values about single frames, such as times, that `ozx.stream` writes.

    Attributes
    ----------
    fields
        Names of the fields.
    frames
        The number of frames for which the arrays of the fields have elements.
    """

    fields: tuple[str, ...]
    frames: int


@dataclass(frozen=True, slots=True)
class ImageSummary:
    """An image or label image of a hierarchy: its axes, levels and display metadata.

    Attributes
    ----------
    path
        Path of its group; the root's is empty.
    name
        Its name, or None.
    axes
        Its axes, one per dimension, in order.
    channels
        Name and display settings of each channel; empty if the metadata lists no channels.
    levels
        The resolution levels, the finest first.
    system, systems
        Name of the coordinate system of the levels, whose axes are `axes`, and all coordinate systems (OME-Zarr 0.6).
    transformations
        The transformations between coordinate systems, without those of the levels.
    records
        The records of its frames, or None.
    """

    path: str
    name: str | None
    axes: tuple[Axis, ...]
    channels: tuple[Channel, ...]
    levels: tuple[LevelSummary, ...]
    system: str | None = None
    systems: tuple[CoordinateSystem, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    records: Records | None = None


def image_paths(nodes: Mapping[str, Node]) -> Iterator[str]:
    """Yield the paths of all images that the root's metadata lists, including missing images.

    For a plate, these are the fields of all wells; for a well, its fields; for an image, the root itself; for a series,
    the images in its list; for a scene, the images that it places; for a labels group, its label images. For any other
    root, they are all groups with multiscales; label images are included only if there are no other images.
    """
    ome = ome_at(nodes, "")
    if ome.plate is not None:
        for well in ome.plate.wells:
            yield from _fields(nodes, join_path("", well))
    elif ome.multiscales:
        yield ""
    elif ome.kind == "series":
        yield from _series(nodes)
    elif ome.scene is not None:
        ends = [end for step in ome.scene.transformations for end in (step.input, step.output)]
        yield from dict.fromkeys(join_path("", end.path.strip("/")) for end in ends if end.path is not None)
    elif ome.labels is not None:
        yield from (join_path("", label) for label in ome.labels)
    elif ome.fields is not None:
        yield from _fields(nodes, "")
    else:
        found = {path: node.ome for path, node in nodes.items() if node.ome is not None and node.ome.multiscales}
        yield from [path for path, ome in found.items() if not ome.is_label] or found


def label_paths(nodes: Mapping[str, Node], image: str) -> list[str]:
    """Return the paths of the label images of the image at path `image`."""
    group = join_path(image, LABELS)
    return [join_path(group, name) for name in ome_at(nodes, group).labels or ()]


def describe_images(nodes: Mapping[str, Node], path: str, notes: list[str]) -> list[ImageSummary]:
    """Return the images of the group at `path` (nearly always one); add notes about missing and unsuitable arrays."""
    ome = ome_at(nodes, path)
    if not ome.multiscales:
        what = "the node has no multiscales" if path in nodes else "there is no node"
        notes.append(f"{path or 'the root'}: an image is listed here, but {what}")
    channels = tuple(map(_channel, as_list(as_object(ome.raw.get("omero")).get("channels"))))
    return [_describe(nodes, path, multiscale, channels, notes) for multiscale in ome.multiscales]


def _channel(value: Any) -> Channel:
    channel = as_object(value)
    window = parse_window(as_object(channel.get("window")))
    return Channel(
        as_text(channel.get("label")), as_text(channel.get("color")), None if window is None else window.contrast
    )


def describe_level(path: str, array: ArrayMetadata | None, dataset: Dataset | None = None) -> LevelSummary:
    """Return the description of one array as a resolution level."""
    scale, translation = (None, None) if dataset is None else (dataset.scale, dataset.translation)
    if array is None:
        return LevelSummary(path, None, None, None, None, None, scale, translation)
    stored = array.shape, array.data_type, array.chunks, array.shards, array.codecs
    return LevelSummary(path, *stored, scale, translation)


def level_factor(full: int, length: int) -> float:
    """Return the downsampling factor of a dimension: a whole number if a whole number fits both lengths.

    Examples
    --------
    >>> level_factor(101, 51), level_factor(101, 50), level_factor(100, 30)
    (2, 2, 3.3333333333333335)
    """
    factor = round(full / length)
    return factor if length in (full // factor, -(-full // factor)) else full / length


def _describe(
    nodes: Mapping[str, Node], path: str, multiscale: Multiscale, channels: tuple[Channel, ...], notes: list[str]
) -> ImageSummary:
    levels = []
    if len(multiscale.datasets) > _MOST_LEVELS:
        notes.append(
            f"{path or 'the root'}: only the first {_MOST_LEVELS:,} of {len(multiscale.datasets):,} levels are shown"
        )
    for dataset in multiscale.datasets[:_MOST_LEVELS]:
        if dataset.path is None:
            continue
        node = nodes.get(join_path(path, dataset.path))
        array = None if node is None else node.array
        level = describe_level(dataset.path, array, dataset)
        if array is None:
            notes.append(f"{join_path(path, dataset.path)}: this path is listed as a level, but it has no array")
        elif level.shape is not None and multiscale.axes and len(level.shape) != len(multiscale.axes):
            where, axes = join_path(path, dataset.path), len(multiscale.axes)
            notes.append(f"{where}: the array has {len(level.shape)} dimensions, but the image has {axes} axes")
        levels.append(level)
    placed = multiscale.system, multiscale.systems, multiscale.transformations
    records = _records(nodes, path, multiscale.axes)
    return ImageSummary(path, multiscale.name, multiscale.axes, channels, tuple(levels), *placed, records)


def _records(nodes: Mapping[str, Node], path: str, axes: tuple[Axis, ...]) -> Records | None:
    """Return the records of frames: the arrays in the group ``frames`` that have the image's axes except y and x."""
    group = join_path(path, _FRAMES)
    if group not in nodes:
        return None
    names = tuple(axis.name for axis in axes[:-2])
    fields, frames = [], 0
    for other, node in nodes.items():
        name = other[len(group) + 1 :] if other.startswith(f"{group}/") else "/"
        if "/" not in name and node.array is not None and node.array.dimension_names == names:
            fields.append(name)
            frames = max(frames, math.prod(node.array.shape or ()))
    return Records(tuple(sorted(fields)), frames) if fields else None


def _fields(nodes: Mapping[str, Node], well: str) -> Iterator[str]:
    yield from (join_path(well, field) for field in ome_at(nodes, well).fields or ())


def _series(nodes: Mapping[str, Node]) -> Iterator[str]:
    """Yield the images of a series: the images listed in the group ``OME``, or else the groups numbered from 0.

    OME-Zarr 0.5, "bioformats2raw.layout": without the ``series`` attribute, images are at consecutively numbered
    groups starting with 0.
    """
    for series in (ome_at(nodes, SERIES).series, ome_at(nodes, "").series):
        if series is not None:
            yield from (join_path("", path) for path in series)
            return
    groups = [path for path, node in nodes.items() if path.isascii() and path.isdigit() and node.node_type == "group"]
    yield from sorted(groups, key=component_order)
