"""The requested part of each image of a hierarchy: resolution levels, a region, or channels."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ozx.errors import UsageError
from ozx.ome.model import Axis, unknown_axis
from ozx.ome.units import ALL_UNITS, check_unit, unit_factor

#: Channels by name or number.
ChannelsLike = str | int | Iterable[str | int]
#: A range ``(start, stop)`` of an axis, a slice, or a single index.
Bounds = tuple[int | None, int | None] | slice | int
#: Input of `parse_region`: text, or ranges by axis.
RegionLike = str | Mapping[str, Bounds]

_AXIS = re.compile(r"\s*([^=\s]+)\s*=(.*)", re.DOTALL)
_BOUND = r"\s*(?:(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]{1,3})?)\s*([^\W\d_]*))?\s*"
_RANGE = re.compile(rf"{_BOUND}(:)?{_BOUND}", re.IGNORECASE)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_HINT = "Write y=0:2048,x=0:2048 in pixels, or x=10:20um; t=3 is one index, and z=:10 begins at 0."


@dataclass(frozen=True, slots=True)
class IndexRange:
    """A range of pixels along an axis, or of resolution levels, of which level 0 is the full resolution.

    As in a Python slice, either bound may be None, and negative numbers count from the end.
    """

    start: int | None = None
    stop: int | None = None
    is_one: bool = field(default=False, compare=False)  # given by one number, as in ``t=3``

    def choose(self, count: int) -> list[int]:
        """Return the numbers in the range, out of `count` numbers from 0 on."""
        return list(range(*slice(self.start, self.stop).indices(count)))

    def nearest(self, count: int) -> list[int]:
        """Return the numbers in the range, or if there are none, the nearest number below `count`."""
        found = self.choose(count)
        if found:
            return found
        return [count - 1 if self.start is not None and self.start > 0 else 0]

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


@dataclass(frozen=True, slots=True)
class UnitRange:
    """A range of positions along an axis, in a unit; None is an end of the image."""

    start: float | None
    stop: float | None
    unit: str

    def resolve(
        self, axis: str, length: int, where: str, scale: float, translation: float, axis_unit: str | None
    ) -> tuple[int, int]:
        """Return start and stop of the pixels with centres in the range; see `centred_range`."""
        if axis_unit not in ALL_UNITS:
            has = "no unit" if axis_unit is None else f"the unit {axis_unit!r}, which ozx does not know"
            raise UsageError(
                f"{where}: axis {axis} has {has}, so {axis}={self} has no meaning",
                hint="Give the region in pixels, or write the unit with ozx edit --unit.",
            )
        factor = unit_factor(self.unit, axis_unit)
        bounds = (
            None if self.start is None else self.start * factor,
            None if self.stop is None else self.stop * factor,
        )
        return centred_range(bounds, length, scale, translation, axis=axis, unit=axis_unit, where=where)

    def __str__(self) -> str:
        ends = ("" if end is None else f"{end:g}" for end in (self.start, self.stop))
        return f"{':'.join(ends)} {self.unit}"


# A bound this near to the centre of a pixel, in pixels, is on it: 1.1 / 0.1 is 11.000000000000002.
_ON_CENTRE = 1e-6


def centred_range(
    bounds: tuple[float | None, float | None],
    length: int,
    scale: float,
    translation: float = 0.0,
    *,
    axis: str,
    unit: str = "",
    where: str = "the root",
) -> tuple[int, int]:
    """Return start and stop of the pixels whose centres lie in [start, stop): pixel i is at i·scale + translation.

    `bounds`, `scale` and `translation` have the same unit, which `unit` names for messages; None is an end of the
    image. Raise `UsageError` for bounds that include no pixel, or reach beyond the `length` pixels of the axis.

    Examples
    --------
    >>> centred_range((10, 60), 200, 0.5, axis="x"), centred_range((1.1, None), 20, 0.1, axis="x")
    ((20, 120), (11, 20))
    >>> centred_range((10, 60), 100, 0.5, axis="x", unit="micrometer")
    Traceback (most recent call last):
    ozx.errors.UsageError: the root: expected a region within x=0:50 micrometer; got x=10:60
    """
    if not (math.isfinite(scale) and scale > 0 and math.isfinite(translation)):
        raise UsageError(
            f"{where}: axis {axis} has no pixel size, so a region in units has no meaning",
            hint="Give the region in pixels, or write the pixel size with ozx edit --pixel-size.",
        )
    if not all(end is None or math.isfinite(end) for end in bounds):
        raise UsageError(f"{where}: expected finite numbers for {axis}; got {bounds[0]}:{bounds[1]}")
    start, stop = (None if end is None else _first_from((end - translation) / scale) for end in bounds)
    first, last = 0 if start is None else start, length if stop is None else stop
    given = ":".join("" if end is None else f"{end:.6g}" for end in bounds)
    if not (0 <= first <= length and 0 <= last <= length):
        whole = f"{axis}={translation:.6g}:{translation + length * scale:.6g} {unit}".strip()
        raise UsageError(
            f"{where}: expected a region within {whole}; got {axis}={given}",
            hint="Leave out a number to begin or end with the image.",
        )
    if first >= last:
        found = f"no centre of a pixel lies in {axis}={given} {unit}".strip()
        raise UsageError(f"{where}: expected a region of at least one pixel; {found}")
    return first, last


def _first_from(position: float) -> int:
    """Return the first pixel whose centre is not before a position, which is counted in pixels."""
    nearest = round(position)
    return nearest if abs(position - nearest) <= _ON_CENTRE else math.ceil(position)


#: By axis name.
Region = Mapping[str, IndexRange | UnitRange]


def parse_region(value: RegionLike | None) -> dict[str, IndexRange | UnitRange]:
    """Parse a region from text or a mapping; None means the whole image."""
    if value is None:
        return {}
    if isinstance(value, str):
        return _parse_text(value)
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a region as text or as a mapping of axes; got {value!r}", hint=_HINT)
    region: dict[str, IndexRange | UnitRange] = {}
    for axis, bounds in value.items():
        if not isinstance(axis, str) or not axis:
            raise UsageError(f"expected the name of an axis, such as x; got {axis!r}", hint=_HINT)
        region[axis] = parse_bounds(axis, bounds)
    return region


def _parse_text(text: str) -> dict[str, IndexRange | UnitRange]:
    region: dict[str, IndexRange | UnitRange] = {}
    for item in text.split(","):
        match = _AXIS.fullmatch(item)
        if match is None:
            raise UsageError(
                f"expected a range of an axis, such as y=0:512; got {item.strip()!r} in {text!r}", hint=_HINT
            )
        axis, bounds = match.groups()
        if axis in region:
            raise UsageError(f"axis {axis} is given twice in {text!r}")
        region[axis] = parse_range(axis, bounds)
    return region


def parse_range(axis: str, text: str) -> IndexRange | UnitRange:
    """Parse the range of one axis, such as ``0:512``, ``3`` or ``10:20um``."""
    match = _RANGE.fullmatch(text)
    if match is None or not any(match.groups()):
        raise UsageError(f"expected a range of an axis, such as {axis}=0:512; got {axis}={text.strip()}", hint=_HINT)
    start, start_unit, colon, stop, stop_unit = match.groups()
    if colon is None and stop is not None:  # two numbers with a blank between them
        raise UsageError(f"expected a colon between two numbers; got {axis}={text.strip()}", hint=_HINT)
    if start_unit or stop_unit:
        if colon is None:
            raise UsageError(f"expected a range in units, such as {axis}=10:20um; got {axis}={text.strip()}")
        unit = check_unit(stop_unit or start_unit)
        factor = unit_factor(check_unit(start_unit or unit), unit)
        return UnitRange(None if start is None else float(start) * factor, None if stop is None else float(stop), unit)
    if not all(end is None or _INTEGER.fullmatch(end) for end in (start, stop)):
        raise UsageError(
            f"expected whole pixels, or a unit after the numbers, such as um; got {axis}={text.strip()}", hint=_HINT
        )
    first, last = (None if end is None else int(end) for end in (start, stop))
    return _one(int(start)) if colon is None else IndexRange(first, last)


def parse_bounds(axis: str, bounds: object) -> IndexRange:
    """Parse the range of one axis from Python values."""
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
    return IndexRange(*bounds)


def _one(index: int) -> IndexRange:
    return IndexRange(index, None if index == -1 else index + 1, is_one=True)


# The requested part of each image of a hierarchy: some resolution levels, or a region.

_SLICE = re.compile(r"\s*(-?[0-9]{1,9})?\s*(:)?\s*(-?[0-9]{1,9})?\s*")
_LEVELS_HINT = (
    "Write '2:' for all but the 2 finest levels, ':3' for the 3 finest, 0 for the finest, -1 for the coarsest."
)


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested part of each image: levels and region."""

    # The levels; None for those that show the region.
    levels: IndexRange | None = None
    # By axis, in pixels of the full resolution.
    region: Region = field(default_factory=dict)
    # Number of levels to leave out in addition, from the finest on; the coarsest level stays.
    skipped: int = 0
    # Names or numbers of channels; empty for all.
    channels: tuple[str | int, ...] = ()
    # Whether the region grows to whole chunks, which are then moved without decoding.
    whole_chunks: bool = False

    def check(self, images: Sequence[Sequence[Axis]], counts: Sequence[int]) -> None:
        """Raise an error if an axis or level of the selection exists in no image; `counts` are numbers of levels."""
        if not images and (self.region or self.channels or self.levels is not None or self.skipped):
            raise UsageError("expected an image from which to extract levels, channels or a region; found none")
        names = [axis.name for axes in images for axis in axes if axis.name is not None]
        for axis in self.region:
            if axis not in names:
                raise unknown_axis(axis, names)
        channel_axes = {axis.name for axes in images for axis in axes if axis.type == "channel"}
        if self.channels and not channel_axes:
            raise UsageError("expected an image with channels; no image has a channel axis")
        if self.channels and channel_axes & self.region.keys():
            raise UsageError("channels are given twice: by name and in the region", hint="Give only one of them.")
        if self.levels is not None:
            require_levels(self.levels, counts)


