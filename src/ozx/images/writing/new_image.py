"""Descriptions of new images: channels, resolution levels and their positions; alone, in a series or a plate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ozx.errors import UsageError
from ozx.images.description import PlateDescription
from ozx.images.pixel_source import MaskSource, PixelSource
from ozx.images.writing.downsampling import halved_shape
from ozx.ome.colors import LabelDisplay, ShownChannel
from ozx.ome.downscaling import COARSEST, Method, parse_method, usual_method
from ozx.ome.images import SERIES
from ozx.ome.model import Axis, find_channel_axis

# The resolution levels of an image, and the physical positions of their pixels.

# If a voxel is less than √2 times as long along z as along y and x, halving z too keeps it closer to a cube.
_NEARLY_CUBIC = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class PyramidChoice:
    """Options for the lower resolution levels."""

    method: Method = "mean"  # the method of downsampling
    # Names of the axes to halve from each level to the next; empty for a single level. None lets ozx choose: y and x,
    # and also z if the voxel is nearly a cube.
    axes: tuple[str, ...] | None = None
    # Numbers of the axes to halve for each lower level, for a label image whose levels match those of an image.
    steps: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def parse(
        cls, method: str | None = None, downsample: str | Sequence[str] | None = None, *, is_label: bool = False
    ) -> PyramidChoice:
        """Parse the pyramid options of the command line; `is_label`: whether the pixels are labels."""
        chosen = parse_method(method) if method else usual_method(is_label=is_label)
        if is_label and chosen == "mean":
            raise UsageError("labels cannot be averaged; got the method mean", hint="Choose nearest or mode.")
        if downsample is None or downsample == "auto":
            return cls(chosen)
        if downsample == "none":
            return cls(chosen, ())
        names = downsample.split(",") if isinstance(downsample, str) else downsample
        axes = tuple(str(name).strip() for name in names) if isinstance(names, Iterable) else ("",)
        if len(set(axes)) < len(axes) or "" in axes:
            raise UsageError(f"expected auto, none, or the axes to halve, as in z,y,x; got {downsample!r}")
        return cls(chosen, axes)


@dataclass(frozen=True, slots=True)
class PyramidLevel:
    """One resolution level: its lengths, its scale and translation in axis units, and the axes that were halved."""

    shape: tuple[int, ...]  # one value per axis; the translation is that of the centre of the first pixel
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    halved: tuple[int, ...] = ()  # numbers of the axes halved from the level before
    is_sampled: bool = False  # whether its pixels are those of the full resolution, with steps between them


def plan_pyramid(first: PyramidLevel, axes: Sequence[Axis], choice: PyramidChoice) -> tuple[PyramidLevel, ...]:
    """Return the levels of an image, full resolution first, until all halved axes have at most `COARSEST` pixels."""
    levels = [first]
    if choice.steps is not None:
        for halved in choice.steps:
            levels.append(_next_level(levels[-1], halved, choice.method))
        return tuple(levels)
    asked = None if choice.axes is None else _numbers(choice.axes, axes)
    while True:
        last = levels[-1]
        halved = _choose(last, axes) if asked is None else asked
        if max((last.shape[axis] for axis in halved), default=0) <= COARSEST:
            return tuple(levels)
        # An axis of one pixel cannot be halved.
        levels.append(_next_level(last, tuple(axis for axis in halved if last.shape[axis] > 1), choice.method))


def _next_level(level: PyramidLevel, halved: tuple[int, ...], method: Method) -> PyramidLevel:
    scale, translation = list(level.scale), list(level.translation)
    for axis in halved:
        if method != "nearest":  # the first pixel keeps its place; the centre of two is half a pixel further
            translation[axis] += scale[axis] / 2
        scale[axis] *= 2
    return PyramidLevel(halved_shape(level.shape, halved), tuple(scale), tuple(translation), halved)


def _numbers(names: Sequence[str], axes: Sequence[Axis]) -> tuple[int, ...]:
    there = [axis.name for axis in axes]
    for name in names:
        if name not in there:
            raise UsageError(
                f"expected axes of the image; it has no axis {name!r}",
                hint=f"Choose from the axes {', '.join(map(str, there))}.",
            )
        if axes[there.index(name)].type == "channel":
            raise UsageError(
                f"axis {name!r} is the channel axis and cannot be downsampled", hint="Choose axes such as y,x."
            )
    return tuple(sorted(there.index(name) for name in names))


def _choose(level: PyramidLevel, axes: Sequence[Axis]) -> tuple[int, ...]:
    space = [number for number, axis in enumerate(axes) if axis.type == "space"]
    plane = tuple(space[-2:])
    if len(space) < 3:
        return plane
    z = space[-3]
    if not _is_known(level, axes, (z, *plane)):
        return plane
    is_cubic = level.scale[z] < _NEARLY_CUBIC * min(level.scale[axis] for axis in plane)
    return (z, *plane) if is_cubic else plane


def _is_known(level: PyramidLevel, axes: Sequence[Axis], voxel: tuple[int, ...]) -> bool:
    """Return whether the metadata gives the shape of a voxel.

    All sides must have the same unit. Without units, at least one length must differ from 1, the default.
    """
    if len({axes[axis].unit for axis in voxel}) > 1:
        return False
    return axes[voxel[0]].unit is not None or any(level.scale[axis] != 1.0 for axis in voxel)


#: Kinds of the pixel types from which label images are made.
LABEL_KINDS = "biu"
_SERIES_LAYOUT = 3


@dataclass(frozen=True)
class NewImage:
    """A new image, or a label image if `label` is given."""

    name: str  # its name
    axes: tuple[Axis, ...]  # its axes, in OME order: time, channel, then space
    sources: tuple[PixelSource, ...]  # the pixels of the given levels, full resolution first, with the names of `axes`
    levels: tuple[PyramidLevel, ...]  # the levels of the sources and, once planned, those that are made from the last
    # Its channels in order. A missing one, or what one lacks, is made: its number as label, a colour, and a window with
    # nearly all of its pixels.
    channels: tuple[ShownChannel, ...] = ()
    label: LabelDisplay | None = None  # the display of labels; None for images
    pyramid: PyramidChoice = field(default_factory=PyramidChoice)  # options of the lower levels to compute
    labels: Mapping[str, NewImage] = field(default_factory=dict)  # its label images by name

    @property
    def channel_axis(self) -> int | None:
        """The index of the channel axis, or None for an image without a channel axis."""
        return find_channel_axis(self.axes)

    @property
    def channel_count(self) -> int:
        """Number of channels; 1 if there is no channel axis."""
        axis = self.channel_axis
        return 1 if axis is None else self.sources[0].shape[axis]

    @property
    def lacks_windows(self) -> bool:
        """Whether the contrast of a channel is to be computed from its pixels."""
        known = self.channels[: self.channel_count]
        return len(known) < self.channel_count or any(channel.window is None for channel in known)

    def with_integers(self) -> NewImage:
        """Return the image with pixels for a label image: booleans become 0 and 1, integers stay."""
        sources = (
            MaskSource(source, source.axes, source.shape, range(len(source.shape)))
            if source.dtype.kind == "b"
            else source
            for source in self.sources
        )
        return replace(self, sources=tuple(sources))


@dataclass(frozen=True)
class NewHierarchy:
    """The images, series or plate of a new file."""

    images: Mapping[str, NewImage]  # the images by path; an empty path is the root
    # The ``ome`` metadata of groups other than images, by path, without the version. Groups without metadata, which
    # only lead to other groups, may be left out.
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)  # other values by key, such as ``OME/METADATA.ome.xml``
    version: str = "0.5"  # the OME-Zarr version to write: 0.5 or 0.6


def series_of(images: Sequence[NewImage], files: Mapping[str, bytes] | None = None) -> NewHierarchy:
    """Return a hierarchy with several images as a series; the path of each image is its number.

    OME-Zarr 0.5, "bioformats2raw.layout": the group ``OME`` lists them in order.
    """
    named = {str(number): image for number, image in enumerate(images)}
    groups: dict[str, Mapping[str, Any]] = {
        "": {"bioformats2raw.layout": _SERIES_LAYOUT},
        SERIES: {"series": list(named)},
    }
    return NewHierarchy(named, groups, dict(files or {}))


def plate_of(
    plate: PlateDescription, images: Mapping[int, NewImage], files: Mapping[str, bytes] | None = None
) -> NewHierarchy:
    """Return a hierarchy with a plate and those of `images` that it names; each has the path ``ROW/COLUMN/NUMBER``."""
    # OME-Zarr 0.5, "plate" and "well" metadata.
    described: dict[str, Any] = {
        "name": plate.name,
        "rows": [{"name": name} for name in plate.rows],
        "columns": [{"name": name} for name in plate.columns],
        "wells": [
            {"path": _well_path(plate, place), "rowIndex": place[0], "columnIndex": place[1]} for place in plate.wells
        ],
        "field_count": max(map(len, plate.wells.values()), default=0),
        "version": "0.5",
    }
    if plate.acquisitions:
        described["acquisitions"] = [_describe_acquisition(plate, number) for number in range(len(plate.acquisitions))]
    fields_of_view: dict[str, NewImage] = {}
    groups: dict[str, Mapping[str, Any]] = {"": {"plate": described}}
    for well, fields in plate.wells.items():
        path = _well_path(plate, well)
        listed = [
            {"path": str(place)} | ({} if acquisition is None else {"acquisition": acquisition})
            for place, (_, acquisition) in enumerate(fields)
        ]
        groups[path] = {"well": {"images": listed, "version": "0.5"}}
        fields_of_view |= {f"{path}/{place}": images[number] for place, (number, _) in enumerate(fields)}
    return NewHierarchy(fields_of_view, groups, dict(files or {}))


def _describe_acquisition(plate: PlateDescription, number: int) -> dict[str, Any]:
    """Return an acquisition in the form of OME-Zarr 0.5 "plate" metadata."""
    most = max((sum(one == number for _, one in fields) for fields in plate.wells.values()), default=0)
    known = zip(("name", "starttime", "endtime"), plate.acquisitions[number], strict=True)
    return {"maximumfieldcount": most, "id": number} | {key: value for key, value in known if value is not None}


def _well_path(plate: PlateDescription, place: tuple[int, int]) -> str:
    return f"{plate.rows[place[0]]}/{plate.columns[place[1]]}"
