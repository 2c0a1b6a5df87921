"""The usual names of axes, and the error for an axis that no image has."""

from __future__ import annotations

from collections.abc import Iterable

from ozx.errors import UsageError

#: The types of the usual axes, in the order of OME-Zarr 0.5 ("axes": time, then channels, then space).
AXIS_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


def unknown_axis(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a requested axis that does not exist.

    Examples
    --------
    >>> error = unknown_axis("X", ["c", "y", "x"])
    >>> str(error), error.hint
    ("unknown axis 'X'; the axes are c, y, x", 'Axis names distinguish capitals: write x.')
    """
    names = list(dict.fromkeys(known))
    meant = next((other for other in names if other.lower() == name.lower()), None)
    found = f"the axes are {', '.join(names)}" if names else "the axes have no names"
    hint = f"Axis names distinguish capitals: write {meant}." if meant is not None else None
    return UsageError(f"unknown axis {name!r}; {found}", hint=hint)