def require_levels(levels: IndexRange, counts: Sequence[int]) -> None:
    """Check that at least one image has one of `levels`; `counts` has the number of levels of each image."""
    if not any(map(levels.choose, counts)):
        raise UsageError(
            f"no image has any of the levels {levels}; the images have at most {max(counts)} levels",
            hint="Level 0 is the finest level, -1 the coarsest.",
        )


def parse_levels(value: str | int | slice) -> IndexRange:
    """Parse a choice of levels from text, an index or a slice."""
    if type(value) is int:
        return _one(value)
    if isinstance(value, slice):
        ends = (value.start, value.stop)
        if value.step not in (None, 1) or not all(end is None or type(end) is int for end in ends):
            raise UsageError(f"expected consecutive levels; got {value}", hint=_LEVELS_HINT)
        return IndexRange(*ends)
    match = _SLICE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groups()) or (match[2] is None and match[3] is not None):
        raise UsageError(f"expected levels as in a Python slice; got {value!r}", hint=_LEVELS_HINT)
    start, stop = (None if text is None else int(text) for text in (match[1], match[3]))
    return IndexRange(start, stop) if match[2] or start is None else _one(start)


# Parsing of lists of channel names, and search for the requested channels of an image by name or number.

_COMMA = re.compile(r"(?<!\\),")


