"""Choice of the level and planes for a picture; only these planes are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError
from ozx.ome.colors import LabelDisplay, ShownChannel, ShownPlane
from ozx.ome.model import Axis
from ozx.store.level import Level, Price, check_price, price_of

# Without smaller levels all chunks of a plane are decoded: some seconds for 16,384 × 16,384 pixels.
_MOST_PIXELS = 1 << 28
# Reading up to these limits takes some seconds, too.
_MOST = Price(chunks=50_000, decoded=4 << 30, chunk=1 << 30)
# More channels are not shown by default.
_MOST_CHANNELS = 6


class DrawnImage(Protocol):
    """What a picture asks of an image: its planes and their colours."""

    @property
    def path(self) -> str:
        """The path of the image, for messages."""

    @property
    def axes(self) -> Sequence[Axis]:
        """One axis per dimension."""

    @property
    def levels(self) -> Sequence[Level]:
        """The resolution levels, full resolution first."""

    @property
    def channel_axis(self) -> int | None:
        """The index of the channel dimension, or None."""

    @property
    def plane(self) -> ShownPlane:
        """The plane to show first."""

    @property
    def channels(self) -> tuple[ShownChannel, ...]:
        """The display settings of the channels in the metadata."""

    @property
    def display(self) -> LabelDisplay:
        """The colours of label values."""


@dataclass(frozen=True)
class Plane:
    """One y-x plane of one level of an image, for all channels."""

    level: Level  # the level with its stored array
    y: int  # numbers of the dimensions y and x
    x: int
    channel: int | None  # number of the channel dimension, or None
    # The position of the plane along each dimension; positions along `y`, `x` and `channel` are ignored.
    index: tuple[int, ...]
    step: int  # every `step`-th pixel is read, in either direction
    pixel_size: tuple[float, float] | None  # height and width of a pixel; None if unknown or not comparable

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the level."""
        return self.level.array.shape[self.y], self.level.array.shape[self.x]

    @property
    def channel_count(self) -> int:
        """The number of channels."""
        return 1 if self.channel is None else self.level.array.shape[self.channel]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the pixels."""
        return np.dtype(self.level.array.dtype)


def choose_plane(view: DrawnImage, size: int, share: int = 1) -> Plane:
    """Return the plane for a picture of up to `size` pixels per side, from the smallest level that is large enough.

    If this level costs too much to read, the plane is from the next coarser affordable level, else from the next finer
    one. `share` is the number of planes that share the limits of time and memory.

    z and t come from ``omero``; without it, they are the middle z and the first t. All other dimensions are at 0.
    """
    y, x = plane_axes(view)
    wanted = choose_level([level.array.shape for level in view.levels], (y, x), size)
    refusal: UnsupportedError | None = None
    # A coarser level is better than none.
    for number in (wanted, *range(wanted + 1, len(view.levels)), *range(wanted - 1, -1, -1)):
        plane = _plane(view, number, (y, x), size)
        try:
            _check_plane(plane, share)
        except UnsupportedError as error:
            refusal = refusal or error
        else:
            return plane
    assert refusal is not None  # noqa: S101 (the level `wanted` was refused)
    raise refusal


def _plane(view: DrawnImage, level: int, axes: tuple[int, int], size: int) -> Plane:
    y, x = axes
    found, full = view.levels[level], view.levels[0].array.shape
    shape = found.array.shape
    index = [
        scale_index(first_index(view.plane, axis, full[number]), full[number], shape[number])
        for number, axis in enumerate(view.axes)
    ]
    step = max(1, -(-max(shape[y], shape[x]) // (2 * size)))
    channel = None if view.channel_axis in (y, x) else view.channel_axis
    return Plane(found, y, x, channel, tuple(index), step, _pixel_size(view.axes, found, y, x))


def _check_plane(plane: Plane, share: int) -> None:
    """Raise an error if a plane has no pixels, or would take too much time or memory to show."""
    shape, where = plane.level.array.shape, plane.level.path
    if 0 in shape:
        raise UnsupportedError(f"{where}: expected pixels; found an array of {shape}")
    height, width = plane.shape
    if height * width > _MOST_PIXELS:
        raise UnsupportedError(
            f"{where}: expected a level that is small enough for a picture; found {height:,} × {width:,} pixels",
            hint="Drawing it would take minutes. Write the image with lower resolution levels.",
        )
    check_plane_price(plane, plane.level, share)


def check_plane_price(plane: Plane, level: Level, share: int = 1) -> None:
    """Raise an error if reading a plane of `level` for all shown channels takes too much time or memory."""
    array = level.array
    key: list[slice | int] = list(plane.index)
    key[plane.y] = key[plane.x] = slice(None, None, plane.step)
    if plane.channel is not None:
        key[plane.channel] = slice(0, _MOST_CHANNELS)
    most = Price(_MOST.chunks // share, _MOST.decoded // share, _MOST.chunk)
    hint = "Write the image with resolution levels, in chunks of about a megabyte."
    check_price(price_of(array, key), most, f"{level.path}: a picture of this level", hint)


def choose_level(shapes: Sequence[tuple[int, ...]], axes: tuple[int, int], size: int) -> int:
    """Return the smallest level whose longest side has at least `size` pixels, or else the largest level.

    Examples
    --------
    >>> shapes = [(3, 1000, 700), (3, 500, 350), (3, 250, 175)]
    >>> choose_level(shapes, (1, 2), 256), choose_level(shapes, (1, 2), 100), choose_level(shapes, (1, 2), 4000)
    (1, 2, 0)
    """
    sides = [max(shape[axis] for axis in axes) for shape in shapes]
    enough = [side for side in sides if side >= size]
    return sides.index(min(enough) if enough else max(sides))


def read_planes(plane: Plane, channels: Sequence[int], level: Level | None = None) -> list[NDArray[Any]]:
    """Return the pixels (y, x) of the given channels, sorted by channel number.

    `level` is a level of similar shape, which is read instead of the plane's own level.
    """
    source = plane.level if level is None else level
    key: list[slice | int] = list(plane.index)
    key[plane.y] = key[plane.x] = slice(None, None, plane.step)
    axes = [axis for axis in (plane.channel, plane.y, plane.x) if axis is not None]
    order = [sorted(axes).index(axis) for axis in axes]
    if plane.channel is None:
        return [source[tuple(key)].transpose(order)] * len(channels)
    planes: list[NDArray[Any]] = []
    for first, stop in _runs(channels):  # adjacent channels in one request
        key[plane.channel] = slice(first, stop)
        planes.extend(source[tuple(key)].transpose(order))
    return planes


def plane_axes(view: DrawnImage) -> tuple[int, int]:
    """Return the dimension numbers of the axes y and x.

    They are found by name, else they are the last two dimensions except the channel dimension.
    """
    names = [(axis.name or "").lower() for axis in view.axes]
    if "y" in names and "x" in names:
        return names.index("y"), names.index("x")
    others = [number for number in range(len(names)) if number != view.channel_axis]
    if len(others) < 2:
        raise UnsupportedError(
            f"{view.path or 'the root'}: expected the axes y and x; found {', '.join(names) or 'none'}"
        )
    return others[-2], others[-1]


def first_index(plane: ShownPlane, axis: Axis, length: int) -> int:
    """Return the full-resolution index to show first along an axis: that of `plane`, else the middle for z, else 0.

    Examples
    --------
    >>> z, t = Axis("z", "space", None), Axis("t", "time", None)
    >>> first_index(ShownPlane(z=7), z, 9), first_index(ShownPlane(), z, 9), first_index(ShownPlane(), t, 9)
    (7, 4, 0)
    """
    name = (axis.name or "").lower()
    if name == "z":
        return length // 2 if plane.z is None or plane.z >= length else plane.z
    if name == "t":
        return 0 if plane.t is None or plane.t >= length else plane.t
    return 0


def scale_index(index: int, full: int, length: int) -> int:
    """Convert an index at full resolution (`full` pixels) to an index in a level of `length` pixels.

    Examples
    --------
    >>> scale_index(7, 10, 10), scale_index(7, 10, 5), scale_index(9, 10, 1)
    (7, 3, 0)
    """
    return min(index * length // full, length - 1) if full else 0


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as half-open ranges of consecutive numbers.

    Examples
    --------
    >>> _runs([0, 1, 2, 5])
    [(0, 3), (5, 6)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = runs[-1][0], number + 1
        else:
            runs.append((number, number + 1))
    return runs


def _pixel_size(axes: Sequence[Axis], level: Level, y: int, x: int) -> tuple[float, float] | None:
    if level.scale is None or axes[y].unit != axes[x].unit:
        return None
    height, width = level.scale[y], level.scale[x]
    return (height, width) if all(math.isfinite(side) and side > 0 for side in (height, width)) else None
