"""Description of an array as a full-resolution image: names, pixel sizes and units of its axes, and channels."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError
from ozx.images.description import ImageDescription, describe_samples
from ozx.images.pixel_source import ArrayLike, ArraySource, PixelSource
from ozx.images.writing.new_image import NewImage, PyramidLevel
from ozx.ome.colors import ShownChannel, Window, parse_color
from ozx.ome.edit.request import PixelSize as GivenSize
from ozx.ome.edit.request import parse_units, split_sizes
from ozx.ome.model import AXIS_TYPES, Axis
from ozx.ome.units import PixelSize, axis_type_of, check_unit
from ozx.zarr.json_reading import check_text

#: The names of axes, in the order of OME-Zarr.
AXIS_ORDER = "".join(AXIS_TYPES)
_USUAL = {2: "yx", 3: "zyx", 4: "czyx", 5: "tczyx"}
# Axes to show in a hint, by number of dimensions.
_NAMED = {3: "cyx", 4: "tcyx", 5: "tczyx"}
_EXAMPLES = {2: "yx", 3: "cyx", 4: "czyx", 5: "tczyx"}

# Other names of axes, as arrays of xarray have them.
_LONG_NAMES = {"time": "t", "channel": "c"}

#: Pixel sizes as for `ozx.edit`, or one for each dimension.
PixelSizes = GivenSize | Sequence[float]
ChannelLike = str | Mapping[str, Any] | ShownChannel

DescribedArray = tuple[tuple[Axis, ...], tuple[PixelSource, ...], tuple[PyramidLevel, ...]]


def describe_array(
    array: ArrayLike,
    axes: str | Sequence[str] | None,
    pixel_size: PixelSizes | None,
    unit: str | Mapping[str, str] | None,
    known: ImageDescription | None = None,
) -> DescribedArray:
    """Return the axes of an array, and it as a source and its full-resolution level, all with the axes in OME order.

    `known` applies where `pixel_size` and `unit` say nothing.
    """
    names, known = axis_names(array, axes), known or ImageDescription()
    given, own = sizes_by_axis(pixel_size, names)
    chosen = units_by_axis(unit, names)
    if twice := sorted(own.keys() & chosen.keys()):
        raise UsageError(f"the unit of {', '.join(twice)} is given twice: with the pixel size and separately")
    sizes = {axis: size.value for axis, size in known.sizes.items()} | given
    units = {axis: size.unit for axis, size in known.sizes.items()} | _checked_units(own | chosen)
    order = sorted(range(len(names)), key=lambda number: AXIS_ORDER.index(names[number]))
    turned = tuple(names[number] for number in order)
    found = tuple(Axis(axis, AXIS_TYPES[axis], units.get(axis)) for axis in turned)
    source = ArraySource(_transposed(array, order, names), turned)
    if 0 in source.shape:
        raise UsageError(f"expected pixels; an array of the shape {source.shape} has none")
    scale = tuple(float(sizes.get(axis, 1.0)) for axis in turned)
    places = (known.origin.get(axis) for axis in turned)
    level = PyramidLevel(source.shape, scale, tuple(0.0 if place is None else place.value for place in places))
    return found, (source,), (level,)


def own_axes(array: ArrayLike) -> tuple[str, ...] | None:
    """Return the names of an array's dimensions if the array has them, as arrays of xarray do; otherwise None.

    The names ``dim_0``, ``dim_1`` and so on, which xarray gives to dimensions without names, do not count.
    """
    dims = getattr(array, "dims", None)
    if not isinstance(dims, tuple) or dims == tuple(f"dim_{number}" for number in range(len(dims))):
        return None
    names = short_names(dims)
    if not set(names) <= set(AXIS_ORDER):
        raise UsageError(
            f"expected dimensions named {', '.join(AXIS_ORDER)}; found {', '.join(map(str, dims))}",
            hint=_hint_at_axes(len(names), ()),
        )
    return names


def short_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return names of axes as OME-Zarr has them: ``C`` and ``channel`` become ``c``."""
    small = [str(name).lower() for name in names]
    return tuple(_LONG_NAMES.get(name, name) for name in small)


