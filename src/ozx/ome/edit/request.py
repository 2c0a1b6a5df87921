"""A requested edit of images, as text or values, checked and normalised before any document is read."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ozx.errors import UsageError
from ozx.ome.colors import parse_color
from ozx.ome.model import Axis, axis_kind, unknown_axis
from ozx.ome.subset.region import split_names
from ozx.ome.units import axis_type_of, check_unit
from ozx.quoting import quote
from ozx.zarr.json_reading import check_text

# Pixel sizes and units as text: one value, or one per axis, as in ``y=0.65um,x=0.65um``.

# A number, then perhaps a unit. "nan" and the like match too: a later check has an error of its own for them.
_SIZE = re.compile(r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|nan|inf(?:inity)?)\s*[^0-9,]*")


def parse_sizes(text: str) -> str | dict[str, str]:
    """Return pixel sizes: one for all axes of space, or one per axis.

    A size may have a unit.
    """
    sizes = _pairs(text, "pixel size", "0.65, 0.65um or y=0.65,x=0.65") if "=" in text else {"": text.strip()}
    for axis, value in sizes.items():
        if _SIZE.fullmatch(value) is None:
            where = f" for axis {axis}" if axis else ""
            raise UsageError(
                f"pixel size: expected a number{where}, perhaps with a unit; got {value!r}",
                hint="Write 0.65, 0.65um or y=0.65,x=0.65, with a decimal point.",
            )
    return sizes.get("", sizes)


def parse_units(text: str) -> str | dict[str, str]:
    """Return units: one unit, or a unit per axis."""
    return _pairs(text, "unit", "x=micrometer,t=second") if "=" in text else text.strip()


def _pairs(text: str, what: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        axis, equals, value = (piece.strip() for piece in part.partition("="))
        if not axis or not equals or not value:
            raise UsageError(f"{what}: expected axes with values, as in {example}; got {text!r}")
        if axis in pairs:
            raise UsageError(f"{what}: axis {axis} is given twice in {text!r}")
        pairs[axis] = value
    return pairs


#: A size with or without unit, for all axes of space; or sizes by axis, as a mapping or as ``"y=0.65um,x=0.65um"``.
PixelSize = float | str | Mapping[str, float | str]
#: Positions by axis, as a mapping or as ``"y=20um,x=10um"``.
Translation = str | Mapping[str, float | str]
#: The values shown as black and in full colour, by name or number of a channel, or as ``"DAPI=100:4000"``.
Contrast = str | Mapping[str | int, tuple[float, float]]

_SIZE_WITH_UNIT = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9.].*)")


@dataclass(frozen=True, slots=True)
class EditRequest:
    """The changes that an edit requests; an attribute without a value requests no change."""

    # The pixel size of the full resolution by axis, in the axis' unit.
    pixel_size: Mapping[str, float]
    # One unit for all axes that it fits (see `units_for`), or units by axis.
    unit: str | Mapping[str, str] | None
    # One value per channel; None keeps the present value. Colours are six capital hexadecimal digits.
    channel_names: tuple[str | None, ...] | None
    colors: tuple[str | None, ...] | None
    name: str | None
    # The pixel size along each axis of space that `pixel_size` lacks.
    space_size: float | None = None
    # Whether `space_size` is for y and x alone: the distance between planes is seldom the size of a pixel.
    keeps_z: bool = False
    # The unit of `space_size` if `unit` contains only units of other axes.
    space_unit: str | None = None
    # The pixel values shown as black and in full colour, by name or number of the channel.
    contrast: Mapping[str | int, tuple[float, float]] = field(default_factory=dict)
    # One per channel: whether it is visible at first.
    active: tuple[bool | None, ...] | None = None
    # The position of the first pixel of the full resolution by axis, with its unit; without one, in that of the axis.
    translation: Mapping[str, tuple[float, str | None]] = field(default_factory=dict)
    # Whether the root no longer says that the file was recovered.
    forget_recovered: bool = False

    @property
    def has_channels(self) -> bool:
        """Whether names, colours, windows or the visibility of channels are requested."""
        lists = (self.channel_names, self.colors, self.active)
        return bool(self.contrast) or any(values is not None for values in lists)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axes with a requested pixel size, unit or position, in the order of the request."""
        units = self.unit if isinstance(self.unit, Mapping) else {}
        return tuple(dict.fromkeys([*self.pixel_size, *units, *self.translation]))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is requested."""
        placed = self.pixel_size or self.space_size or self.unit or self.space_unit or self.translation
        return not (placed or self.has_channels or self.name is not None or self.forget_recovered)

    def limited_to(self, axes: Sequence[Axis]) -> EditRequest:
        """Return the same request for `axes` alone, with pixel sizes and units as mappings by axis name."""
        names = {axis.name for axis in axes}
        sizes = {axis: size for axis, size in self.pixel_size.items() if axis in names}
        if self.space_size is not None:
            sizes = dict.fromkeys(self._sized(axes), self.space_size) | sizes
        units = replace(self, pixel_size=sizes).units_for(axes) if self.space_size is not None else self.units_for(axes)
        moved = {axis: place for axis, place in self.translation.items() if axis in names}
        # By axis: a single unit would go to other axes once some pixel sizes are removed.
        return replace(self, pixel_size=sizes, unit=units or None, space_size=None, space_unit=None, translation=moved)

    def kept_z(self, axes: Sequence[Axis]) -> str | None:
        """Return the axis of space that a size for all axes leaves as it is; None if there is none."""
        names = _of_space(axes) if self.keeps_z else []
        return next((name for name in names if name.lower() == "z" and len(names) > 1), None)

    def _sized(self, axes: Sequence[Axis]) -> list[str]:
        """Return the axes that get `space_size`."""
        return [name for name in _of_space(axes) if name != self.kept_z(axes)]

    def units_for(self, axes: Sequence[Axis]) -> dict[str, str]:
        """Return the requested unit of each of an image's axes, by axis name.

        A single unit goes to axes of its own type, space or time: to those with a requested pixel size, or to all of
        that type if no pixel size is requested. The result may be empty.
        """
        types = _types(axes)
        if isinstance(self.unit, str):
            kind = axis_type_of(self.unit)
            chosen = [name for name in types if name in self.pixel_size] if self.pixel_size else list(types)
            return {name: self.unit for name in chosen if types[name] in (kind, None)}
        of_space = {} if self.space_unit is None else dict.fromkeys(self._sized(axes), self.space_unit)
        return of_space | {name: unit for name, unit in (self.unit or {}).items() if name in types}

    def check_axes(self, images: Iterable[Sequence[Axis]]) -> None:
        """Check that each requested axis exists in at least one image and has a suitable type."""
        found: dict[str, str | None] = {}
        for axes in images:
            found |= {name: kind for name, kind in _types(axes).items() if name not in found}
        units = self.unit if isinstance(self.unit, Mapping) else {}
        for name in self.axis_names:
            if name not in found:
                raise unknown_axis(name, found)
            if found[name] == "channel":
                raise UsageError(f"axis {name} is the channel axis, which has no pixel size, unit or position")
        for name, unit in units.items():
            if found[name] not in (axis_type_of(unit), None):
                raise UsageError(f"axis {name} is of type {found[name]}; {unit} is a unit of {axis_type_of(unit)}")
        if isinstance(self.unit, str):
            kind = axis_type_of(self.unit)
            chosen = [name for name in found if name in self.pixel_size or not self.pixel_size]
            if not any(found[name] in (kind, None) for name in chosen):
                listed = ", ".join(f"{name} of type {found[name]}" for name in chosen) or "none"
                raise UsageError(
                    f"expected axes of {kind} for the unit {self.unit}; found {listed}",
                    hint="Name axis and unit, as in x=micrometer,t=second.",
                )


def parse_edits(
    *,
    pixel_size: PixelSize | None = None,
    unit: str | Mapping[str, str] | None = None,
    channel_names: Sequence[str | None] | None = None,
    colors: Sequence[str | None] | None = None,
    name: str | None = None,
    contrast: Contrast | None = None,
    translation: Translation | None = None,
    time_interval: float | str | None = None,
    forget_recovered: bool = False,
) -> EditRequest:
    """Check and normalise a requested edit."""
    everywhere, sizes, own = split_sizes(pixel_size)
    units, space_unit = _join_units(own, _parse_units(unit), sizes)
    if time_interval is not None:
        units, space_unit = _add_interval(time_interval, sizes, units, space_unit)
    edits = EditRequest(
        pixel_size=sizes,
        unit=units,
        channel_names=_per_channel(channel_names, "channel_names"),
        colors=_parse_colors(colors),
        name=name,
        space_size=everywhere,
        space_unit=space_unit,
        contrast=_parse_contrast(contrast),
        translation=_parse_translation(translation),
        forget_recovered=forget_recovered,
    )
    if name is not None and not check_text(name, "the name of the image").strip():
        raise UsageError("expected a name; got an empty string")
    if edits.is_empty:
        raise UsageError(
            "expected at least one requested change; found none",
            hint="Give a pixel size, a time interval, a translation, a unit, channel names, colors, contrast, a name.",
        )
    return edits


def unit_note(axes: Sequence[str], path: str) -> str:
    """Return a note on a missing unit of pixel sizes, with the command that sets a unit in the file at `path`.

    Examples
    --------
    >>> unit_note(["y", "x"], "cells.ozx")
    'the pixel size along y, x has no unit; to set it: ozx edit cells.ozx --unit y=micrometer,x=micrometer'
    """
    command = f"ozx edit {quote(path)} --unit {quote(','.join(f'{axis}=micrometer' for axis in axes))}"
    return f"the pixel size along {', '.join(axes)} has no unit; to set it: {command}"


def split_sizes(
    value: PixelSize | None,
) -> tuple[float | None, dict[str, float], str | dict[str, str] | None]:
    """Return one pixel size for all axes of space or the pixel sizes by axis, and the units that `value` contains.

    The first result is None if the sizes are given by axis; else the second result is empty.
    """
    if value is None:
        return None, {}, None
    if isinstance(value, str):
        value = parse_sizes(value)
    if not isinstance(value, Mapping):
        size, unit = _parse_size("of space", value)
        if unit is not None and axis_type_of(unit) != "space":
            raise UsageError(f"expected a pixel size with a unit of space; got {value!r}")
        return size, {}, unit
    parsed = {_axis_name(axis): _parse_size(axis, size) for axis, size in value.items()}
    units = {axis: unit for axis, (_, unit) in parsed.items() if unit is not None}
    return None, {axis: size for axis, (size, _) in parsed.items()}, units or None


def _parse_units(value: str | Mapping[str, str] | None) -> str | dict[str, str] | None:
    if isinstance(value, str):
        value = parse_units(value)
    if isinstance(value, str):
        return check_unit(value)
    return {_axis_name(axis): check_unit(word) for axis, word in _mapping(value, "unit").items()} or None


def _join_units(
    own: str | dict[str, str] | None, units: str | dict[str, str] | None, sizes: Collection[str]
) -> tuple[str | dict[str, str] | None, str | None]:
    """Combine the units that were given with the pixel sizes (`own`) and the units that were given separately.

    Return the units to set. The second result is None, unless `own` is one unit for all axes of space and `units` are
    for other axes only: then it is `own`. `sizes` are the axes with pixel sizes.
    """
    if own is None or units is None:
        return (units if own is None else own), None
    if isinstance(units, str) and isinstance(own, dict) and (others := set(sizes) - own.keys()):
        units = dict.fromkeys(sorted(others), units)
    if isinstance(units, dict):
        if isinstance(own, dict) and not own.keys() & units.keys():
            return own | units, None
        if isinstance(own, str) and all(axis_type_of(unit) != "space" for unit in units.values()):
            return units, own
    raise UsageError(
        "the unit is given twice: with the pixel size and separately",
        hint="Give each unit once, as in t=30s,y=0.65um,x=0.65um.",
    )


def _add_interval(
    interval: float | str,
    sizes: dict[str, float],
    units: str | dict[str, str] | None,
    space_unit: str | None,
) -> tuple[str | dict[str, str] | None, str | None]:
    """Add the time interval to the pixel sizes, in place; return the units to set, and the unit of all axes of space.

    A single unit of space, which would go to the axes with a pixel size, now goes to those that had one before.
    """
    size, unit = _parse_size("t", interval)
    if unit is not None and axis_type_of(unit) != "time":
        raise UsageError(f"expected a time interval with a unit of time, as in 20s; got {interval!r}")
    if isinstance(units, str):
        if axis_type_of(units) == "time":
            units = {"t": units}
        elif sizes:
            units = dict.fromkeys(sizes, units)
        else:
            units, space_unit = None, units
    if "t" in sizes or (unit is not None and units is not None and "t" in units):
        raise UsageError("the time interval or its unit is given twice", hint="Give it once.")
    sizes["t"] = size
    return (units if unit is None else {**(units or {}), "t": unit}), space_unit


def _parse_translation(value: Translation | None) -> dict[str, tuple[float, str | None]]:
    example = "y=20um,x=10um"
    parts = _pairs(value, "translation", example) if isinstance(value, str) else _mapping(value, "translation")
    found = {}
    for axis, place in parts.items():
        match = _SIZE_WITH_UNIT.fullmatch(place) if isinstance(place, str) else None
        try:
            number = float(place if match is None else match[1])
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(place, bool) or not abs(number) <= _LARGEST_SIZE:  # NaN is not either
            raise UsageError(f"translation: expected a number for axis {axis}, perhaps with a unit; got {place!r}")
        found[_axis_name(axis)] = number, None if match is None else check_unit(match[2])
    return found


def _parse_contrast(value: Contrast | None) -> dict[str | int, tuple[float, float]]:
    given: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, str):
        named = (part.rpartition("=") for part in split_names(value))
        given = [(name.strip(), tuple(ends.split(":"))) for name, _, ends in named]
    elif value is not None:
        given = value.items() if isinstance(value, Mapping) else [("", value)]
    found: dict[str | int, tuple[float, float]] = {}
    for channel, ends in given:
        try:
            low, high = map(float, () if isinstance(ends, str) else ends)
        except (TypeError, ValueError, OverflowError):
            low, high = math.nan, math.nan
        is_channel = isinstance(channel, int | str) and not isinstance(channel, bool) and channel != ""
        if not is_channel or channel in found or not -math.inf < low < high < math.inf:
            raise UsageError(
                "contrast: expected two numbers, the smaller one first, for channels by name or number, each once; "
                f"got {value!r:.200}",
                hint='Write DAPI=100:4000,GFP=0:255 or, in Python, {"DAPI": (100, 4000)}.',
            )
        found[channel] = low, high
    return found


def _parse_size(axis: str, size: float | str) -> tuple[float, str | None]:
    match = _SIZE_WITH_UNIT.fullmatch(size) if isinstance(size, str) else None
    if match is None:
        return _pixel_size(axis, size), None
    return _pixel_size(axis, match[1]), check_unit(match[2])


def _mapping(value: Mapping[str, Any] | None, option: str) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f'{option}: expected a mapping of axes, such as {{"x": …}}; got {value!r}')
    return value or {}


def _axis_name(axis: str) -> str:
    if not isinstance(axis, str) or not axis:
        raise UsageError(f"expected the name of an axis, such as x; got {axis!r}")
    return axis


# Far below the largest float: the pixel sizes of smaller levels are multiples of this size, and have to be finite.
_LARGEST_SIZE = 1e100


def _pixel_size(axis: str, size: float | str) -> float:
    try:
        number = float(size)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(size, bool) or not math.isfinite(number) or number <= 0:
        raise UsageError(f"axis {axis}: expected a pixel size greater than 0; got {size!r}")
    if not 1 / _LARGEST_SIZE <= number <= _LARGEST_SIZE:
        least, most = f"{1 / _LARGEST_SIZE:g}", f"{_LARGEST_SIZE:g}"
        raise UsageError(f"axis {axis}: expected a pixel size from {least} to {most}; got {size!r}")
    return number


def _per_channel(values: Sequence[str | None] | None, option: str) -> tuple[str | None, ...] | None:
    if values is None:
        return None
    is_list = isinstance(values, Iterable) and not isinstance(values, str)
    if not is_list or not all(value is None or isinstance(value, str) for value in values):
        raise UsageError(
            f"{option}: expected a list with one text per channel; got {values!r}",
            hint=f'Write a list, as in {option}=["A", "B"]; None keeps the present value of a channel.',
        )
    found = tuple(check_text(value, "the name of a channel") if value else None for value in values)
    if not any(found):
        raise UsageError(f"{option}: expected at least one non-empty value; got {len(found)} empty values")
    return found


def _parse_colors(values: Sequence[str | None] | None) -> tuple[str | None, ...] | None:
    colors = _per_channel(values, "colors")
    return None if colors is None else tuple(color if color is None else parse_color(color) for color in colors)


def _of_space(axes: Sequence[Axis]) -> list[str]:
    return [name for name, kind in _types(axes).items() if kind == "space"]


def _types(axes: Sequence[Axis]) -> dict[str, str | None]:
    return {axis.name: axis_kind(axis) for axis in axes if axis.name is not None}
