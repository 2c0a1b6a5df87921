"""The ``zarr.json`` documents of new groups, images and hierarchies (OME-Zarr 0.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ozx.images.writing.new_array_layout import NewArray, lay_out
from ozx.images.writing.new_image import NewHierarchy, NewImage, plan_pyramid
from ozx.ome.colors import WHITE, LabelDisplay, ShownChannel, Window, default_color
from ozx.ome.conversion_05_06 import convert_group
from ozx.ome.downscaling import describe_downscaling
from ozx.ome.images import LABELS
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.ome.thumbnail import EMBEDDED_SIZE, THUMBNAIL_GROUP, name_thumbnail
from ozx.zarr.json_reading import Document
from ozx.zarr.keys import THUMBNAIL, join_path, missing_groups

# The ``zarr.json`` documents of new groups and images (OME-Zarr 0.5).

#: The written version of OME-Zarr.
VERSION = "0.5"


def group_document(ome: Mapping[str, Any] | None = None) -> Document:
    """Return the ``zarr.json`` of a group, with its OME-Zarr metadata if it has any."""
    attributes = {} if ome is None else {"ome": {"version": VERSION, **ome}}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def describe_image(image: NewImage, windows: Mapping[int, Window], source: str | None = None) -> dict[str, Any]:
    """Return the ``ome`` metadata of an image or a label image with all of its levels, without the version.

    `windows`: the computed contrast of channels without a given contrast; `source`: of a label image, the path to its
    image.
    """
    levels = image.levels
    # If one level has a translation, all levels get one: readers infer the form of all levels from the first.
    is_moved = any(any(level.translation) for level in levels)
    datasets = []
    for number, level in enumerate(levels):
        steps: list[dict[str, Any]] = [{"type": "scale", "scale": list(level.scale)}]
        if is_moved:
            steps.append({"type": "translation", "translation": list(level.translation)})
        datasets.append({"path": str(number), "coordinateTransformations": steps})
    axes = [
        {key: value for key in ("name", "type", "unit") if (value := getattr(axis, key)) is not None}
        for axis in image.axes
    ]
    multiscale: dict[str, Any] = {"name": image.name, "axes": axes, "datasets": datasets}
    if len(levels) > 1:
        multiscale |= _describe_downscaling(image, is_made=len(levels) > len(image.sources))
    ome: dict[str, Any] = {"multiscales": [multiscale]}
    if image.label is not None:
        ome["image-label"] = _describe_label(image.label, source)
    else:
        ome["omero"] = _describe_channels(image, windows)
    return ome


def _describe_downscaling(image: NewImage, *, is_made: bool) -> dict[str, Any]:
    """Return the type and parameters of the downscaling method (OME-Zarr 0.5, "multiscales")."""
    given = sum(not level.is_sampled for level in image.levels[: len(image.sources)])
    if not is_made and given == len(image.sources):
        return {"type": "unknown", "metadata": {"description": f"The {given} levels come from the source."}}
    return describe_downscaling(image.pyramid.method, given)


def _describe_channels(image: NewImage, windows: Mapping[int, Window]) -> dict[str, Any]:
    """Return the ``omero`` metadata of an image."""
    shape = image.levels[0].shape  # differs from that of the source in a stream
    # vizarr and others fail on a channel without one of these keys, and on planes outside the image.
    count, dtype = 1 if image.channel_axis is None else shape[image.channel_axis], image.sources[0].dtype
    given = [*image.channels[:count], *[ShownChannel()] * (count - len(image.channels))]
    channels = [
        _describe_channel(channel, number, count, _limited(channel.window or windows[number], dtype))
        for number, channel in enumerate(given)
    ]
    lengths = {axis.name: length for axis, length in zip(image.axes, shape, strict=True)}
    is_gray = all(channel["color"] == WHITE for channel in channels)
    model = "greyscale" if is_gray else "color"
    return {"channels": channels, "rdefs": {"defaultT": 0, "defaultZ": lengths.get("z", 1) // 2, "model": model}}


def _limited(window: Window, dtype: np.dtype[Any]) -> Window:
    """Return a window with `min` and `max`; by default the limits of an integer type, or start and end for floats."""
    least, most = window.start, window.end
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        least, most = float(limits.min), float(limits.max)
    return replace(
        window, min=least if window.min is None else window.min, max=most if window.max is None else window.max
    )


def _describe_channel(channel: ShownChannel, number: int, count: int, window: Window) -> dict[str, Any]:
    described: dict[str, Any] = {
        "active": channel.active,
        "color": channel.color or default_color(number, count, channel.label, channel.emission),
        "label": channel.label or f"Channel {number}",
        "window": {
            "min": window.min,
            "max": window.max,
            "start": window.start,
            "end": window.end,
        },
    }
    if channel.emission is not None:  # a key of OMERO's own JSON; OME-Zarr has none
        described["emissionWave"] = channel.emission
    return described


def _describe_label(label: LabelDisplay, source: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {} if source is None else {"source": {"image": source}}
    # OME-Zarr 0.5, "image-label": it SHOULD have colors; but its schema refuses an empty list.
    if label.colors:
        described["colors"] = [{"label-value": value, "rgba": list(rgba)} for value, rgba in label.colors.items()]
    if label.properties:
        described["properties"] = [{"label-value": value, **known} for value, known in label.properties.items()]
    return described


# The ``zarr.json`` of all groups and arrays of a new hierarchy.

# No number has a longer text in JSON. So no contrast window has a longer text than this draft.
_LONGEST = -2.2250738585072014e-308
_DRAFT = Window(_LONGEST, _LONGEST, _LONGEST, _LONGEST)


class HierarchyDocuments:
    """The ``zarr.json`` of all groups and arrays of a new hierarchy."""

    def __init__(self, hierarchy: NewHierarchy, layout: LayoutChoice, *, has_thumbnail: bool = False) -> None:
        self._version = hierarchy.version
        self._has_thumbnail = has_thumbnail
        self.thumbnail: tuple[int, int] | None = None  # width and height of the picture, once it is drawn
        self._groups: dict[str, Mapping[str, Any] | None] = dict(hierarchy.groups)
        self.images = {
            path: replace(
                image, levels=(*image.levels[:-1], *plan_pyramid(image.levels[-1], image.axes, image.pyramid))
            )
            for path, image in all_images(hierarchy).items()
        }
        #: The computed contrast of channels without a given contrast, by image path and channel number.
        self.windows: dict[str, dict[int, Window]] = {path: {} for path in self.images}
        for path, image in hierarchy.images.items():
            if image.labels:
                self._groups[join_path(path, LABELS)] = {"labels": list(image.labels)}
        arrays = {}
        for path, image in self.images.items():
            for number, level in enumerate(image.levels):
                # Computed levels have the chunks of the level from which they are computed.
                alignment = image.sources[min(number, len(image.sources) - 1)].read_alignment
                array = NewArray(level.shape, image.sources[0].dtype, image.axes, alignment)
                arrays[join_path(path, str(number))] = array
        self.arrays = lay_out(arrays, layout)
        # The folders of files are groups, too: zarr-python warns about folders that are no nodes. That of
        # METADATA.ome.xml has `series` only in a series: OME-Zarr 0.5 defines it for the "bioformats2raw.layout" alone.
        files = (*hierarchy.files, THUMBNAIL) if has_thumbnail else hierarchy.files
        for path in missing_groups(["", *self._groups, *self.images, *self.arrays, *files]):
            self._groups.setdefault(path, None)
        if "" not in self.images:
            self._groups.setdefault("", None)

    def documents(self, *, are_drafts: bool = False) -> dict[str, Document]:
        """Return the ``zarr.json`` of all nodes, with the contrast windows of the pixels that were read.

        Drafts, for which no pixels need to be read, are as long as these documents can become.
        """
        documents = {path: group_document(ome) for path, ome in self._groups.items()}
        groups = {path: convert_group(found, self._version, path).document for path, found in documents.items()}
        for path, image in self.images.items():
            groups[path] = self.describe(path, image, None if are_drafts else self.windows[path])
        size = (EMBEDDED_SIZE, EMBEDDED_SIZE) if are_drafts and self._has_thumbnail else self.thumbnail
        if size is not None:
            groups[""] = name_thumbnail(groups[""], groups[THUMBNAIL_GROUP], size)
        return {**groups, **self.arrays}

    def describe(self, path: str, image: NewImage, windows: Mapping[int, Window] | None) -> Document:
        """Return the ``zarr.json`` of an image; without `windows`, a draft."""
        # OME-Zarr 0.5, "labels": the path from a label image to the image that it belongs to.
        source = "../../" if path.split("/")[-2:-1] == [LABELS] else None
        drafts = dict.fromkeys(range(self.images[path].channel_count), _DRAFT)
        ome = describe_image(image, drafts if windows is None else windows, source)
        return convert_group(group_document(ome), self._version, path).document


def all_images(hierarchy: NewHierarchy) -> dict[str, NewImage]:
    """Return images and label images by path."""
    found = {}
    for path, image in hierarchy.images.items():
        found[path] = image
        found |= {join_path(path, f"labels/{name}"): label for name, label in image.labels.items()}
    return found