def axis_names(array: ArrayLike, axes: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of an array's dimensions, given as `axes` or chosen by their number."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise UsageError(
            f"expected an array with shape and dtype; got {type(array).__name__}", hint="Use numpy.asarray(...)."
        )
    check_lengths(array)
    count = len(array.shape)
    given = _USUAL.get(count, "") if axes is None else axes
    names = short_names(given if isinstance(given, Iterable) else (given,))
    is_known = set(names) <= set(AXIS_ORDER) and len(set(names)) == len(names)
    if len(names) != count or not is_known or not {"y", "x"} <= set(names):
        asked = "2 to 5 dimensions" if axes is None else "one of t, c, z, y, x for each dimension, including y and x"
        found = f"{count} dimension{'' if count == 1 else 's'}"
        raise UsageError(
            f"expected {asked}; got {found}" + ("" if axes is None else f" and the axes {axes!r}"),
            hint=_hint_at_axes(count, names),
        )
    return names


def check_lengths(array: ArrayLike) -> None:
    """Raise an error if a length of the array is unknown, as in some results of dask."""
    shape = tuple(array.shape)
    if not all(isinstance(length, Integral) for length in shape):
        raise UsageError(
            f"expected an array of known shape; found ({', '.join(map(str, shape))})",
            hint="Call array.compute_chunk_sizes() before, if it is a dask array.",
        )


def image_title(name: str | None, target: str) -> str:
    """Return the name of the image in the file `target`: `name`, or the name of the file without its ending.

    Examples
    --------
    >>> image_title(None, "data/cells.ome.ozx")
    'cells'
    """
    if name is None:
        return os.path.basename(target).removesuffix(".ozx").removesuffix(".ome")
    return check_text(name, "the name of the image")


def _hint_at_axes(count: int, names: Sequence[str]) -> str:
    if count > len(AXIS_ORDER):
        return "An image has at most the axes t, c, z, y, x. Write an image for each index of the other dimensions."
    if count not in _EXAMPLES:
        return 'An image has at least the axes y and x. Write a single row as array[None, :] with axes="yx".'
    small = "".join(name.lower() for name in names)
    example = small if sorted(small) == sorted(_EXAMPLES[count]) else _EXAMPLES[count]
    return f'Name the {count} dimensions, as in axes="{example}".'


def _transposed(array: ArrayLike, order: list[int], names: tuple[str, ...]) -> ArrayLike:
    if order == sorted(order):
        return array
    transpose = getattr(array, "transpose", None)
    if transpose is None:
        wanted = "".join(names[number] for number in order)
        raise UsageError(
            f"expected dimensions in the order {wanted}; got {''.join(names)}, and an array that cannot be transposed",
            hint="Give a dask array, such as dask.array.from_zarr returns: it can be transposed.",
        )
    dims = getattr(array, "dims", None)
    # Arrays of xarray are transposed by the names of their dimensions.
    turned: ArrayLike = transpose(*(dims[number] for number in order)) if isinstance(dims, tuple) else transpose(order)
    return turned


