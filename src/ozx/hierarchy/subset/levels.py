"""Crops of a multiscale image's levels to a region, extended to whole chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.ome.metadata import Dataset, Multiscale
from ozx.hierarchy.subset.alignment import AxisGrid, Interval, align, make_grid
from ozx.hierarchy.subset.array import Box
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

#: Up to this many pixels along each axis of space, programs draw an image without coarser levels.
SMALL = 1024


class AxisPlace(NamedTuple):
    """An axis of the full resolution: its number of pixels and their positions."""

    length: int
    scale: float
    translation: float
    unit: str | None
    is_channel: bool


@dataclass(frozen=True, slots=True)
class LevelCrops:
    """The crops of the levels of one multiscale image."""

    # The numbers of the kept levels, the finest first.
    kept: tuple[int, ...]
    # The box of each kept level's array; None for the whole array.
    boxes: tuple[Box | None, ...]
    # The region that they show, by axis, in pixels of the full resolution; empty if nothing is cropped.
    region: Mapping[str, Interval] = field(default_factory=dict)
    # The numbers of levels whose chunks are too long to show the region.
    left_out: tuple[int, ...] = ()
    # The numbers of kept levels that show more than the region, for the same reason.
    alone: tuple[int, ...] = ()
    # The numbers of the kept channels if channels between them are left out; else empty.
    picked: tuple[int, ...] = ()


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
    requested: Mapping[str, Interval],
    places: Mapping[str, AxisPlace],
    layout_of: Callable[[Dataset], ArrayLayout],
    where: str,
    *,
    keep_all: bool,
) -> LevelCrops | None:
    """Crop levels to a region; return None if the finest level is outside the region.

    `requested` is the region in pixels of the full resolution. `multiscale` is the image of `places`, or one of its
    label images; requested axes that `multiscale` lacks are ignored. `keep_all` also keeps the levels that cannot show
    exactly the region of the others.
    """
    axes = [axis.name for axis in multiscale.axes]
    asked = {axis: interval for axis, interval in requested.items() if axis in axes}
    levels = [multiscale.datasets[number] for number in kept]
    if not asked:
        return LevelCrops(tuple(kept), (None,) * len(kept))
    layouts = [layout_of(level) for level in levels]
    grids = [
        _grids(multiscale, level, layout, asked, places, where) for level, layout in zip(levels, layouts, strict=True)
    ]
    # A label image has one channel for all channels of its image.
    asked = {axis: interval for axis, interval in asked.items() if all(axis in found for found in grids)}

    def is_small(number: int, region: Mapping[str, Interval]) -> bool:
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
    return LevelCrops(tuple(found), tuple(boxes), region, tuple(left_out), tuple(alone))


def _grids(
    multiscale: Multiscale,
    level: Dataset,
    layout: ArrayLayout,
    asked: Mapping[str, Interval],
    places: Mapping[str, AxisPlace],
    where: str,
) -> dict[str, AxisGrid]:
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
            f"{where}: expected a scale and perhaps a translation, each of {len(multiscale.axes)} numbers, for level "
            f"{level.path!r}; found other transformations, from which the position of the region cannot be computed",
            hint="Omit the region to extract whole levels.",
        )
    if min(level.scale, default=1.0) <= 0:
        raise UnsupportedError(f"{where}: expected scales above 0 for level {level.path!r}; found {level.scale}")
    return level.scale, level.translation
