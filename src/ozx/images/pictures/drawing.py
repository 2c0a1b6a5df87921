"""Draw an image, a label image, or the wells of a plate, with their colours and contrast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.images.pictures.planes import DrawnImage, Plane, check_plane_price, choose_plane, read_planes
from ozx.images.pictures.raster import fit_size, resize
from ozx.images.pictures.render import choose_channels, choose_windows, on_black, render_channels, render_labels
from ozx.store.level import Level
from ozx.zarr.keys import join_path


def draw_image(view: DrawnImage, size: int, *, is_label: bool) -> tuple[NDArray[np.uint8], str]:
    """Return a picture (y, x, 3) of up to `size` pixels per side, and the path of the array that was read."""
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


class DrawnPlate(Protocol):
    """What `draw_plate` asks of a plate, as `ozx.images.plate_picture.OpenedPlate` has it."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def paths(self) -> Mapping[Place, tuple[str, ...]]:
        """The paths of the fields of each well that has some."""

    @property
    def part(self) -> str:
        """The path of the drawn label image below a field; empty for the field itself."""

    @property
    def first(self) -> DrawnImage:
        """The first field, or its label image."""

    @property
    def is_label(self) -> bool:
        """Whether label images are drawn."""

    def array(self, path: str) -> zarr.Array[Any] | None:
        """Return the array at a path; None if there is none."""


def draw_plate(fields: DrawnPlate, size: int) -> tuple[NDArray[np.uint8], str, list[str]]:
    """Draw all wells of a plate side by side, with the colours and contrast of the first well.

    Return the picture, the path of the array that was read of the first well, and notes about missing parts. If there
    are more wells than pixels allow, one of several neighbours is shown. A well that is missing or unlike the first is
    gray.
    """
    step = _choose_step(fields, size)
    rows, columns = -(-len(fields.rows) // step), -(-len(fields.columns) // step)
    plane = choose_plane(
        fields.first, max(_SMALLEST_TILE, size // max(rows, columns)), share=min(len(fields.paths), _SHARES)
    )
    first = fields.first
    shown = choose_channels(first.channels, plane.channel_count, plane.dtype, is_gray=first.plane.is_gray)
    tiles, notes = _read_tiles(fields, plane, list(shown), step)
    if len(tiles) < len(fields.paths) and step > 1:
        notes.append(f"one well is shown for each {step} × {step} wells")
    channels = list(shown.values())
    if fields.is_label:
        pictures = {place: on_black(render_labels(planes[0], first.display)) for place, planes in tiles.items()}
    else:
        windows = choose_windows(channels, list(tiles.values()))
        pictures = {place: render_channels(planes, channels, windows) for place, planes in tiles.items()}
    return _lay_out(pictures, (rows, columns), plane, size), plane.level.path, notes


def _choose_step(fields: DrawnPlate, size: int) -> int:
    """Return the number n for a picture that shows every n-th row and every n-th column of wells."""
    for_time = math.ceil(math.sqrt(len(fields.paths) / _MOST_WELLS))
    for_room = math.ceil(max(len(fields.rows), len(fields.columns)) * _SMALLEST_TILE / size)
    return max(for_time, for_room)


def _read_tiles(
    fields: DrawnPlate, plane: Plane, channels: list[int], step: int
) -> tuple[dict[Place, Planes], list[str]]:
    """Return the planes of the first field of each well, and a note about wells without a field."""
    inside = join_path(fields.part, plane.level.path[len(fields.first.path) + 1 :])
    tiles: dict[Place, Planes] = {}
    failed: list[str] = []
    problem = None
    for (row, column), paths in sorted(fields.paths.items()):
        place = row // step, column // step
        if place in tiles:
            continue
        try:
            tiles[place] = _read_field(fields, paths, inside, plane, channels)
        except FormatError as error:
            failed.append(f"{fields.rows[row]}/{fields.columns[column]}")
            problem = problem or error
    if not tiles and problem is not None:
        raise problem
    if not failed:
        return tiles, []
    more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
    return tiles, [f"no picture of the wells {', '.join(failed[:_NAMED])}{more}: {problem}"]


def _read_field(fields: DrawnPlate, paths: tuple[str, ...], inside: str, plane: Plane, channels: list[int]) -> Planes:
    """Return the planes of a well's first existing field; raise `FormatError` if they are unlike the first well's."""
    # Opened without the metadata of the field and its other levels: one document instead of many.
    found = ((where, fields.array(where)) for where in (join_path(path, inside) for path in paths))
    where, array = next((pair for pair in found if pair[1] is not None), ("", None))
    if array is None:
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
