"""Crops of a multiscale image's levels to a region, extended to whole chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from ozx.errors import FormatError, UnsupportedError
from ozx.ome.downscaling import Method
from ozx.ome.model import Dataset, Multiscale
from ozx.ome.subset.region import IndexRange, UnitRange
from ozx.ome.transformations import exact
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import ArrayLayout, Lengths, relayout_document

# Alignment of a requested region with the chunks of each resolution level.
#
# Positions are *edges* between pixels of the full resolution: 0 is the start of the first pixel, n the end of the last
# of n pixels.
#
# Coarser pixels are placed by one of two rules. OME-Zarr 0.5 gives the centres of pixels, so that a level of half the
# size is shifted by half a pixel of the full resolution. Many writers leave that translation out and mean that the
# corners of all levels coincide: this second rule applies if level and full resolution have the same translation.

# Scales are rounded decimals: an edge at most this many pixels from a border counts as on the border.
_TOLERANCE = Fraction(1, 20)
# The largest growth of a region for coarser levels, relative to the region aligned with the finest level only.
_MOST_GROWTH = Fraction(1, 2)
# Grids that share no border within this many steps count as sharing none.
_MOST_STEPS = 1000


class PixelRange(NamedTuple):
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

    def first(self, interval: PixelRange) -> int:
        """Return the start of the crop around `interval` in the level's own pixels; it is a chunk border."""
        if self._is_whole(interval):
            return 0
        position = (interval.start - self.origin) / self.factor / self.chunk
        return min(max(0, _settle(position, math.floor, self.chunk)), -(-self.length // self.chunk)) * self.chunk

    def last(self, interval: PixelRange) -> int:
        """Return the end of the crop around `interval`: a chunk border or the end of the array."""
        position = (interval.stop - self.origin) / self.factor
        # Halved lengths are rounded, so that the end of the image may lie inside the level's last pixel.
        is_end = interval.stop == self.whole and position > self.length - 1
        if is_end or self._is_whole(interval):
            return self.length
        return min(max(0, _settle(position / self.chunk, math.ceil, self.chunk) * self.chunk), self.length)

    def is_beside(self, interval: PixelRange) -> bool:
        """Return whether the level has no pixel in `interval`."""
        return self.first(interval) >= self.last(interval)

    def nearest(self, interval: PixelRange) -> tuple[int, int]:
        """Return start and end of the crop around `interval`, or of the nearest chunk if the crop would be empty."""
        if not self.is_beside(interval):
            return self.first(interval), self.last(interval)
        first = min(self.first(interval), (self.length - 1) // self.chunk * self.chunk)
        return first, min(first + self.chunk, self.length)

    def centred(self, interval: PixelRange) -> tuple[int, int] | None:
        """Return start and stop of the pixels with centres in `interval`; None if the level does not reach into it.

        A level with larger pixels may have no centre there; then this is the pixel around the middle.
        """
        first, last = (
            min(max(0, math.ceil((end - self.origin) / self.factor - Fraction(1, 2))), self.length) for end in interval
        )
        # Halved lengths are rounded up, so that the centre of the level's last pixel may lie behind the image.
        if interval.stop == self.whole and (self.whole - self.origin) / self.factor > self.length - 1:
            last = self.length
        if first < last:
            return first, last
        middle = math.floor((interval.start + interval.length / 2 - self.origin) / self.factor)
        return (middle, middle + 1) if 0 <= middle < self.length else None

    def shown(self, interval: PixelRange) -> PixelRange:
        """Return `interval` extended to the chunk borders of the crop; unchanged if the crop is empty."""
        if self.is_beside(interval):
            return interval
        first, last = (self.origin + index * self.factor for index in (self.first(interval), self.last(interval)))
        nearly = _TOLERANCE * self.factor
        start = interval.start if first > interval.start - nearly else first
        stop = interval.stop if last < interval.stop + nearly else last
        return PixelRange(max(start, Fraction(0)), min(stop, Fraction(self.whole)))

    def _is_whole(self, interval: PixelRange) -> bool:
        return interval.start == 0 and interval.stop == self.whole


def make_grid(
    length: int, chunk: int, whole: int, scales: tuple[float, float], translations: tuple[float, float]
) -> AxisGrid:
    """Return the grid of a resolution level along one axis."""
    full, own = map(exact, scales)
    begin, shift = map(exact, translations)
    factor = own / full
    if begin == shift:
        return AxisGrid(length, chunk, whole, factor)
    return AxisGrid(length, chunk, whole, factor, (1 - factor) / 2 + (shift - begin) / full)


def align(
    requested: Mapping[str, PixelRange],
    levels: Sequence[Mapping[str, AxisGrid]],
    is_small: Callable[[int, Mapping[str, PixelRange]], bool] = lambda _number, _region: False,
) -> tuple[dict[str, PixelRange], list[bool]]:
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


def _grow(interval: PixelRange, grids: Sequence[AxisGrid], longest: Fraction) -> PixelRange | None:
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


# Metadata of an array cropped to whole chunks.


@dataclass(frozen=True, slots=True)
class Box:
    """A box of pixels in an array, with a start and a length for each dimension."""

    # Its first pixel along each dimension: multiples of the chunks' lengths.
    start: Lengths
    # Its lengths. It ends at chunk borders or at the array's edge.
    shape: Lengths
    # The pixels along a dimension that has gaps (at most one), in ascending order: `start` is the first of them, and
    # `shape` contains their number.
    picked: Mapping[int, Lengths] = field(default_factory=dict)

    def pixels(self) -> list[Sequence[int]]:
        """Return the pixels of the box along each dimension, in ascending order."""
        spans = zip(self.start, self.shape, strict=True)
        found: list[Sequence[int]] = [range(start, start + length) for start, length in spans]
        for dimension, pixels in self.picked.items():
            found[dimension] = pixels
        return found

    def is_whole(self, shape: Lengths) -> bool:
        """Return whether the box covers a whole array of the given shape."""
        return self.shape == shape and not any(self.start)


def crop_document(document: Document, layout: ArrayLayout, box: Box) -> Document:
    """Return the ``zarr.json`` of an array cropped to `box`; chunk shape, key encoding and codecs stay unchanged.

    Shards keep their lengths unless the array becomes shorter.
    """
    new: Document = {**document, "shape": list(box.shape)}
    if layout.shards is None:
        return new
    clipped = tuple(
        min(shard, -(-length // chunk) * chunk)
        for shard, chunk, length in zip(layout.shards, layout.chunks, box.shape, strict=True)
    )
    return relayout_document(new, clipped)


#: Up to this many pixels along each axis of space, programs draw an image without coarser levels.
SMALL = 1024


class AxisPlace(NamedTuple):
    """An axis of the full resolution: its number of pixels and their positions."""

    length: int
    scale: float
    translation: float
    unit: str | None
    is_channel: bool

    def resolve(self, axis: str, limits: IndexRange | UnitRange, where: str) -> tuple[int, int]:
        """Return start and stop of a range in pixels; `axis` is its name."""
        if isinstance(limits, IndexRange):
            return limits.resolve(axis, self.length, where)
        return limits.resolve(axis, self.length, where, self.scale, self.translation, self.unit)


#: How a level is computed from the level before: the numbers of the axes to halve, once after the other (twice for a
#: level of a quarter of the length).
Halvings = tuple[Lengths, ...]


@dataclass(frozen=True, slots=True)
class ImageCrop:
    """The crops of the levels of one multiscale image."""

    # The numbers of the kept levels, the finest first.
    kept: tuple[int, ...]
    # The box of each kept level's array; None for the whole array.
    boxes: tuple[Box | None, ...]
    # The region that they show, by axis, in pixels of the full resolution; empty if nothing is cropped.
    region: Mapping[str, PixelRange] = field(default_factory=dict)
    # The numbers of levels whose chunks are too long to show the region.
    left_out: tuple[int, ...] = ()
    # The numbers of kept levels that show more than the region, for the same reason.
    alone: tuple[int, ...] = ()
    # The numbers of the kept channels if channels between them are left out; else empty.
    picked: tuple[int, ...] = ()
    # How each level after the first is computed from the level before, and the method; None if each is cropped itself.
    computed: tuple[Halvings, ...] | None = None
    method: Method = "nearest"


def place_axes(multiscale: Multiscale, layout: ArrayLayout, where: str) -> dict[str, AxisPlace]:
    """Return the axes of the full resolution by name; `layout` is the chunk layout of its array."""
    scale, translation = _placement(multiscale, multiscale.datasets[0], layout, where)
    places = zip(multiscale.axes, layout.shape, scale, translation, strict=True)
    return {
        axis.name: AxisPlace(length, factor, shift, axis.unit, axis.type == "channel")
        for axis, length, factor, shift in places
        if axis.name is not None
    }


def crop_levels(
    multiscale: Multiscale,
    kept: Sequence[int],
    requested: Mapping[str, PixelRange],
    places: Mapping[str, AxisPlace],
    layout_of: Callable[[Dataset], ArrayLayout],
    where: str,
    *,
    keep_all: bool,
) -> ImageCrop | None:
    """Crop levels to a region; return None if the finest level is outside the region.

    `requested` is the region in pixels of the full resolution. `multiscale` is the image of `places`, or one of its
    label images; requested axes that `multiscale` lacks are ignored. `keep_all` also keeps the levels that cannot show
    exactly the region of the others.
    """
    axes = [axis.name for axis in multiscale.axes]
    asked = {axis: interval for axis, interval in requested.items() if axis in axes}
    levels = [multiscale.datasets[number] for number in kept]
    if not asked:
        return ImageCrop(tuple(kept), (None,) * len(kept))
    layouts = [layout_of(level) for level in levels]
    grids = [
        grids_of(multiscale, level, layout, asked, places, where) for level, layout in zip(levels, layouts, strict=True)
    ]
    # A label image has one channel for all channels of its image.
    asked = {axis: interval for axis, interval in asked.items() if all(axis in found for found in grids)}

    def is_small(number: int, region: Mapping[str, PixelRange]) -> bool:
        sizes = {axis.name: length for axis, length in zip(multiscale.axes, layouts[number].shape, strict=True)}
        for axis, interval in region.items():
            first, last = grids[number][axis].nearest(interval)
            sizes[axis] = last - first
        return all(sizes[axis.name] <= SMALL for axis in multiscale.axes if axis.type == "space")

    region, shares = align(asked, grids, is_small)
    if any(grid.is_beside(region[axis]) for axis, grid in grids[0].items()):
        return None
    found, boxes, left_out, alone = [], [], [], []
    for number, layout, level_grids, is_shared in zip(kept, layouts, grids, shares, strict=True):
        if not is_shared and not keep_all:
            left_out.append(number)
            continue
        ends = [
            level_grids[axis].nearest(region[axis]) if axis in region else (0, length)
            for axis, length in zip(map(str, axes), layout.shape, strict=True)
        ]
        box = Box(tuple(first for first, _ in ends), tuple(last - first for first, last in ends))
        found.append(number)
        boxes.append(None if box.is_whole(layout.shape) else box)
        if not is_shared:
            alone.append(number)
    return ImageCrop(tuple(found), tuple(boxes), region, tuple(left_out), tuple(alone))


def grids_of(
    multiscale: Multiscale,
    level: Dataset,
    layout: ArrayLayout,
    asked: Mapping[str, PixelRange],
    places: Mapping[str, AxisPlace],
    where: str,
) -> dict[str, AxisGrid]:
    """Return the grids of a level by axis, for the requested axes that it has in common with the image of `places`."""
    scale, translation = _placement(multiscale, level, layout, where)
    grids = {}
    for number, axis in enumerate(multiscale.axes):
        if axis.name is None or axis.name not in asked:
            continue
        place, length = places[axis.name], layout.shape[number]
        if place.is_channel and length != place.length:
            continue
        if axis.unit != place.unit and axis.unit is not None and place.unit is not None:
            raise UnsupportedError(
                f"{where}: expected the unit {place.unit} along {axis.name}, as in the image; found {axis.unit}",
                hint="Set the same unit for both images with ozx edit, or extract them one by one.",
            )
        grids[axis.name] = make_grid(
            length,
            layout.chunks[number],
            place.length,
            (place.scale, scale[number]),
            (place.translation, translation[number]),
        )
    return grids


def _placement(
    multiscale: Multiscale, level: Dataset, layout: ArrayLayout, where: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if len(layout.shape) != len(multiscale.axes):
        raise FormatError(
            f"{where}: expected level {level.path!r} to have {len(multiscale.axes)} dimensions, one per axis; "
            f"found {len(layout.shape)}"
        )
    if level.scale is None or level.translation is None:
        raise UnsupportedError(
            f"{where}: the position of the region cannot be computed from the transformations of level {level.path!r}; "
            f"expected a scale and perhaps a translation, each of {len(multiscale.axes)} numbers",
            hint="Omit the region to extract whole levels.",
        )
    if min(level.scale, default=1.0) <= 0:
        raise UnsupportedError(f"{where}: expected scales above 0 for level {level.path!r}; found {level.scale}")
    return level.scale, level.translation