def sizes_by_axis(value: PixelSizes | None, names: tuple[str, ...]) -> tuple[dict[str, float], dict[str, str]]:
    """Return pixel sizes and the units in them by axis; `value` is as for `ozx.edit`, or one for each name."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        if len(value) != len(names):
            raise UsageError(
                f"expected a pixel size for each of the axes {', '.join(names)}; got {len(value)}",
                hint='Give the sizes by axis name, as in axes="cyx", pixel_size={"y": 0.65, "x": 0.65}.',
            )
        value = dict(zip(names, value, strict=True))
    everywhere, sizes, own = split_sizes(value)
    space = [axis for axis in names if AXIS_TYPES[axis] == "space"]
    sizes = sizes if everywhere is None else dict.fromkeys(space, everywhere)
    _check_names(sizes, names)
    return sizes, dict.fromkeys(space, own) if isinstance(own, str) else dict(own or {})


def units_by_axis(unit: str | Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """Return the given units by the name of their axis; a single unit is that of all axes of space."""
    if unit is None:
        return {}
    given = parse_units(unit) if isinstance(unit, str) else unit
    given = {axis: given for axis in names if AXIS_TYPES[axis] == "space"} if isinstance(given, str) else given
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise UsageError(
            f"expected a unit, or units by axis; got {unit!r:.200}",
            hint='Write unit="micrometer", or unit={"y": "micrometer", "x": "micrometer", "t": "second"}.',
        )
    _check_names(given, names)
    return dict(given)


def _checked_units(given: Mapping[str, str]) -> dict[str, str]:
    units = {axis: check_unit(text) for axis, text in given.items()}
    for axis, name in units.items():
        if axis_type_of(name) != AXIS_TYPES[axis]:
            raise UsageError(f"expected a unit of {AXIS_TYPES[axis]} for the axis {axis}; got {given[axis]!r}")
    return units


def _check_names(given: Mapping[str, object], names: tuple[str, ...]) -> None:
    for axis in given:
        if axis not in names:
            raise UsageError(f"expected axes of the array, {', '.join(names)}; got {axis!r}")


def given_channels(
    channels: Sequence[ChannelLike],
    described: DescribedArray,
    axes: str | Sequence[str] | None = None,
    *,
    are_all: bool = False,
) -> tuple[ShownChannel, ...]:
    """Parse the channels that are given for an array; each channel is a name or a mapping.

    With `are_all`, their number must be that of the array; otherwise, it may be smaller. If no channel is given, 8-bit
    pixels whose last axis is ``c`` with a length of 3 or 4 are red, green, blue and alpha.
    """
    if isinstance(channels, str):
        raise UsageError(
            f"expected a list of channels; got the text {channels!r}", hint='Write channel_names=["DAPI"].'
        )
    image = NewImage("", *described)
    count = image.channel_count
    if not channels and _is_rgb(image, axes):
        return describe_samples(count, 255.0)
    if isinstance(channels, Mapping) or not hasattr(channels, "__len__"):
        raise UsageError(f"expected a list of channels; got {channels!r:.200}", hint='Write channel_names=["DAPI"].')
    if len(channels) > count or (channels and are_all and len(channels) < count):
        most = "" if are_all else "at most "
        raise UsageError(
            f"expected {most}{count} channel{'' if count == 1 else 's'}, as many as the array has; got {len(channels)}",
            hint=_hint_at_channels(image, axes),
        )
    return tuple(map(_channel, channels))


def _hint_at_channels(image: NewImage, axes: str | Sequence[str] | None) -> str | None:
    names = [str(axis.name) for axis in image.axes]
    if axes is None and len(names) > len("yx"):
        return f'Without axes=, the dimensions are {", ".join(names)}; name them, as in axes="{_NAMED[len(names)]}".'
    return 'Name the axis of the channels, as in axes="cyx".' if image.channel_axis is None else None


def _is_rgb(image: NewImage, axes: str | Sequence[str] | None) -> bool:
    """Return whether the last axis of the array is red, green, blue and perhaps alpha, with 8 bits each."""
    is_last = axes is not None and short_names(axes)[-1:] == ("c",)
    return is_last and image.sources[0].dtype == "uint8" and image.channel_count in (3, 4)


def _channel(channel: ChannelLike) -> ShownChannel:
    new = channel if isinstance(channel, ShownChannel) else _new_channel(channel)
    return new if new.color is None else replace(new, color=parse_color(new.color))


def _new_channel(channel: str | Mapping[str, Any]) -> ShownChannel:
    try:
        known: dict[str, Any] = {"label": channel} if isinstance(channel, str) else dict(channel)
        if known.get("window") is not None:
            start, end = map(float, known["window"])
            known["window"] = Window(start, end, None, None)
        new = ShownChannel(**known)
    except (TypeError, ValueError):
        raise UsageError(
            f"{channel!r:.200} does not describe a channel: expected a name, or the fields label, color, active, "
            "window (start, end) and emission"
        ) from None
    if new.label is not None:
        check_text(new.label, "the label of a channel")
    if not isinstance(new.emission, Real | None):
        raise UsageError(f"expected a number of nanometers as the emission of a channel; got {new.emission!r}")
    # NaN is refused too, because every comparison with it is False.
    if new.window is not None and not -math.inf < new.window.start <= new.window.end < math.inf:
        raise UsageError(
            "expected finite numbers (start, end), start not above end, as the window of a channel; "
            f"got {(new.window.start, new.window.end)}"
        )
    return new


# Steps may differ by this part of a step, as in coordinates of single precision.
_UNEVEN = 1e-3
_DIGITS = {"f2": 3, "f4": 6}
_NO_UNITS = ("", "1", "dimensionless", "pixel", "pixels", "px")
#: Attributes that say nothing else: those that are taken, and the roles of CF conventions.
_TAKEN = {"units", "unit", "long_name", "standard_name", "axis"}


def read_coordinates(array: Any, axes: Sequence[str] | None) -> ImageDescription:
    """Return the metadata of an array whose dimensions are `axes`; without names of dimensions, there are none."""
    dims, coords = getattr(array, "dims", None), getattr(array, "coords", None)
    if not isinstance(dims, tuple) or not isinstance(coords, Mapping) or axes is None or len(axes) != len(dims):
        return ImageDescription()
    attrs, notes = dict(getattr(array, "attrs", {})), list[str]()
    # CF conventions, "Long Name": the name for people. `xarray.open_dataset` calls each image "image".
    name = attrs.get("long_name") or getattr(array, "name", None)
    sizes: dict[str, PixelSize] = {}
    origin: dict[str, PixelSize] = {}
    channels: tuple[ShownChannel, ...] = ()
    for dim, axis in zip(dims, axes, strict=True):
        if dim not in coords:
            continue
        values, found = np.asarray(coords[dim]), dict(getattr(coords[dim], "attrs", {}))
        _note_attributes(found, axis, notes)
        if AXIS_TYPES[axis] != "channel":
            unit = str(found.get("units", found.get("unit", ""))).strip()
            sizes[axis], origin[axis] = _read_positions(values, unit, axis, notes)
        elif values.dtype.kind not in "iu" or not np.array_equal(values, np.arange(len(values))):
            channels = tuple(ShownChannel(str(value)) for value in values)
    others = [str(name) for name in coords if name not in dims]
    if others:
        notes.append(f"the coordinates {', '.join(others)} are left out: they are not those of a dimension")
    _note_attributes(attrs, "the array", notes)
    known = name if isinstance(name, str) and name else None
    return ImageDescription(known, sizes, channels, tuple(notes), origin=origin)


def _read_positions(values: NDArray[Any], unit: str, axis: str, notes: list[str]) -> tuple[PixelSize, PixelSize]:
    """Return the distance of pixels along an axis, and the position of the first; 1 and 0 if they are not known."""
    known = None
    if values.dtype.kind in "mM":
        if values.dtype.kind == "M":
            notes.append(f"the date of the first pixel along {axis}, {values[0]}, is left out")
            values = values - values[0]
        values, unit = values / np.timedelta64(1, "s"), "second"
    if unit.lower() not in _NO_UNITS:
        with suppress(UsageError):
            known = check_unit(unit)
        if known is None or axis_type_of(known) != AXIS_TYPES[axis]:
            known = None
            notes.append(f"the unit {unit!r} of {axis} is left out: it is no unit of {AXIS_TYPES[axis]}")
    step = _step(values)
    if step is None:
        notes.append(f"the coordinates of {axis} are left out: they are not numbers that rise by equal steps")
        return PixelSize(1.0, known), PixelSize(0.0, known)
    if len(values) == 1:
        notes.append(
            f"a single position along {axis} tells no pixel size: 1 is used; pixel_size={{{axis!r}: …}} sets it"
        )
    digits = _DIGITS.get(values.dtype.str[1:], 12)
    rounded = (PixelSize(float(f"{value:.{digits}g}"), known) for value in (step, float(values[0])))
    return next(rounded), next(rounded)


def _step(values: NDArray[Any]) -> float | None:
    """Return the distance between neighbouring values, 1 for a single one, or None if they do not rise evenly."""
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        return None
    exact = values.astype(float)
    if len(exact) < 2:
        return 1.0
    step = float(exact[-1] - exact[0]) / (len(exact) - 1)
    is_even = step > 0 and np.abs(exact - (exact[0] + step * np.arange(len(exact)))).max() <= step * _UNEVEN
    return step if is_even else None


def _note_attributes(attrs: Mapping[Any, Any], where: str, notes: list[str]) -> None:
    others = [str(name) for name in attrs if name not in _TAKEN]
    if others:
        notes.append(f"attributes of {where} are left out: {', '.join(others)}")
