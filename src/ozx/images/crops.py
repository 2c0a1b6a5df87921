"""Crops of one size out of many images, for training: where each lies, and its pixels.

A crop follows from a seed, the epoch and its number alone, so that any process can make any crop.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import glob
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.errors import MissingFileError, OzxError, UsageError, resource_errors
from ozx.images.image import GroupNodes, Image
from ozx.images.selection import choose_channels, choose_level
from ozx.missing_files import is_pattern
from ozx.ome.images import image_paths
from ozx.ome.subset.region import ChannelsLike
from ozx.places.place import Place, StrPath, given_path
from ozx.places.remote.folder import RemoteFolder
from ozx.store.level import factor_between
from ozx.store.opening import open_hierarchy
from ozx.threads import default_jobs, map_ahead

# Files that a process keeps open: systems allow about a thousand.
_OPEN_FILES = 128
# More threads than processors, because requests wait for their server.
_REMOTE_THREADS = 16
_MOST_TRIALS = 1000
_BLOCK_TRIALS = 20  # before a block gives way to any image
# Intensities are compared on the coarsest level on which a crop still has so many pixels along each axis.
_COARSE = 4

#: Where something begins and ends along an axis, in pixels.
Range = tuple[int, int]
#: The number of an image, and the first pixel of a crop along each axis.
Spot = tuple[int, list[int]]
#: Returns the pixels at places: a range for each axis of the image.
PixelReader = Callable[[Sequence[Sequence[Range]]], list[NDArray[Any]]]


class Crop(NamedTuple):
    """The place of a crop.

    Attributes
    ----------
    path, node
        The file, and the path of the image in it.
    level
        The resolution level.
    region
        The range ``(start, stop)`` along each axis but that of channels, in pixels of the level.
    """

    path: str
    node: str
    level: int
    region: dict[str, Range]


class CropSource:
    """The images in some files, and crops out of them; every process opens the files that it needs.

    `where` is the name of a label image, or a mean intensity.
    """

    def __init__(
        self,
        sources: StrPath | Sequence[StrPath],
        size: tuple[int, ...],
        channels: ChannelsLike | None,
        level: int | None,
        pixel_size: float | None,
        labels: tuple[str, ...],
        where: str | float | None,
        access: Mapping[str, Any] | None,
    ) -> None:
        self.size, self.channels, self.level, self.pixel_size = size, channels, level, pixel_size
        self.labels, self.where, self._access = labels, where, access
        self.paths = list(_expanded(sources, access))
        self._is_far = any(Place.parse(path).is_remote for path in self.paths)
        self._threads = _REMOTE_THREADS if self._is_far else default_jobs()
        self.__setstate__({})
        listed = enumerate(map_ahead(self._listed, range(len(self.paths)), self._threads))
        self._images = [(number, node) for number, nodes in listed for node in nodes]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_open"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open = lru_cache(_OPEN_FILES)(self._opened)

    def draw(self, key: tuple[int, int], number: int, block: tuple[int, list[Range]] | None = None) -> Spot:
        """Return the place of a crop, in any image, or in a block of one; `key` is the seed and the epoch.

        If a block seems to have no crop as it is wanted, any image serves.
        """
        for trial in range(_MOST_TRIALS):
            random = iter(_random(key, (number, trial), 16))
            first = _pick(next(random), (0, len(self._images)))
            image, starts = block if block and trial < _BLOCK_TRIALS else (first, self.view(first).starts)
            start = self.view(image).accepted([_pick(next(random), each) for each in starts], starts, next(random))
            if start is not None:
                return image, start
        what, hint = f"with a mean of at least {self.where}", "Give a lower where=, or leave out dark images."
        if isinstance(self.where, str):
            what = f"whose centre lies in {self.where!r}"
            hint = "It is rare: give larger crops, cut the images around it (ozx extract), or leave out where=."
        raise UsageError(f"no crop {what} was found in {_MOST_TRIALS:,} trials", hint=hint)

    def describe(self, spot: Spot) -> Crop:
        """Return the place of a crop in the user's words."""
        (number, node), view = self._images[spot[0]], self.view(spot[0])
        region = {name: each for name, each in zip(view.names, view.place(spot[1]), strict=True) if name is not None}
        return Crop(self.paths[number], node, view.level, region)

    def read(self, spots: Sequence[Spot]) -> list[tuple[NDArray[Any], ...]]:
        """Return the pixels of crops, of the image and of each label image; those of one image are read together."""
        groups: dict[int, list[int]] = {}
        for at, (image, _) in enumerate(spots):
            groups.setdefault(image, []).append(at)

        def read(image: int) -> Iterator[tuple[int, tuple[NDArray[Any], ...]]]:
            return zip(groups[image], self.view(image).read([spots[at][1] for at in groups[image]]), strict=True)

        found = map_ahead(read, groups, self._threads) if self._is_far and len(groups) > 1 else map(read, groups)
        samples = dict(pair for group in found for pair in group)
        return [samples[at] for at in range(len(spots))]

    def block_counts(self) -> list[int]:
        """Return how many blocks come before each image, and last their number; a block has the crops in one shard."""
        counts = map_ahead(lambda image: math.prod(self.view(image).grid), range(len(self._images)), self._threads)
        return list(accumulate(counts, initial=0))

    def view(self, image: int) -> _View:
        """Return an image, opened."""
        number, node = self._images[image]
        try:
            return self._view(number, node)
        except FileNotFoundError as error:
            name = Place.parse(self.paths[number]).name
            hint = "It was there when the dataset was made: put it back, or make the dataset anew without it."
            raise MissingFileError("the file is missing", path=name, hint=hint) from error

    def _view(self, number: int, node: str) -> _View:
        nodes, views = self._open(number)
        if node not in views:
            name = Place.parse(self.paths[number]).name
            try:
                views[node] = _View(nodes.image(node), self)
            except OzxError as error:
                raise error.at(f"{name}/{node}" if node else name) from None
        return views[node]

    @resource_errors()
    def _opened(self, number: int) -> tuple[GroupNodes, dict[str, _View]]:
        place = Place.parse(self.paths[number])
        return GroupNodes(open_hierarchy(place, options=self._access)), {}

    def _listed(self, number: int) -> list[str]:
        """Return the paths of the images in a file, after opening the first of them."""
        nodes, _ = self._open(number)
        paths = [path for path in dict.fromkeys(image_paths(nodes)) if nodes.find(path) is not None]
        if not paths:
            raise UsageError("expected an image; found none", path=Place.parse(self.paths[number]).name)
        self._view(number, paths[0])
        return paths


