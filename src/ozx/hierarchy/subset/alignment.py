"""Which pixels of each resolution level show a region, where only whole chunks can be taken.

Positions are *edges* between pixels of the full resolution: 0 is where its first pixel begins, n where its last one
ends.

Two rules of where coarser pixels lie are in use. OME-Zarr 0.5 gives the places of pixels' middles, so that a level of
half the size is shifted by half a pixel of the full resolution. Many writers leave that translation out and mean that
the corners of all levels coincide: so it is taken where level and full resolution have the same translation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

__all__ = ["AxisGrid", "Interval", "align", "make_grid"]

# Scales are rounded decimals: so many pixels beside a border are taken to be on it.
_TOLERANCE = Fraction(1, 20)
# How much longer than with chunks of the finest level a region may become for coarser levels to show the same.
_MOST_GROWTH = Fraction(1, 2)
# Grids that do not meet within so many steps do not meet.
_MOST_STEPS = 1000


class Interval(NamedTuple):
    """From edge `start` to edge `stop`."""

    start: Fraction
    stop: Fraction

    @property
    def length(self) -> Fraction:
        """The number of pixels of the full resolution."""
        return self.stop - self.start

    def pixels(self) -> tuple[int, int]:
        """Return the pixels of the full resolution that it touches, from the first to behind the last.

        Examples
        --------
        >>> Interval(Fraction("0.4"), Fraction("12.00000001")).pixels()
        (0, 12)
        """
        return _settle(self.start, math.floor), _settle(self.stop, math.ceil)


@dataclass(frozen=True, slots=True)
class AxisGrid:
    """One resolution level along one axis.

    Attributes
    ----------
    length, chunk
        The lengths of the array and of a chunk, in its own pixels.
    whole
        The number of pixels of the full resolution.
    factor
        How many of those one of its own pixels covers.
    origin
        The edge where its first pixel begins.
    """

    length: int
    chunk: int
    whole: int
    factor: Fraction = Fraction(1)
    origin: Fraction = Fraction(0)

    def first(self, interval: Interval) -> int:
        """Return where a cut that shows `interval` begins: a chunk border, in the level's own pixels.

        Examples
        --------
        >>> grid = AxisGrid(128, 32, 256, Fraction(2))
        >>> grid.first(Interval(Fraction(100), Fraction(200))), grid.last(Interval(Fraction(100), Fraction(200)))
        (32, 128)
        """
        if self._is_whole(interval):
            return 0
        position = (interval.start - self.origin) / self.factor / self.chunk
        return min(max(0, _settle(position, math.floor, self.chunk)), -(-self.length // self.chunk)) * self.chunk

    def last(self, interval: Interval) -> int:
        """Return where such a cut ends: a chunk border or the end of the array."""
        position = (interval.stop - self.origin) / self.factor
        # Sizes are rounded when they are halved: the last pixel belongs to the end of the image.
        is_end = interval.stop == self.whole and position > self.length - 1
        if is_end or self._is_whole(interval):
            return self.length
        return min(max(0, _settle(position / self.chunk, math.ceil, self.chunk) * self.chunk), self.length)

    def is_beside(self, interval: Interval) -> bool:
        """Tell whether no pixel of the level shows anything of `interval`."""
        return self.first(interval) >= self.last(interval)

    def nearest(self, interval: Interval) -> tuple[int, int]:
        """Return where the cut begins and ends; where it would be empty, those of the chunk that is nearest."""
        if not self.is_beside(interval):
            return self.first(interval), self.last(interval)
        first = min(self.first(interval), (self.length - 1) // self.chunk * self.chunk)
        return first, min(first + self.chunk, self.length)

    def shown(self, interval: Interval) -> Interval:
        """Return what the cut for `interval` shows: that itself where it ends at borders, or where that is nothing."""
        if self.is_beside(interval):
            return interval
        first, last = (self.origin + index * self.factor for index in (self.first(interval), self.last(interval)))
        nearly = _TOLERANCE * self.factor
        start = interval.start if first > interval.start - nearly else first
        stop = interval.stop if last < interval.stop + nearly else last
        return Interval(max(start, Fraction(0)), min(stop, Fraction(self.whole)))

    def _is_whole(self, interval: Interval) -> bool:
        return interval.start == 0 and interval.stop == self.whole


def make_grid(
    length: int, chunk: int, whole: int, scales: tuple[float, float], translations: tuple[float, float]
) -> AxisGrid:
    """Return a level along an axis.

    Parameters
    ----------
    length, chunk, whole
        As in `AxisGrid`.
    scales, translations
        Those of the full resolution, and those of the level.

    Examples
    --------
    >>> make_grid(128, 32, 256, (0.325, 0.65), (0.0, 0.1625)) == make_grid(128, 32, 256, (0.325, 0.65), (0.0, 0.0))
    True
    """
    # As their decimal digits say: 0.65 is twice 0.325.
    full, own = (Fraction(repr(float(scale))) for scale in scales)
    begin, shift = (Fraction(repr(float(translation))) for translation in translations)
    factor = own / full
    if begin == shift:
        return AxisGrid(length, chunk, whole, factor)
    return AxisGrid(length, chunk, whole, factor, (1 - factor) / 2 + (shift - begin) / full)


def align(
    asked: Mapping[str, Interval], levels: Sequence[Mapping[str, AxisGrid]]
) -> tuple[dict[str, Interval], list[bool]]:
    """Return the region that is taken, and for each level whether it can show exactly that.

    The region is the smallest one around what is asked for whose ends are chunk borders of the first level and of as
    many others as share it, from the second on. A level shares it unless it would become longer than by half along an
    axis for its sake: the coarsest levels mostly are a single chunk, and the region would be the whole image.

    Parameters
    ----------
    asked
        By axis.
    levels
        Their grids by axis, the finest first; each has all axes of `asked`.

    Examples
    --------
    >>> levels = [{"x": AxisGrid(512 >> level, 64, 512, Fraction(1 << level))} for level in range(4)]
    >>> region, shares = align({"x": Interval(Fraction(70), Fraction(250))}, levels)
    >>> [int(end) for end in region["x"]], shares
    ([0, 256], [True, True, True, False])
    """
    finest = levels[0]
    region = {axis: finest[axis].shown(interval) for axis, interval in asked.items()}
    longest = {axis: interval.length * (1 + _MOST_GROWTH) for axis, interval in region.items()}
    sharing, shares = [finest], [True]
    for level in levels[1:]:
        grown = {
            axis: _grow(interval, [grids[axis] for grids in (*sharing, level)], longest[axis])
            for axis, interval in region.items()
        }
        found = {axis: interval for axis, interval in grown.items() if interval is not None}
        shares.append(len(found) == len(grown))
        if shares[-1]:
            sharing.append(level)
            region = found
    return region, shares


def _grow(interval: Interval, grids: Sequence[AxisGrid], longest: Fraction) -> Interval | None:
    """Return the smallest interval around `interval` that ends at borders of all grids; None where it is too long."""
    for _ in range(_MOST_STEPS):
        before = interval
        for grid in grids:
            interval = grid.shown(interval)
            if interval.length > longest or grid.is_beside(interval):
                return None
        if interval == before:
            return interval
    return None


def _settle(position: Fraction, outwards: Callable[[Fraction], int], chunk: int = 1) -> int:
    """Return the border at `position`, counted in chunks, where it is one but for rounding; else the next outwards."""
    nearest = round(position)
    if abs(position - nearest) * chunk <= _TOLERANCE:
        return nearest
    return outwards(position)
