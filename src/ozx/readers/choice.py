"""The part of an image that an import reads: the chosen channels, and a region of the pixels."""

from __future__ import annotations

from dataclasses import replace

from ozx.hierarchy.ome.transformations import exact
from ozx.hierarchy.subset.hierarchy import has_gaps
from ozx.hierarchy.subset.levels import AxisPlace, Box, Picked
from ozx.hierarchy.subset.region import Selection, find_channels
from ozx.images.pixel_source import CroppedSource
from ozx.images.writing.new_image import NewImage, PyramidLevel


def choose_part(image: NewImage, selection: Selection, where: str) -> tuple[NewImage, list[str]]:
    """Return an image with only the chosen pixels, which keep their places, and notes; `where` names the image."""
    first, channel, notes = image.levels[0], image.channel_axis, list[str]()
    names = [axis.name for axis in image.axes]
    ends = [(0, length) for length in first.shape]
    for axis, limits in selection.region.items():
        if axis in names:
            at = names.index(axis)
            place = AxisPlace(
                first.shape[at], first.scale[at], first.translation[at], image.axes[at].unit, at == channel
            )
            ends[at] = place.resolve(axis, limits, where)
        else:
            notes.append(f"not cropped along {axis}: the image has no such axis")
    picked: tuple[int, ...] = () if channel is None else tuple(range(*ends[channel]))
    if selection.channels and channel is None:
        notes.append("the whole image is kept, because it has no channel axis")
    elif selection.channels and channel is not None:
        labels = [each.label for each in image.channels]
        picked = find_channels(selection.channels, labels, image.channel_count, where)
        ends[channel] = picked[0], picked[-1] + 1
    # Of an axis that lower levels shorten, pixels are joined from the start of the crop on (as in `crop_exactly`).
    cut = {
        at: pair for at, pair in enumerate(ends) if pair != (0, first.shape[at]) or (at == channel and has_gaps(picked))
    }
    is_alike = all(level.shape[at] == first.shape[at] for level in image.levels for at in cut)
    if not is_alike:
        notes.append("the smaller levels of the file are left out: they are computed anew for the region")
    levels = image.levels if is_alike else image.levels[:1]
    boxes = [_box(level, cut, channel, picked) for level in levels]
    sources = [CroppedSource(*pair) for pair in zip(image.sources, boxes, strict=False)]
    channels = tuple(replace(image.channels[at], label=image.channels[at].label or f"Channel {at}") for at in picked)
    return replace(
        image,
        sources=tuple(sources) if cut else image.sources,
        levels=tuple(_moved(*pair, channel) for pair in zip(levels, boxes, strict=True)),
        channels=channels or image.channels,
    ), notes


def _box(level: PyramidLevel, cut: dict[int, tuple[int, int]], channel: int | None, picked: tuple[int, ...]) -> Box:
    ends = [cut.get(at, (0, length)) for at, length in enumerate(level.shape)]
    shape = [len(picked) if at == channel else stop - start for at, (start, stop) in enumerate(ends)]
    gaps = Picked(channel, picked) if channel is not None and has_gaps(picked) else None
    return Box(tuple(start for start, _ in ends), tuple(shape), gaps)


def _moved(level: PyramidLevel, box: Box, channel: int | None) -> PyramidLevel:
    """Return a level with the lengths and the place of a box; channels have numbers, and no place."""
    shifts = [0 if at == channel else start for at, start in enumerate(box.start)]
    places = zip(level.translation, level.scale, shifts, strict=True)
    moved = [float(exact(place) + by * exact(scale)) if by else place for place, scale, by in places]
    return replace(level, shape=box.shape, translation=tuple(moved))