def _pixel_reader(array: Any, axes: Sequence[int | None], wanted: Sequence[int]) -> PixelReader:
    """Return what reads crops of an array: a level of an image or of one of its label images.

    `axes`: the image's axis for each of the array; `wanted`: the image's axes that a crop keeps, in order. A place is a
    range for each axis of the image, of one pixel for those that are left out.
    """
    kept = [axes.index(axis) for axis in wanted if axis in axes]
    order = [*kept, *(at for at in range(len(axes)) if at not in kept)]

    def ordered(pixels: NDArray[Any], place: Sequence[Range]) -> NDArray[Any]:
        lengths = dict(zip(axes, pixels.shape, strict=True))
        turned = pixels.transpose(order).reshape([lengths.get(axis, 1) for axis in wanted])
        shape = tuple(stop - first for first, stop in (place[axis] for axis in wanted))
        if turned.shape != shape:  # a mask of one plane holds for all planes
            turned = np.broadcast_to(turned, shape)
        return np.ascontiguousarray(turned, turned.dtype.newbyteorder("="))

    def read(places: Sequence[Sequence[Range]]) -> list[NDArray[Any]]:
        # A label image may lack an axis, or have one plane for all times or planes.
        lengths = list(zip(axes, array.shape, strict=True))
        windows = [
            [(0, 1) if axis is None or length == 1 else place[axis] for axis, length in lengths] for place in places
        ]
        corners = np.array(windows)
        low, high = corners[..., 0].min(axis=0), corners[..., 1].max(axis=0)
        if len(windows) > 1 and (high - low).prod() <= (corners[..., 1] - corners[..., 0]).prod(axis=1).sum():
            # Crops lie so densely that the pixels around all of them are fewer: decode each once.
            (box,) = array.read_many([tuple(map(slice, low.tolist(), high.tolist()))])
            found = [box[tuple(slice(*each) for each in window)].copy() for window in (corners - low[:, None]).tolist()]
        else:
            found = array.read_many([tuple(slice(*each) for each in window) for window in windows])
        return list(map(ordered, found, places))

    return read


