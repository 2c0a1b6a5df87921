"""Thumbnail of a hierarchy of any kind: image, labels, plate or series."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.plan import Plan
from ozx.hierarchy.images import image_paths
from ozx.hierarchy.keys import METADATA, THUMBNAIL
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.model import Plate
from ozx.hierarchy.thumbnail import EMBEDDED_SIZE, THUMBNAIL_GROUP, name_thumbnail
from ozx.hierarchy.zarr_v2.groups import group_document
from ozx.images.pictures.planes import Plane, check_plane_price, choose_plane, read_planes
from ozx.images.pictures.raster import encode_png, fit_size, resize
from ozx.images.pictures.render import choose_channels, choose_windows, on_black, render_channels, render_labels
from ozx.store.image_view import GroupNodes, Image, Level
from ozx.store.lazy_views import PlateFields, plate_fields


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
        return _draw_plate(nodes, root.plate, size)
    notes: list[str] = []
    for path in image_paths(nodes):
        if nodes.find(path) is not None:
            # Images in a group that lists labels are label images, even without image-label; but not if the group
            # itself is the image.
            is_label = root is not None and root.labels is not None and not root.multiscales
            view = nodes.image(path)
            pixels, level = _draw_image(view, size, is_label=is_label or view.is_label)
            return Thumbnail(pixels, path, level, tuple(notes))
        notes.append(f"{path}: an image is listed here, but does not exist")
    found = "no OME-Zarr metadata" if root is None else f"a hierarchy of kind {root.kind} without images"
    raise UnsupportedError(f"expected an image to draw; found {found}", hint="Show the contents with ozx info.")


@dataclass(frozen=True, slots=True)
class EmbeddedThumbnail:
    """The picture to store in an archive, and its width and height."""

    entry: Entry
    size: tuple[int, int]

    def add_to(self, plan: Plan) -> Plan:
        """Add the picture to a plan, directly after the metadata, and name it in the root's attributes."""
        plan.add(self.entry)
        if METADATA in plan.metadata:
            group = group_document({})
            added = {join_path(THUMBNAIL_GROUP, METADATA): group}
            plan.change_root(lambda root: name_thumbnail(root, group, self.size), added)
        return plan


def try_thumbnail(
    opened: Callable[[], AbstractContextManager[zarr.Group]],
) -> tuple[EmbeddedThumbnail | None, list[str]]:
    """Return the thumbnail of a hierarchy, or None and a note with the reason if it cannot be drawn.

    The same pixels always give the same PNG file.
    """
    try:
        with opened() as group:
            pixels = draw_thumbnail(group, EMBEDDED_SIZE).pixels
    except (FormatError, UnsupportedError) as error:
        return None, [f"no thumbnail: {error.message}"]
    height, width = pixels.shape[:2]
    return EmbeddedThumbnail(Entry(THUMBNAIL, (BytesPart(encode_png(pixels)),)), (width, height)), []


def _draw_image(view: Image, size: int, *, is_label: bool) -> tuple[NDArray[np.uint8], str]:
    plane = choose_plane(view, size)
    if is_label:
        (values,) = read_planes(plane, [0])
        picture = on_black(render_labels(values, view.display))
    else:
        shown = choose_channels(view.channels, plane.channel_count, plane.dtype, is_gray=view.plane.is_gray)
        planes, channels = read_planes(plane, list(shown)), list(shown.values())
        picture = render_channels(planes, channels, choose_windows(channels, [planes]))
    return resize(picture, fit_size(plane.shape, plane.pixel_size, size)), plane.level.path


# Plates: the first field of each well, arranged in rows and columns.

# Each well costs a few reads, about two milliseconds; plates of 384 wells are shown in full.
_MOST_WELLS = 400
_SMALLEST_TILE = 4
_GROUND = 48  # gray, between wells and for missing ones
_NAMED = 3
# Each well may use at most this part of the cost limit of a picture.
_SHARES = 16
_MOST_TIMES = 4  # times the height or width of the first field; a larger field comes from another microscope

#: Row and column of a well or of a tile.
Place = tuple[int, int]
#: The planes of one field, in the order of the shown channels.
Planes = list[NDArray[Any]]


