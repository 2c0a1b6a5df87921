"""Thumbnail of a hierarchy of any kind: image, labels, plate or series."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.plan import Plan
from ozx.images.image import GroupNodes
from ozx.images.pictures.drawing import draw_image, draw_plate
from ozx.images.pictures.raster import encode_png, pillow
from ozx.images.plate_picture import opened_plate
from ozx.ome.images import image_paths
from ozx.ome.thumbnail import EMBEDDED_SIZE, THUMBNAIL_GROUP, name_thumbnail
from ozx.ome.upgrade import group_document
from ozx.zarr.keys import METADATA, THUMBNAIL, join_path

pillow()  # without it, an error before anything is read


@dataclass(frozen=True)
class Thumbnail:
    """A rendered thumbnail of a hierarchy."""

    pixels: NDArray[np.uint8]  # red, green and blue (y, x, 3)
    image: str  # path of the image or plate shown; empty for the root
    level: str  # path of the array that was read; for a plate, the array of its first image
    notes: tuple[str, ...] = ()  # missing parts, one sentence each


def draw_thumbnail(group: zarr.Group, size: int) -> Thumbnail:
    """Draw a picture of a group; its longest side has at most `size` pixels.

    The picture shows an image, or the first image of a series, at the coarsest level with enough pixels. The picture of
    a plate shows the first field of each well at the place of the well. Labels are shown in their colours.
    """
    nodes = GroupNodes(group)
    root = nodes[""].ome
    if root is not None and root.plate is not None:
        fields = opened_plate(nodes, root.plate)
        pixels, level, notes = draw_plate(fields, size)
        if fields.notes:
            notes.append(f"{len(fields.notes):,} wells are listed, but have no images")
        return Thumbnail(pixels, "", level, tuple(notes))
    notes = []
    for path in image_paths(nodes):
        if nodes.find(path) is not None:
            # Images in a group that lists labels are label images, even without image-label; but not if the group
            # itself is the image.
            is_label = root is not None and root.labels is not None and not root.multiscales
            view = nodes.image(path)
            pixels, level = draw_image(view, size, is_label=is_label or view.is_label)
            return Thumbnail(pixels, path, level, tuple(notes))
        notes.append(f"{path}: an image is listed here, but does not exist")
    found = "no OME-Zarr metadata" if root is None else f"a hierarchy of kind {root.kind} without images"
    raise UnsupportedError(f"expected an image to draw; found {found}", hint="Show the contents with ozx info.")


#: The picture to store in an archive, and its width and height.
Picture = tuple[Entry, tuple[int, int]]


def add_thumbnail(picture: Picture, plan: Plan) -> Plan:
    """Add a picture to a plan, directly after the metadata, and name it in the root's attributes."""
    entry, size = picture
    plan.add(entry)
    if METADATA in plan.metadata:
        group = group_document({})
        added = {join_path(THUMBNAIL_GROUP, METADATA): group}
        plan.change_root(lambda root: name_thumbnail(root, group, size), added)
    return plan


def try_thumbnail(opened: Callable[[], AbstractContextManager[zarr.Group]]) -> tuple[Picture | None, list[str]]:
    """Return the thumbnail of a hierarchy, or None and a note with the reason if it cannot be drawn.

    The same pixels always give the same PNG file.
    """
    try:
        with opened() as group:
            pixels = draw_thumbnail(group, EMBEDDED_SIZE).pixels
    except (FormatError, UnsupportedError) as error:
        return None, [f"no thumbnail: {error.message}"]
    height, width = pixels.shape[:2]
    return (Entry(THUMBNAIL, (BytesPart(encode_png(pixels)),)), (width, height)), []
