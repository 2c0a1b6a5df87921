"""Extraction of non-consecutive channels: the levels whose chunks hold no other channels, and the regions to copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ozx.errors import UnsupportedError
from ozx.hierarchy.ome.metadata import Dataset, Multiscale
from ozx.hierarchy.subset.array import Box, Picked
from ozx.hierarchy.subset.levels import AxisPlace, LevelCrops
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout


def has_gaps(channels: Sequence[int]) -> bool:
    """Return whether an ascending list of channel numbers has gaps.

    Examples
    --------
    >>> has_gaps((1, 2)), has_gaps((0, 2)), has_gaps(())
    (False, True, False)
    """
    return bool(channels) and channels[-1] - channels[0] + 1 != len(channels)


def whole_chunks(channels: Iterable[int], chunk: int, count: int) -> tuple[int, ...]:
    """Return the given channels, and all other channels that are in the same chunks.

    Examples
    --------
    >>> whole_chunks([0, 4], 2, 5), whole_chunks([0, 4], 1, 5)
    ((0, 1, 4), (0, 4))
    """
    firsts = dict.fromkeys(channel // chunk * chunk for channel in channels)
    return tuple(channel for first in firsts for channel in range(first, min(first + chunk, count)))


def separate_levels(
    multiscale: Multiscale,
    kept: Sequence[int],
    picked: tuple[int, ...],
    places: Mapping[str, AxisPlace],
    layout_of: Callable[[Dataset], ArrayLayout],
    where: str,
    *,
    keep_all: bool,
) -> tuple[list[int], list[int]]:
    """Return two lists of levels: levels whose chunks do not mix picked and other channels, and levels whose chunks do.

    `multiscale` is the image of `places`, or one of its label images. `keep_all` demands all levels.
    """
    dimension = _channel_axis(multiscale)
    if not picked or dimension is None:
        return list(kept), []
    fits: list[int] = []
    others: list[int] = []
    for number in kept:
        layout = layout_of(multiscale.datasets[number])
        count, chunk = layout.shape[dimension], layout.chunks[dimension]
        # A label image may have one channel for all channels of its image.
        is_alike = count == places[str(multiscale.axes[dimension].name)].length
        is_fit = not is_alike or whole_chunks(picked, chunk, count) == picked
        (fits if is_fit else others).append(number)
    if others and (keep_all or not fits or others[0] < fits[0]):
        raise UnsupportedError(
            f"{where}: expected level {multiscale.datasets[others[0]].path} to have separate chunks for the channels "
            f"{', '.join(map(str, picked))}; these channels share chunks with other channels",
            hint="Separate the channels with ozx repack --chunks c=1 first.",
        )
    return fits, others


def pick_channels(
    multiscale: Multiscale,
    crops: LevelCrops,
    picked: tuple[int, ...],
    others: Sequence[int],
    layout_of: Callable[[Dataset], ArrayLayout],
) -> LevelCrops:
    """Return `crops` limited to the picked channels, without the other channels between them.

    `others` are the numbers of levels that were left out because their chunks mix picked and other channels.
    """
    dimension = _channel_axis(multiscale)
    left_out = tuple(sorted((*crops.left_out, *others)))
    if not picked or dimension is None or multiscale.axes[dimension].name not in crops.region:
        return replace(crops, left_out=left_out)
    boxes = []
    for number, box in zip(crops.kept, crops.boxes, strict=True):
        shape = layout_of(multiscale.datasets[number]).shape if box is None else box.shape
        start = (0,) * len(shape) if box is None else box.start
        lengths = (*shape[:dimension], len(picked), *shape[dimension + 1 :])
        boxes.append(Box(start, lengths, Picked(dimension, picked)))
    return replace(crops, boxes=tuple(boxes), left_out=left_out, picked=picked)


def shown_region(multiscale: Multiscale, crops: LevelCrops) -> dict[str, tuple[int, int]]:
    """Return start and stop of the shown full-resolution pixels by axis; omit a channel axis with gaps."""
    dimension = _channel_axis(multiscale)
    channel = None if dimension is None or not crops.picked else multiscale.axes[dimension].name
    return {axis: interval.pixels() for axis, interval in crops.region.items() if axis != channel}


def _channel_axis(multiscale: Multiscale) -> int | None:
    return next((number for number, axis in enumerate(multiscale.axes) if axis.type == "channel"), None)