def _draw_plate(nodes: GroupNodes, plate: Plate, size: int) -> Thumbnail:
    """Draw all wells of a plate side by side, with the colours and contrast of the first well.

    If there are more wells than pixels allow, one of several neighbours is shown. A well that is missing or unlike the
    first is gray.
    """
    fields = plate_fields(nodes, plate)
    step = _choose_step(fields, size)
    rows, columns = -(-len(fields.rows) // step), -(-len(fields.columns) // step)
    plane = choose_plane(
        fields.first, max(_SMALLEST_TILE, size // max(rows, columns)), share=min(len(fields.paths), _SHARES)
    )
    first = fields.first
    shown = choose_channels(first.channels, plane.channel_count, plane.dtype, is_gray=first.plane.is_gray)
    tiles, notes = _read_tiles(fields, plane, list(shown), step)
    if fields.notes:
        notes.append(f"{len(fields.notes):,} wells are listed, but have no images")
    if len(tiles) < len(fields.paths) and step > 1:
        notes.append(f"one well is shown for each {step} × {step} wells")
    channels = list(shown.values())
    windows = choose_windows(channels, list(tiles.values()))
    pictures = {place: render_channels(planes, channels, windows) for place, planes in tiles.items()}
    return Thumbnail(_lay_out(pictures, (rows, columns), plane, size), "", plane.level.path, tuple(notes))


def _choose_step(fields: PlateFields, size: int) -> int:
    """Return the number n for a picture that shows every n-th row and every n-th column of wells."""
    for_time = math.ceil(math.sqrt(len(fields.paths) / _MOST_WELLS))
    for_room = math.ceil(max(len(fields.rows), len(fields.columns)) * _SMALLEST_TILE / size)
    return max(for_time, for_room)


def _read_tiles(
    fields: PlateFields, plane: Plane, channels: list[int], step: int
) -> tuple[dict[Place, Planes], list[str]]:
    """Return the planes of the first field of each well, and a note about wells without a field."""
    inside = plane.level.path[len(fields.first.path) + 1 :]
    tiles: dict[Place, Planes] = {}
    failed: list[str] = []
    problem = None
    for (row, column), paths in sorted(fields.paths.items()):
        place = row // step, column // step
        if place in tiles:
            continue
        try:
            tiles[place] = _read_field(fields.nodes, paths, inside, plane, channels)
        except FormatError as error:
            failed.append(f"{fields.rows[row]}/{fields.columns[column]}")
            problem = problem or error
    if not tiles and problem is not None:
        raise problem
    if not failed:
        return tiles, []
    more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
    return tiles, [f"no picture of the wells {', '.join(failed[:_NAMED])}{more}: {problem}"]


def _read_field(nodes: GroupNodes, paths: tuple[str, ...], inside: str, plane: Plane, channels: list[int]) -> Planes:
    """Return the planes of a well's first existing field; raise `FormatError` if they are unlike the first well's."""
    # Opened without the metadata of the field and its other levels: one document instead of many.
    where = next((path for path in (join_path(path, inside) for path in paths) if nodes.find(path) is not None), None)
    array = None if where is None else nodes.find(where)
    if where is None or not isinstance(array, zarr.Array):
        raise FormatError(f"{join_path(paths[0], inside)}: expected an array, as in the first well; there is none")
    if not _is_alike(array.shape, plane):
        raise FormatError(f"{where}: expected {plane.level.array.shape} as in the first well, found {array.shape}")
    level = Level(array, where)
    try:
        check_plane_price(plane, level, _SHARES)
    except UnsupportedError as error:
        raise FormatError(error.message, hint=error.hint) from None
    return read_planes(plane, channels, level)


def _is_alike(shape: tuple[int, ...], plane: Plane) -> bool:
    """Return whether an array has a shape like the first well's array; only height and width may differ, to a limit."""
    first = plane.level.array.shape
    return len(shape) == len(first) and all(
        0 < length <= _MOST_TIMES * expected if axis in (plane.y, plane.x) else length == expected
        for axis, (length, expected) in enumerate(zip(shape, first, strict=True))
    )


def _lay_out(pictures: Mapping[Place, NDArray[np.uint8]], grid: Place, plane: Plane, size: int) -> NDArray[np.uint8]:
    """Arrange pictures as tiles of equal size, with lines between the tiles if there is space."""
    rows, columns = grid
    gap = 1 if size // max(grid) > _SMALLEST_TILE else 0
    room = ((size - gap) / rows - gap, (size - gap) / columns - gap)
    height, width = fit_size(plane.shape, plane.pixel_size, room)
    height, width = min(height, int(room[0])), min(width, int(room[1]))
    whole = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), _GROUND, np.uint8)
    for (row, column), picture in pictures.items():
        y, x = row * (height + gap) + gap, column * (width + gap) + gap
        whole[y : y + height, x : x + width] = resize(picture, (height, width))
    return whole
