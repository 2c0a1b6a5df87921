"""A requested region of an image: intervals of full-resolution pixels along some of its axes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ozx.errors import UsageError

#: Input of `parse_region`: text, or by axis a range ``(start, stop)``, a slice or a single index.
RegionLike = str | Mapping[str, "tuple[int | None, int | None] | slice | int"]

_RANGE = re.compile(r"\s*([^=\s]+)\s*=\s*(-?[0-9]{1,18})?\s*(:)?\s*(-?[0-9]{1,18})?\s*")
_HINT = "Write y=0:2048,x=0:2048; t=3 is one index, and z=:10 begins at 0."


@dataclass(frozen=True, slots=True)
class AxisRange:
    """An interval like a Python slice: either bound may be None, and negative numbers count from the end."""

    start: int | None
    stop: int | None

    def resolve(self, axis: str, length: int, where: str) -> tuple[int, int]:
        """Return start and stop of the interval in pixels.

        Nothing is clipped, unlike in a Python slice: a request for pixels beyond the image is a mistake.
        """
        start = 0 if self.start is None else self.start + (length if self.start < 0 else 0)
        stop = length if self.stop is None else self.stop + (length if self.stop < 0 else 0)
        if not (0 <= start <= length and 0 <= stop <= length):
            raise UsageError(
                f"{where}: expected a region within {axis}=0:{length}; got {axis}={self}",
                hint=f"To extract everything up to the end, omit the number after the colon, as in {axis}=0:.",
            )
        if start >= stop:
            raise UsageError(f"{where}: expected a region of at least one pixel; {axis}={self} of {length} is empty")
        return start, stop

    def __str__(self) -> str:
        return f"{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}"


#: By axis name.
Region = Mapping[str, AxisRange]


def parse_region(value: RegionLike | None) -> dict[str, AxisRange]:
    """Parse a region from text or a mapping; None means the whole image."""
    if value is None:
        return {}
    if isinstance(value, str):
        return _parse_text(value)
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a region as text or as a mapping of axes; got {value!r}", hint=_HINT)
    region = {}
    for axis, bounds in value.items():
        if not isinstance(axis, str) or not axis:
            raise UsageError(f"expected the name of an axis, such as x; got {axis!r}", hint=_HINT)
        region[axis] = _parse_bounds(axis, bounds)
    return region


def _parse_text(text: str) -> dict[str, AxisRange]:
    region: dict[str, AxisRange] = {}
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None or (match[3] is None and match[2] is None):
            raise UsageError(
                f"expected a range of an axis, such as y=0:512; got {item.strip()!r} in {text!r}", hint=_HINT
            )
        axis, start, colon, stop = match.groups()
        if axis in region:
            raise UsageError(f"axis {axis} is given twice in {text!r}")
        if colon is None and stop is not None:  # two numbers with a blank between them
            raise UsageError(f"expected a colon between two numbers; got {item.strip()!r}", hint=_HINT)
        first = None if start is None else int(start)
        last = None if stop is None else int(stop)
        region[axis] = AxisRange(first, last) if colon else _one(int(start))
    return region


def _parse_bounds(axis: str, bounds: object) -> AxisRange:
    if type(bounds) is int:
        return _one(bounds)
    if isinstance(bounds, slice):
        if bounds.step not in (None, 1):
            raise UsageError(f"axis {axis}: expected a range without a step; got the step {bounds.step!r}")
        bounds = (bounds.start, bounds.stop)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise UsageError(f"axis {axis}: expected a range (start, stop); got {bounds!r}", hint=_HINT)
    if not all(end is None or type(end) is int for end in bounds):
        raise UsageError(f"axis {axis}: expected integers or None in a range; got {bounds!r}", hint=_HINT)
    return AxisRange(*bounds)


def _one(index: int) -> AxisRange:
    return AxisRange(index, None if index == -1 else index + 1)