def split_names(text: str) -> list[str]:
    r"""Split a text at commas; ``\,`` is a comma within a name."""
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(text)]


def parse_channels(value: ChannelsLike | None) -> tuple[str | int, ...]:
    """Return the names and numbers in text such as ``DAPI,GFP`` or ``0,2``, or in a list; in text, names come first."""
    if value is None:
        return ()
    items: Iterable[Any] = split_names(value) if isinstance(value, str) else ()
    if not isinstance(value, str):
        items = value if isinstance(value, Iterable) else [value]
    channels = tuple(item.strip() if isinstance(item, str) else _number(item) for item in items)
    if not channels or "" in channels:
        raise UsageError(f"expected channels by name or number; got {value!r:.200}", hint="Write DAPI,GFP or 0,1.")
    return channels


def _number(value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"expected a channel by name or number; got {value!r:.200}", hint="Write DAPI,GFP or 0,1.")
    return operator.index(value)


def find_channels(wanted: Sequence[str | int], labels: Sequence[str | None], count: int, where: str) -> tuple[int, ...]:
    """Return the numbers of the requested channels, in the order of the image."""
    return tuple(sorted({_find(name, [label or "" for label in labels[:count]], count, where) for name in wanted}))


def _find(name: str | int, labels: Sequence[str], count: int, where: str) -> int:
    if isinstance(name, int):
        if 0 <= name < count:
            return name
        raise UsageError(f"{where}: expected a channel from 0 to {count - 1}; got {name}")
    found = [number for number, label in enumerate(labels) if label == name]
    found = found or [number for number, label in enumerate(labels) if label.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    # As `split_names` reads them.
    names = [label.replace(",", "\\,") for label in [*labels, *[""] * count][:count][:20]]
    known = ", ".join(f"{number} {label}".strip() for number, label in enumerate(names))
    if found:
        numbers = ", ".join(map(str, found))
        raise UsageError(
            f"{where}: expected one channel {name!r}; channels {numbers} have this name", hint="Use channel numbers."
        )
    if name.isdecimal() and int(name) < count:
        return int(name)
    raise UsageError(f"{where}: expected names or numbers of its channels; got {name!r}", hint=f"Choose from {known}.")
