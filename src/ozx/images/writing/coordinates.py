"""What an array with coordinates, as those of xarray, tells about its image; xarray itself is not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError
from ozx.hierarchy.ome.model import AXIS_TYPES
from ozx.hierarchy.ome.units import axis_type_of, check_unit

# Steps may differ by this part of a step, as in coordinates of single precision.
_UNEVEN = 1e-3
_DIGITS = {"f2": 3, "f4": 6}
_NO_UNITS = ("", "1", "dimensionless", "pixel", "pixels", "px")
#: Attributes that say nothing else: those that are taken, and the roles of CF conventions.
_TAKEN = {"units", "unit", "long_name", "standard_name", "axis"}


@dataclass(slots=True)
class Coordinates:
    """Metadata of an array, by axis; a note for each part that is left out."""

    name: str | None = None
    sizes: dict[str, float] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    channel_names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def read_coordinates(array: Any, axes: Sequence[str] | None) -> Coordinates:
    """Return the metadata of an array whose dimensions are `axes`; without names of dimensions, there are none."""
    dims, coords = getattr(array, "dims", None), getattr(array, "coords", None)
    found = Coordinates()
    if not isinstance(dims, tuple) or not isinstance(coords, Mapping) or axes is None or len(axes) != len(dims):
        return found
    attrs = dict(getattr(array, "attrs", {}))
    # CF conventions, "Long Name": the name for people. `xarray.open_dataset` calls each image "image".
    name = attrs.get("long_name") or getattr(array, "name", None)
    found.name = name if isinstance(name, str) and name else None
    for dim, axis in zip(dims, axes, strict=True):
        if dim in coords:
            _read(coords[dim], axis, found)
    others = [str(name) for name in coords if name not in dims]
    if others:
        found.notes.append(f"the coordinates {', '.join(others)} are left out: they are not those of a dimension")
    _note_attributes(attrs, "the array", found)
    return found


def _read(coordinate: Any, axis: str, found: Coordinates) -> None:
    attrs = dict(getattr(coordinate, "attrs", {}))
    values = np.asarray(coordinate)
    _note_attributes(attrs, axis, found)
    if AXIS_TYPES[axis] == "channel":
        if values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values))):
            return
        found.channel_names = tuple(map(str, values))
        return
    unit = str(attrs.get("units", attrs.get("unit", ""))).strip()
    if values.dtype.kind in "mM":
        if values.dtype.kind == "M":
            found.notes.append(f"the date of the first pixel along {axis}, {values[0]}, is left out")
            values = values - values[0]
        values, unit = values / np.timedelta64(1, "s"), "second"
    if unit.lower() not in _NO_UNITS:
        with suppress(UsageError):
            if axis_type_of(known := check_unit(unit)) == AXIS_TYPES[axis]:
                found.units[axis] = known
        if axis not in found.units:
            found.notes.append(f"the unit {unit!r} of {axis} is left out: it is no unit of {AXIS_TYPES[axis]}")
    step = _step(values)
    if step is None:
        found.notes.append(f"the coordinates of {axis} are left out: they are not numbers that rise by equal steps")
        return
    digits = _DIGITS.get(values.dtype.str[1:], 12)
    found.starts[axis] = float(f"{float(values[0]):.{digits}g}")
    if len(values) > 1:
        found.sizes[axis] = float(f"{step:.{digits}g}")
    else:
        found.notes.append(
            f"a single position along {axis} tells no pixel size: 1 is used; pixel_size={{{axis!r}: …}} sets it"
        )


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


def _note_attributes(attrs: Mapping[Any, Any], where: str, found: Coordinates) -> None:
    others = [str(name) for name in attrs if name not in _TAKEN]
    if others:
        found.notes.append(f"attributes of {where} are left out: {', '.join(others)}")
