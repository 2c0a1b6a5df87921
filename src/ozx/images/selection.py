"""The part of an image that a reader asks for: a resolution level, and the pixels along each axis."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import ResourceError, UsageError
from ozx.ome.model import Axis, unknown_axis
from ozx.ome.subset.region import (
    ChannelsLike,
    IndexRange,
    UnitRange,
    centred_range,
    find_channels,
    parse_bounds,
    parse_channels,
    parse_region,
)
from ozx.ome.units import check_unit, unit_factor
from ozx.store.level import Level, factor_between

#: A range (start, stop) along an axis, or one position; None is an end of the image.
Bounds = tuple[float | None, float | None] | slice | int

# Sizes of pixels are rounded decimals.
_TOLERANCE = 1 + 1e-6
_BLOCK = 1 << 24  # bytes


def choose_level(
    levels: Sequence[Level], axes: Sequence[Axis], level: int | None, pixel_size: float | None, unit: str | None
) -> int:
    """Return the number of a level; by `pixel_size`, the coarsest with pixels that are at most so large in y and x."""
    if level is not None and pixel_size is not None:
        raise UsageError("expected a level or a pixel size; got both", hint="Leave out level= or pixel_size=.")
    if pixel_size is not None and not (isinstance(pixel_size, int | float) and pixel_size > 0):
        raise UsageError(f"expected a pixel size above 0, one number; got {pixel_size!r:.100}")
    if pixel_size is None:
        number = _whole("level", 0 if level is None else level)
        if not -len(levels) <= number < len(levels):
            raise UsageError(
                f"expected a level from 0 to {len(levels) - 1}; got {level}",
                hint="Level 0 is the finest level, -1 the coarsest.",
            )
        return number % len(levels)
    plane = [number for number, axis in enumerate(axes) if (axis.name or "").lower() in ("y", "x")]
    found = 0
    for number, item in enumerate(levels):
        sizes = [_scale(item, axes, axis, unit or "micrometer") for axis in plane]
        if max(sizes, default=0) <= pixel_size * _TOLERANCE:
            found = number
    return found


def read_part(
    level: Level, key: list[slice | int], axis: int | None, chosen: Sequence[int] | int | None
) -> NDArray[Any]:
    """Return the pixels of a level at `key`, of the chosen channels along `axis`; a number drops its axis."""
    if axis is None or chosen is None:
        return level[tuple(key)]
    if isinstance(chosen, int):
        key[axis] = chosen
        return level[tuple(key)]
    if list(chosen) == list(range(chosen[0], chosen[0] + len(chosen))):  # one request
        key[axis] = slice(chosen[0], chosen[-1] + 1)
        return level[tuple(key)]
    kept = [at for at, part in enumerate(key) if isinstance(part, slice)]
    lengths = [len(chosen) if at == axis else len(range(*_bounds(key[at], level.shape[at]))) for at in kept]
    try:
        pixels = np.empty(lengths, level.dtype)
    except MemoryError:
        raise ResourceError(
            "not enough memory for this part", hint="Read a smaller part, or a coarser level."
        ) from None
    for number, channel in enumerate(chosen):
        key[axis] = channel
        _fill(pixels[tuple(number if at == axis else slice(None) for at in kept)], level, key)
    return pixels


def _fill(pixels: NDArray[Any], level: Level, key: list[slice | int]) -> None:
    """Read a part of a level into `pixels`, some whole chunks at a time: a copy of all would double the memory."""
    at = next((at for at, part in enumerate(key) if isinstance(part, slice)), None)
    if at is None:
        pixels[...] = level[tuple(key)]
        return
    start, stop, _ = _bounds(key[at], level.shape[at])
    chunk = max(1, level.chunks[at])
    step = max(1, _BLOCK // max(1, chunk * pixels.nbytes // max(1, stop - start))) * chunk
    for first in range(start - start % chunk, stop, step):
        begin, end = max(start, first), min(stop, first + step)
        pixels[begin - start : end - start] = level[(*key[:at], slice(begin, end), *key[at + 1 :])]


def _bounds(part: slice | int, length: int) -> tuple[int, int, int]:
    return part.indices(length) if isinstance(part, slice) else (part, part + 1, 1)


def choose_channels(
    channels: ChannelsLike | None, labels: Sequence[str | None], count: int, where: str
) -> Sequence[int] | int | None:
    """Return the numbers of the channels with these names or numbers, in the given order; None for all."""
    if channels is None:
        return None
    # A name may contain a comma, so that text is one name here.
    # An array, too, has the method of whole numbers.
    is_one = isinstance(channels, str) or (hasattr(channels, "__index__") and not getattr(channels, "ndim", 0))
    wanted = parse_channels([channels] if is_one else channels)  # type: ignore[list-item]
    found = [find_channels([channel], labels, count, where)[0] for channel in wanted]
    return found[0] if is_one else found


def split_region(
    region: Mapping[str, Bounds] | str | None, unit: str | None, planes: Mapping[str, Bounds | None]
) -> tuple[dict[str, Bounds], dict[str, Bounds | UnitRange]]:
    """Return the ranges in pixels, with those of `planes`, and the ranges in units."""
    measured: dict[str, Bounds | UnitRange] = {}
    if isinstance(region, str):
        parsed = parse_region(region)
        measured = {axis: bounds for axis, bounds in parsed.items() if isinstance(bounds, UnitRange)}
        region = {axis: _as_bounds(bounds) for axis, bounds in parsed.items() if isinstance(bounds, IndexRange)}
    if region is not None and not isinstance(region, Mapping):
        raise UsageError(f"expected a region by axis; got {region!r}", hint='Write region={"x": (0, 100)}.')
    given = dict(region or {})
    in_pixels = {axis: bounds for axis, bounds in planes.items() if bounds is not None}
    for axis, bounds in in_pixels.items():
        if isinstance(bounds, list):  # of channels, a list has one after the other
            raise UsageError(f"{axis}: expected a number or a range (start, stop); got the list {bounds!r:.100}")
    for axis in in_pixels.keys() & (given.keys() | measured.keys()):
        raise UsageError(f"axis {axis} is given twice: as {axis}= and in the region")
    return (in_pixels, {**given, **measured}) if unit is not None else ({**given, **in_pixels}, measured)


def _as_bounds(bounds: IndexRange) -> Bounds:
    return bounds.start if bounds.is_one and bounds.start is not None else (bounds.start, bounds.stop)


def make_key(
    levels: Sequence[Level],
    axes: Sequence[Axis],
    number: int,
    regions: tuple[Mapping[str, Bounds], Mapping[str, Bounds | UnitRange]],
    unit: str | None,
    where: str,
) -> list[slice | int]:
    """Return what to read along each axis of level `number`, for the regions in pixels of level 0 and in units."""
    names = [axis.name for axis in axes]
    key: list[slice | int] = [slice(None)] * len(axes)
    in_pixels, in_units = regions
    for name in (*in_pixels, *in_units):
        if name not in names:
            raise unknown_axis(str(name), [known for known in names if known is not None])
    for name, bounds in in_pixels.items():
        at, plain = names.index(name), _plain(name, bounds)
        full, length = levels[0].shape[at], levels[number].shape[at]
        start, stop = parse_bounds(name, plain).resolve(name, full, where)
        # Of a coarser level, every pixel that covers a part of the region.
        factor = factor_between(levels[0], levels[number], at)
        first, last = min(int(start // factor), length - 1), min(int(-(-stop // factor)), length)
        key[at] = first if isinstance(plain, int) else slice(first, max(first + 1, last))
    for name, measured in in_units.items():
        at = names.index(name)
        key[at] = _range_in_units(levels[number], axes, at, measured, unit or "", where)
    return key


def _range_in_units(level: Level, axes: Sequence[Axis], at: int, bounds: object, unit: str, where: str) -> slice:
    if isinstance(bounds, UnitRange):
        unit, bounds = bounds.unit, (bounds.start, bounds.stop)
    if isinstance(bounds, slice) and bounds.step in (None, 1):
        bounds = (bounds.start, bounds.stop)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise UsageError(
            f"axis {axes[at].name}: expected a range (start, stop) in {unit}; got {bounds!r}",
            hint="Give one plane by its number, as z= or t=.",
        )
    try:
        start, stop = (None if end is None else float(end) for end in bounds)
    except (TypeError, ValueError):
        raise UsageError(f"axis {axes[at].name}: expected numbers in a range; got {bounds!r}") from None
    scale = _scale(level, axes, at, unit)
    shift = 0.0 if level.translation is None else level.translation[at] * _factor(axes[at], unit)
    name = axes[at].name or ""
    return slice(*centred_range((start, stop), level.shape[at], scale, shift, axis=name, unit=unit, where=where))


def _scale(level: Level, axes: Sequence[Axis], at: int, unit: str) -> float:
    """Return the pixel size of a level along an axis, in `unit`."""
    if level.scale is None:
        raise UsageError(f"{level.path}: its metadata has no pixel size", hint="Give the region in pixels, or level=.")
    return level.scale[at] * _factor(axes[at], unit)


def _factor(axis: Axis, unit: str) -> float:
    if axis.unit is None:
        raise UsageError(
            f"axis {axis.name} has no unit", hint="Give the region in pixels, or write the unit with ozx edit --unit."
        )
    return unit_factor(check_unit(axis.unit), unit)


def _plain(axis: str, bounds: Any) -> Any:
    """Return bounds with numbers of NumPy as those of Python."""
    if isinstance(bounds, slice):
        return slice(*(None if end is None else _whole(axis, end) for end in (bounds.start, bounds.stop, bounds.step)))
    if isinstance(bounds, tuple | list):
        return tuple(None if end is None else _whole(axis, end) for end in bounds)
    return _whole(axis, bounds)


def _whole(what: str, number: Any) -> int:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        hint = None if what == "level" else 'Ranges may have fractions with a unit, as unit="micrometer".'
        raise UsageError(f"{what}: expected a whole number; got {number!r}", hint=hint)
    return operator.index(number)
