"""An image in the form that OME-TIFF requires: five axes, downsampling only in y and x, a supported pixel type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.images.description import ImageDescription
from ozx.images.image import Image
from ozx.ome.colors import RGBA, ShownChannel
from ozx.ome.model import Axis
from ozx.ome.subset.region import IndexRange
from ozx.ome.units import PixelSize
from ozx.store.level import Level
from ozx.zarr.keys import join_path

#: The order of the axes here. From page to page, z changes first, then c, then t ("XYZCT" in OME-XML).
AXES = ("t", "c", "z", "y", "x")

#: The pixel types of OME-XML 2016-06 ("PixelType"), without the complex ones, which few readers support.
PIXEL_TYPES = {
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "float32": "float",
    "float64": "double",
}
# Lossless; few programs write or read packed "bit" pixels.
_WIDENED = {"bool": "uint8", "float16": "float32"}

# What to do with pixels of other types, by numpy.dtype.kind.
_LONG = (
    "Integers of 64 bits are usually labels: read them with ozx.open, convert them to at most 32 bits, and write them "
    "with ozx.write_image."
)
_COMPLEX = "Read pixels with ozx.open, and write real and imaginary parts as two images with ozx.write_image."
_HINTS = {"i": _LONG, "u": _LONG, "c": _COMPLEX}

# Each channel is an element of the OME-XML.
_MOST_CHANNELS = 10_000

# As import and write_image name the samples of colour images. Dyes may have these colours too, but other names.
_RGB = RGBA[:3]

Lengths = tuple[int, ...]
Region = tuple[slice, ...]
# A shard of up to this size is read at once. From a larger shard, each block reads the index and its inner chunks.
_LARGEST_READ_ALIGNMENT = 32 << 20
# A tolerance, because scales are rounded decimals.
_ONE_PIXEL = 1.01


@dataclass(frozen=True)
class ExportedImage:
    """One image of an OME-TIFF file; its arrays are extended to the five axes."""

    path: str  # path of its group from the root of the hierarchy
    levels: tuple[Level, ...]  # full resolution first; all with the same number of time points and channels
    dimensions: tuple[int | None, ...]  # for each of the five axes, the dimension of the arrays, or None
    dtype: np.dtype[Any]  # the pixel type to write
    description: ImageDescription  # its metadata
    is_rgb: bool = False  # whether red, green and blue are stored as the samples of one colour pixel
    notes: tuple[str, ...] = ()  # changes, one sentence each

    @property
    def shape(self) -> Lengths:
        """Lengths along t, c, z, y, x at full resolution."""
        return _five(self.levels[0].shape, self.dimensions)

    @property
    def planes(self) -> Lengths:
        """Lengths of what is stored along t, c, z, y, x at full resolution."""
        return self.planes_of(self.levels[0])

    @property
    def page_count(self) -> int:
        """The number of planes at full resolution."""
        return prod(self.planes[:3])

    @property
    def size(self) -> int:
        """Size of all decoded pixels of all levels in bytes."""
        return sum(prod(_five(level.shape, self.dimensions)) for level in self.levels) * self.dtype.itemsize

    def planes_of(self, level: Level) -> Lengths:
        """Return lengths of what is stored of a level: one plane of colour pixels for red, green and blue."""
        return self._joined(_five(level.shape, self.dimensions))

    def read_alignment(self, level: Level) -> Lengths:
        """Return the shape of the shards or chunks, in `planes_of`; reads of whole shards or chunks are fastest."""
        parts = level.array.shards
        if parts is None or prod(parts) * level.dtype.itemsize > _LARGEST_READ_ALIGNMENT:
            parts = level.chunks
        return self._joined(_five(parts, self.dimensions))

    def read(self, level: Level, region: Region) -> NDArray[Any]:
        """Return a block of `planes_of` with the axes t, c, z, y, x, and the samples of colour pixels as a sixth axis.

        Safe to call from several threads.
        """
        if self.is_rgb:
            region = (region[0], slice(0, len(_RGB)), *region[2:])
        key: list[slice | int] = [0] * level.ndim
        for dimension, part in zip(self.dimensions, region, strict=True):
            if dimension is not None:
                key[dimension] = part
        try:
            block = level[tuple(key)]
        except FormatError as error:
            where = ", ".join(
                f"{axis}={part.start}:{part.stop}"
                for axis, part, dimension in zip(AXES, region, self.dimensions, strict=True)
                if dimension is not None and part.stop - part.start < level.shape[dimension]
            )
            where = f"within {where} of" if where else "in"
            error.message = f"{error.message}; the damage is {where} the array {level.path or 'at the root'}"
            raise
        kept = sorted(dimension for dimension in self.dimensions if dimension is not None)
        order = [kept.index(dimension) for dimension in self.dimensions if dimension is not None]
        lengths = tuple(part.stop - part.start for part in region)
        block = block.transpose(order).reshape(lengths).astype(self.dtype, copy=False)
        return np.moveaxis(block[:, :, None], 1, -1) if self.is_rgb else block

    def _joined(self, lengths: Lengths) -> Lengths:
        return (lengths[0], 1, *lengths[2:]) if self.is_rgb else lengths


def take_image(view: Image, path: str, choice: IndexRange, *, join_rgb: bool = True) -> ExportedImage:
    """Return an image or label image for the export to OME-TIFF; no pixels are read.

    With `join_rgb`, channels that the metadata calls and shows as red, green and blue become colour pixels.
    """
    where = path or "the root"
    dimensions = _find_axes(view, where)
    chosen = [view.levels[number] for number in choice.nearest(len(view.levels))]
    notes: list[str] = []
    dtype = _written_type(np.dtype(chosen[0].array.dtype), where, notes)
    below = len(view.path) and len(view.path) + 1
    chosen = [replace(level, path=join_path(path, level.path[below:])) for level in chosen]
    levels, shape = _levels(chosen, dimensions, notes), _five(chosen[0].shape, dimensions)
    if 0 in shape:
        raise UnsupportedError(f"{where}: expected pixels; the array is empty: its shape is {chosen[0].array.shape}")
    if shape[1] > _MOST_CHANNELS:
        raise UnsupportedError(f"{where}: expected at most {_MOST_CHANNELS:,} channels; found {shape[1]:,}")
    known = tuple((channel.label, channel.color) for channel in view.channels)
    is_rgb = join_rgb and dtype.name in ("uint8", "uint16") and known == _RGB and shape[1] == len(_RGB)
    sizes = _sizes(view.axes, dimensions, chosen[0])
    translation = chosen[0].translation or ()
    if any(translation) and chosen[0].array is view.levels[0].array:
        notes.append(f"{where}: the position of the image (its translation) is left out, as OME-TIFF cannot store it")
    description = ImageDescription(view.name, sizes, _channels(view.channels, shape[1]))
    notes = [*view.notes, *view.unapplied, *notes]
    return ExportedImage(path, tuple(levels), dimensions, dtype, description, is_rgb, tuple(notes))


def _five(lengths: Sequence[int], dimensions: tuple[int | None, ...]) -> Lengths:
    """Return lengths along t, c, z, y, x."""
    return tuple(1 if dimension is None else lengths[dimension] for dimension in dimensions)


def _find_axes(view: Image, where: str) -> tuple[int | None, ...]:
    """Return the dimension numbers of the axes t, c, z, y, x; None for a missing axis.

    Axes are found by name, else by type; the last space axis is x.
    """
    found: dict[str, int] = {}
    names = [(axis.name or "").lower() for axis in view.axes]
    free = ["x", "y", "z"]
    for number in reversed(range(len(names))):
        axis = view.axes[number]
        if names[number] in AXES and names[number] not in found:
            found[names[number]] = number
            continue
        by_type = {"time": ["t"], "channel": ["c"], "space": free}.get(axis.type or "", [])
        guess = next((name for name in by_type if name not in found and name not in names), None)
        if guess is not None:
            found[guess] = number
        elif view.levels[0].array.shape[number] != 1:
            raise UnsupportedError(
                f"{where}: expected the axes t, c, z, y and x, which OME-TIFF supports; found "
                f"{', '.join(axis.name or '?' for axis in view.axes)}",
                hint="Export a region=… with one position along the other axes.",
            )
    if "y" not in found or "x" not in found:
        raise UnsupportedError(f"{where}: expected the axes y and x; found {', '.join(names) or 'none'}")
    return tuple(found.get(axis) for axis in AXES)


def _written_type(dtype: np.dtype[Any], where: str, notes: list[str]) -> np.dtype[Any]:
    if dtype.name in _WIDENED:
        notes.append(f"{where}: {dtype.name} is written as {_WIDENED[dtype.name]}, with the same values")
        return np.dtype(_WIDENED[dtype.name])
    if dtype.name not in PIXEL_TYPES:
        raise UnsupportedError(
            f"{where}: expected pixels of a type that OME-TIFF supports, {', '.join(PIXEL_TYPES)}; found {dtype.name}",
            hint=_HINTS.get(dtype.kind, "Choose an image whose pixels are numbers."),
        )
    return dtype.newbyteorder("=")


def _levels(chosen: Sequence[Level], dimensions: tuple[int | None, ...], notes: list[str]) -> list[Level]:
    """Return the levels that OME-TIFF can store.

    Each level must have smaller planes than the level before, and as many time points and channels as the first.
    """
    levels, repeated = [chosen[0]], []
    for level in chosen[1:]:
        shape, first, before = (_five(one.shape, dimensions) for one in (level, levels[0], levels[-1]))
        is_smaller = shape[3] <= before[3] and shape[4] <= before[4] and shape[3:] != before[3:]
        if np.dtype(level.array.dtype).name != chosen[0].array.dtype.name or shape[:2] != first[:2] or 0 in shape:
            notes.append(
                f"level {level.path} is left out: its type or its length along t or c differs from the first level, "
                "or it has no pixels"
            )
        elif not _has_same_extent(level, chosen[0], dimensions[3:]):
            notes.append(
                f"level {level.path} is left out: its scale and translation say that it covers another area than the "
                "first level, which OME-TIFF cannot store"
            )
        elif not is_smaller or shape[2] > first[2]:
            notes.append(
                f"level {level.path} is left out: its planes are not smaller than in the previous level, or it has "
                "more z planes than the first level"
            )
        else:
            levels.append(level)
            repeated += [level.path] if shape[2] < first[2] else []
    if repeated:
        notes.append(
            f"level {', '.join(repeated)}: z planes are repeated, because "
            "all levels of OME-TIFF have equally many planes"
        )
    return levels


def _has_same_extent(level: Level, first: Level, dimensions: Sequence[int | None]) -> bool:
    """Return whether both levels cover one area along `dimensions`, up to one pixel of `level`, as far as is known."""
    if level.scale is None or first.scale is None or level.translation is None or first.translation is None:
        return True
    for dimension in dimensions:
        if dimension is not None:
            pixel = level.scale[dimension]
            extent = pixel * level.array.shape[dimension]
            other = first.scale[dimension] * first.array.shape[dimension]
            shift = level.translation[dimension] - first.translation[dimension]
            if max(abs(extent - other), abs(shift)) > pixel * _ONE_PIXEL:
                return False
    return True


def _sizes(axes: Sequence[Axis], dimensions: tuple[int | None, ...], level: Level) -> dict[str, PixelSize]:
    """Return the pixel sizes by axis; a size of 1 without a unit is treated as unknown."""
    sizes = {}
    for axis, dimension in zip(AXES, dimensions, strict=True):
        if axis != "c" and dimension is not None and level.scale is not None:
            size = PixelSize(level.scale[dimension], axes[dimension].unit)
            if size.value > 0 and np.isfinite(size.value) and size != PixelSize(1.0, None):
                sizes[axis] = size
    return sizes


def _channels(known: tuple[ShownChannel, ...], count: int) -> tuple[ShownChannel, ...]:
    """Return the metadata of all channels, or an empty tuple if the image has no such metadata."""
    return (*known[:count], *[ShownChannel()] * (count - len(known))) if known else ()