class _View:
    """An image, opened: its level and its label images, and where crops may begin along each axis."""

    def __init__(self, image: Image, crops: CropSource) -> None:
        self.level = choose_level(image.levels, image.axes, crops.level, crops.pixel_size, None)
        self._levels, self._channel = image.levels[self.level :], image.channel_axis
        self.names = [None if at == self._channel else axis.name for at, axis in enumerate(image.axes)]
        shape = self._levels[0].shape
        self._spatial = _spatial(self.names, crops.size, shape)
        self._channels = _channel_ranges(image, crops.channels)
        extents = dict(zip(self._spatial, crops.size, strict=True))
        self._extents = [length if at == self._channel else extents.get(at, 1) for at, length in enumerate(shape)]
        self.starts = [(0, length - extent + 1) for length, extent in zip(shape, self._extents, strict=True)]
        kept = [*([] if self._channel is None else [self._channel]), *self._spatial]
        self._array, self._coarse = self._levels[0].array, self._levels[self._coarsest()].array
        self._read_part, self._read_coarse = (
            _pixel_reader(array, range(len(shape)), kept) for array in (self._array, self._coarse)
        )
        self._labels = [_label_pixels(image, self.names, shape, self._spatial, name) for name in crops.labels]
        where = crops.where
        self._least = None if isinstance(where, str) else where
        self._mask = _label_pixels(image, self.names, shape, self._spatial, where) if isinstance(where, str) else None

    @property
    def crop_size(self) -> int:
        """The bytes of a crop with all channels."""
        return math.prod(self._extents) * int(self._array.dtype.itemsize)

    @property
    def grid(self) -> list[int]:
        """The number of blocks along each axis."""
        return [len(each) for each in self._cuts]

    @property
    def _cuts(self) -> list[list[Range]]:
        array = self._array
        units = array.shards or array.chunks
        return [
            [(0, 1)] if at == self._channel else list(_cut(length, unit, extent))
            for at, (length, unit, extent) in enumerate(zip(array.shape, units, self._extents, strict=True))
        ]

    def block(self, number: int) -> list[Range]:
        """Return where crops may begin in a block."""
        return [each[int(at)] for each, at in zip(self._cuts, np.unravel_index(number, self.grid), strict=True)]

    def place(self, start: Sequence[int]) -> list[Range]:
        """Return the range of a crop along each axis."""
        return [(first, first + extent) for first, extent in zip(start, self._extents, strict=True)]

    def accepted(self, start: list[int], starts: Sequence[Range], random: int) -> list[int] | None:
        """Return the start of a crop as it is wanted: `start`, or for a mask one near it; None if it is not so."""
        if self._mask is None:
            return start if self._least is None or self._brightness(start) >= self._least else None
        # Of the crops that begin in this one, take one whose centre lies in the mask.
        half = [extent // 2 if at in self._spatial else 0 for at, extent in enumerate(self._extents)]
        place = zip(self.place(start), starts, half, strict=True)
        (mask,) = self._mask([[(first + to, min(stop, last) + to) for (first, stop), (_, last), to in place]])
        inside = np.flatnonzero(mask)
        if not len(inside):
            return None
        found = np.unravel_index(inside[_pick(random, (0, len(inside)))], mask.shape)
        steps = dict(zip(self._spatial, map(int, found), strict=True))
        return [first + steps.get(at, 0) for at, first in enumerate(start)]

    def read(self, starts: Sequence[list[int]]) -> list[tuple[NDArray[Any], ...]]:
        """Return the pixels of crops: of the image with channels as the first axis, and of each label image."""
        places = [self.place(start) for start in starts]
        columns = [self._read(self._read_part, places), *(label(places) for label in self._labels)]
        return list(zip(*columns, strict=True))

    def _read(self, read: PixelReader, places: Sequence[list[Range]]) -> list[NDArray[Any]]:
        if self._channel is None:
            return [pixels[None] for pixels in read(places)]
        at, count = self._channel, len(self._channels)
        found = read([[*place[:at], each, *place[at + 1 :]] for place in places for each in self._channels])
        return found if count == 1 else [np.concatenate(found[n : n + count]) for n in range(0, len(found), count)]

    def _brightness(self, start: Sequence[int]) -> float:
        """Return the mean of all pixels of the coarse level that cover a part of a crop."""
        place = []
        for axis, (first, stop) in enumerate(self.place(start)):
            length = self._coarse.shape[axis]
            factor = self._levels[0].shape[axis] / length
            low = min(int(first / factor), length - 1)
            place.append((low, max(low + 1, min(math.ceil(stop / factor), length) if axis in self._spatial else 0)))
        return float(self._read(self._read_coarse, [place])[0].mean())

    def _coarsest(self) -> int:
        """Return the coarsest level on which a crop still has some pixels along each axis."""
        for number in reversed(range(len(self._levels))):
            factors = [factor_between(self._levels[0], self._levels[number], axis) for axis in self._spatial]
            if all(self._extents[at] >= _COARSE * by for at, by in zip(self._spatial, factors, strict=True)):
                return number
        return 0


def _expanded(sources: StrPath | Sequence[StrPath], access: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the files of paths, URLs and patterns; those of a pattern in the order of their names."""
    given = [sources] if isinstance(sources, str | os.PathLike) else sources
    if not isinstance(given, Iterable):
        raise UsageError(f"expected a path, a pattern or a list of them; got {sources!r:.100}")
    given = list(given)
    if not given:
        raise UsageError("expected at least one file; got none")
    for path in map(given_path, given):
        found = [path]
        if Place.parse(path).is_remote and "*" in path:
            folder, _, name = path.rpartition("/")
            bucket = RemoteFolder(folder, access)
            if "*" in folder or not bucket.can_list:
                raise UsageError(
                    "only the last name of a URL in a bucket may be a pattern", path=path, hint="Name each file."
                )
            found = [f"{folder}/{key}" for key, _ in bucket.list_objects() if "/" not in key and fnmatchcase(key, name)]
        elif is_pattern(path) and not Place.parse(path).exists():
            found = glob(path, recursive=True)
        if not found:
            raise UsageError(f"no file matches {Place.parse(path).name}")
        yield from sorted(found)


def _spatial(names: Sequence[str | None], size: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return the axes of a crop's lengths; raise `UsageError` if the image lacks one, or is smaller."""
    wanted = "zyx"[-len(size) :]
    if not set(wanted) <= set(names):
        raise UsageError(f"expected the axes {', '.join(wanted)} for crops of {_times(size)} pixels")
    spatial = [names.index(name) for name in wanted]
    if any(shape[axis] < each for axis, each in zip(spatial, size, strict=True)):
        raise UsageError(
            f"the image has {_times([shape[axis] for axis in spatial])} pixels, fewer than a crop: {_times(size)}",
            hint="Leave this file out, or give a smaller size.",
        )
    return spatial


def _channel_ranges(image: Image, channels: ChannelsLike | None) -> list[Range]:
    """Return the channels as ranges: one for neighbours, else one for each."""
    labels = [known.label for known in image.channels]
    chosen = choose_channels(channels, labels, image.channel_count, image.path or "the root")
    numbers = [chosen] if isinstance(chosen, int) else list(range(image.channel_count) if chosen is None else chosen)
    if all(after == before + 1 for before, after in pairwise(numbers)):
        return [(numbers[0], numbers[-1] + 1)]
    return [(number, number + 1) for number in numbers]


def _label_pixels(
    image: Image, names: Sequence[str | None], shape: Sequence[int], spatial: Sequence[int], label: str
) -> PixelReader:
    """Return what reads the level of a label image whose pixels are those of the image's level."""
    if label not in image.labels:
        raise UsageError(f"there is no label image {label!r}; its label images: {', '.join(image.labels) or 'none'}")
    axes = [names.index(axis.name) if axis.name in names else None for axis in image.labels[label].axes]
    for level in image.labels[label].levels:
        pairs = list(zip(axes, level.shape, strict=True))
        fits = all(length == 1 or (axis is not None and length == shape[axis]) for axis, length in pairs)
        if fits and all((axis, shape[axis]) in pairs for axis in spatial[-2:]):
            return _pixel_reader(level.array, axes, spatial)
    raise UsageError(f"the label image {label!r} has no level of {_times([shape[axis] for axis in spatial])} pixels")


def _cut(length: int, unit: int, extent: int) -> Iterator[Range]:
    """Yield where crops may begin in each block along an axis; a rest that is too short joins the block before it.

    Examples
    --------
    >>> list(_cut(1000, 256, 100)), list(_cut(300, 64, 100))
    ([(0, 157), (256, 413), (512, 669), (768, 901)], [(0, 29), (128, 201)])
    """
    block = -(-extent // unit) * unit
    count = max(1, length // block + (length % block >= extent))
    for number in range(count):
        stop = length if number == count - 1 else (number + 1) * block
        yield number * block, stop - extent + 1


def shuffled(key: tuple[int, int], number: int, count: int) -> list[int]:
    """Return the numbers below `count` in random order, which follows from a key and a number."""
    order: list[int] = np.argsort(_random(key, (number, 0, 1), count), kind="stable").tolist()
    return order


def _random(key: tuple[int, int], counter: tuple[int, ...], count: int) -> list[int]:
    """Return random numbers of 64 bits that follow from a key and a counter, in all versions of numpy."""
    words = np.array([0, *counter, 0][:4], np.uint64)
    found: list[int] = np.random.Philox(key=np.array(key, np.uint64), counter=words).random_raw(count).tolist()
    return found


def _pick(random: int, bounds: Range) -> int:
    """Return a number of a range for a random number of 64 bits."""
    return bounds[0] + (random * (bounds[1] - bounds[0]) >> 64)


def _times(lengths: Sequence[int]) -> str:
    return " × ".join(map(str, lengths))
