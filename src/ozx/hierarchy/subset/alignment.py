"""Alignment of a requested region with the chunks of each resolution level.

Positions are *edges* between pixels of the full resolution: 0 is the start of the first pixel, n the end of the last
of n pixels.

Coarser pixels are placed by one of two rules. OME-Zarr 0.5 gives the centres of pixels, so that a level of half the
size is shifted by half a pixel of the full resolution. Many writers leave that translation out and mean that the
corners of all levels coincide: this second rule applies if level and full resolution have the same translation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

# Scales are rounded decimals: an edge at most this many pixels from a border counts as on the border.
_TOLERANCE = Fraction(1, 20)
# The largest growth of a region for coarser levels, relative to the region aligned with the finest level only.
_MOST_GROWTH = Fraction(1, 2)
# Grids that share no border within this many steps count as sharing none.
_MOST_STEPS = 1000


class Interval(NamedTuple):
    """A half-open interval along an axis, in pixels of the full resolution."""

    start: Fraction
    stop: Fraction

    @property
    def length(self) -> Fraction:
        """The length of the interval in pixels of the full resolution."""
        return self.stop - self.start

    def pixels(self) -> tuple[int, int]:
        """Return start and stop of the full-resolution pixels that overlap the interval."""
        return _settle(self.start, math.floor), _settle(self.stop, math.ceil)

    def text(self) -> str:
        """Return `pixels` in the form of ``--region``, such as ``32:64``."""
        start, stop = self.pixels()
        return f"{start}:{stop}"


@dataclass(frozen=True, slots=True)
class AxisGrid:
    """The pixels and chunks of one resolution level along one axis."""

    # The lengths of the array and of a chunk, in the level's own pixels.
    length: int
    chunk: int
    # The number of pixels of the full resolution.
    whole: int
    # Full-resolution pixels per pixel of the level.
    factor: Fraction = Fraction(1)
    # The edge where the level's first pixel begins.
    origin: Fraction = Fraction(0)

    def first(self, interval: Interval) -> int:
        """Return the start of the crop around `interval` in the level's own pixels; it is a chunk border."""
        if self._is_whole(interval):
            return 0
        position = (interval.start - self.origin) / self.factor / self.chunk
        return min(max(0, _settle(position, math.floor, self.chunk)), -(-self.length // self.chunk)) * self.chunk

    def last(self, interval: Interval) -> int:
        """Return the end of the crop around `interval`: a chunk border or the end of the array."""
        position = (interval.stop - self.origin) / self.factor
        # Halved lengths are rounded, so that the end of the image may lie inside the level's last pixel.
        is_end = interval.stop == self.whole and position > self.length - 1
        if is_end or self._is_whole(interval):
            return self.length
        return min(max(0, _settle(position / self.chunk, math.ceil, self.chunk) * self.chunk), self.length)

    def is_beside(self, interval: Interval) -> bool:
        """Return whether the level has no pixel in `interval`."""
        return self.first(interval) >= self.last(interval)

    def nearest(self, interval: Interval) -> tuple[int, int]:
        """Return start and end of the crop around `interval`, or of the nearest chunk if the crop would be empty."""
        if not self.is_beside(interval):
            return self.first(interval), self.last(interval)
        first = min(self.first(interval), (self.length - 1) // self.chunk * self.chunk)
        return first, min(first + self.chunk, self.length)

    def shown(self, interval: Interval) -> Interval:
        """Return `interval` extended to the chunk borders of the crop; unchanged if the crop is empty."""
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
    """Return the grid of a resolution level along one axis."""
    # Exact in decimal digits: 0.65 is twice 0.325.
    full, own = (Fraction(repr(float(scale))) for scale in scales)
    begin, shift = (Fraction(repr(float(translation))) for translation in translations)
    factor = own / full
    if begin == shift:
        return AxisGrid(length, chunk, whole, factor)
    return AxisGrid(length, chunk, whole, factor, (1 - factor) / 2 + (shift - begin) / full)


def align(
    requested: Mapping[str, Interval],
    levels: Sequence[Mapping[str, AxisGrid]],
    is_small: Callable[[int, Mapping[str, Interval]], bool] = lambda _number, _region: False,
) -> tuple[dict[str, Interval], list[bool]]:
    """Return the requested region, extended to chunk borders of the levels.

    Also return for each level whether the level can show exactly this region.

    The region is the smallest region around `requested` whose ends are chunk borders of the first level and of every
    further level that shares the region. A level does not share it if the region would grow by more than half along
    an axis: the coarsest levels are mostly a single chunk, and the region would be the whole image. Once `is_small`
    returns True for the last sharing level, which then shows the region in few pixels, the region stops growing.
    """
    finest = levels[0]
    region = {axis: finest[axis].shown(interval) for axis, interval in requested.items()}
    longest = {axis: interval.length * (1 + _MOST_GROWTH) for axis, interval in region.items()}
    sharing, shares = [finest], [True]
    last = 0
    for number, level in enumerate(levels[1:], 1):
        grown = {
            axis: _grow(interval, [grids[axis] for grids in (*sharing, level)], longest[axis])
            for axis, interval in region.items()
        }
        found = {axis: interval for axis, interval in grown.items() if interval is not None}
        shares.append(len(found) == len(grown) and (found == region or not is_small(last, region)))
        if shares[-1]:
            sharing.append(level)
            region, last = found, number
    return region, shares


def _grow(interval: Interval, grids: Sequence[AxisGrid], longest: Fraction) -> Interval | None:
    """Return the smallest interval around `interval` with both ends at chunk borders of all grids, or None."""
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
    """Round `position` (in chunks) to a chunk border that is very near, else by the function `outwards`."""
    nearest = round(position)
    if abs(position - nearest) * chunk <= _TOLERANCE:
        return nearest
    return outwards(position)
