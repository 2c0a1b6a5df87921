"""Crops of a multiscale image's levels to exactly a region; levels that join pixels are computed anew.

A level of half the size joins pixels 0 and 1, 2 and 3, and so on. A region that begins at pixel 1 joins others, so its
levels have to be computed from the cropped full resolution. Along axes that no level shortens, such as time and
channel, each level is cropped by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from ozx.ome.downscaling import COARSEST, Method
from ozx.ome.model import Dataset, Multiscale
from ozx.ome.subset.levels import AxisGrid, AxisPlace, Box, Halvings, ImageCrop, PixelRange, grids_of
from ozx.ome.transformations import LevelTransformation, exact
from ozx.zarr.layout import ArrayLayout, Lengths

# Scales are rounded decimals: a level whose scale differs less from a multiple of 2 has this multiple.
_NEARLY = 1e-3

_Grids = Mapping[str, AxisGrid]


def crop_exactly(
    multiscale: Multiscale,
    kept: Sequence[int],
    requested: Mapping[str, PixelRange],
    places: Mapping[str, AxisPlace],
    layout_of: Callable[[Dataset], ArrayLayout],
    where: str,
    *,
    keep_all: bool,
) -> ImageCrop | None:
    """Crop levels to the pixels with centres in a region; return None if the finest level is outside of it.

    The arguments are those of `crop_levels`. Without `keep_all`, computed levels end where those of a new image end.
    """
    names = [axis.name or "" for axis in multiscale.axes]
    layouts = [layout_of(multiscale.datasets[number]) for number in kept]
    whole = {axis: PixelRange(Fraction(0), Fraction(place.length)) for axis, place in places.items()}
    grids = [
        grids_of(multiscale, multiscale.datasets[number], layout, whole, places, where)
        for number, layout in zip(kept, layouts, strict=True)
    ]
    # A label image has one channel for all channels of its image.
    asked = {axis: requested[axis] for axis in names if axis in requested and all(axis in found for found in grids)}
    if not asked:
        return ImageCrop(tuple(kept), (None,) * len(kept))
    ends = {axis: grids[0][axis].centred(interval) for axis, interval in asked.items()}
    found = {axis: pair for axis, pair in ends.items() if pair is not None}
    if len(found) < len(ends):
        return None
    cut = {axis: pair for axis, pair in found.items() if pair != (0, grids[0][axis].length)}
    if not cut:
        return ImageCrop(tuple(kept), (None,) * len(kept), asked)
    if all(_is_alike(grids, axis) for axis in cut):
        return ImageCrop(tuple(kept), tuple(_box(names, layout.shape, cut) for layout in layouts), asked)
    first = _box(names, layouts[0].shape, cut)
    channels = {axis.name for axis in multiscale.axes if axis.type == "channel"}
    lower = list(_iter_computed(names, first.shape, layouts, grids, channels, keep_all=keep_all))
    boxes = [first, *(Box((0,) * len(names), shape) for shape, _ in lower)]
    levels = tuple(level for _, level in lower)
    return ImageCrop(tuple(kept[: len(boxes)]), tuple(boxes), asked, tuple(kept[len(boxes) :]), computed=levels)


def _is_alike(grids: Sequence[_Grids], axis: str) -> bool:
    """Return whether all levels have the same pixels along an axis."""
    return len({(level[axis].length, level[axis].factor, level[axis].origin) for level in grids}) == 1


def _box(names: Sequence[str], shape: Lengths, cut: Mapping[str, tuple[int, int]]) -> Box:
    ends = [cut.get(axis, (0, length)) for axis, length in zip(names, shape, strict=True)]
    return Box(tuple(first for first, _ in ends), tuple(last - first for first, last in ends))


def _iter_computed(
    names: Sequence[str],
    shape: Lengths,
    layouts: Sequence[ArrayLayout],
    grids: Sequence[_Grids],
    channels: Collection[str | None],
    *,
    keep_all: bool,
) -> Iterator[tuple[Lengths, Halvings]]:
    """Yield the levels after a first level of `shape`, with the factors that the levels of the source have."""
    for (before, after), (old, new) in zip(pairwise(layouts), pairwise(grids), strict=True):
        shared = [axis for axis in names if axis in old and axis in new and axis not in channels]
        ratios = {axis: new[axis].factor / old[axis].factor for axis in shared}
        if all(ratio == 1 for ratio in ratios.values()):  # scales that a writer forgot
            lengths = zip(names, before.shape, after.shape, strict=True)
            ratios = {axis: Fraction(max(1, one), max(1, two)) for axis, one, two in lengths if axis in shared}
        times = [max(0, round(math.log2(ratios.get(axis, 1)))) for axis in names]
        longest = max((length for length, count in zip(shape, times, strict=True) if count), default=0)
        if longest <= COARSEST and not keep_all:
            return
        halvings = []
        for turn in range(max(times)):
            # An axis of one pixel cannot be halved.
            halved = tuple(axis for axis, count in enumerate(times) if count > turn and shape[axis] > 1)
            shape = tuple(-(-length // 2) if axis in halved else length for axis, length in enumerate(shape))
            halvings.append(halved)
        yield shape, tuple(halvings)


def place_computed(
    first: LevelTransformation, old: LevelTransformation, level: LevelTransformation, factors: Lengths, method: Method
) -> LevelTransformation:
    """Return scale and translation of a computed level.

    `first` is the cropped first level, of which `old` is the whole, and `level` is the level in the source. Scale and
    offset to the first level stay, as far as the computed level has the factors of the source.
    """
    is_centred = method != "nearest" and level.translation != old.translation
    scales, translations = [], []
    for axis, factor in enumerate(factors):
        size, offset = exact(first.scale[axis]), exact(level.translation[axis]) - exact(old.translation[axis])
        scale = exact(level.scale[axis])
        if abs(scale / size / factor - 1) > _NEARLY:
            scale, offset = size * factor, size * Fraction(factor - 1, 2) if is_centred else Fraction(0)
        scales.append(float(scale))
        translations.append(float(exact(first.translation[axis]) + offset))
    return LevelTransformation(tuple(scales), tuple(translations))
