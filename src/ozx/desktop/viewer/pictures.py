"""Cut the pictures of a file into tiles: an image, a label image, or all fields of a plate as one picture."""

from __future__ import annotations

import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.images.image import GroupNodes, Image
from ozx.images.pictures.planes import choose_level, plane_axes, scale_index
from ozx.images.pictures.render import label_outlines, percentile_window
from ozx.images.plate_picture import OpenedPlate, PlatePicture, met_tiles, opened_plate
from ozx.ome.colors import Window
from ozx.ome.images import level_factor
from ozx.ome.nodes import ome_at
from ozx.store.level import Level, Price, check_price, price_of

# Cache decoded chunks, because neighbouring tiles usually need the same chunks.

# The most work for which a person looking at a picture waits.
_MOST = Price(chunks=20_000, decoded=8 << 30, chunk=1 << 30)


class ChunkCache:
    """A cache of the most recently decoded chunks: up to `capacity` bytes, but at least one chunk."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._chunks: OrderedDict[tuple[str, tuple[int, ...]], NDArray[Any]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._being_decoded: dict[tuple[str, tuple[int, ...]], threading.Lock] = {}
        #: Number of chunks decoded so far.
        self.decoded = 0

    def read(self, source: Level, index: Sequence[range]) -> NDArray[Any]:
        """Return the part of `source` at `index`, which has one ascending range per dimension."""
        wanted = tuple(slice(part.start, part.stop, part.step) for part in index)
        price = price_of(source.array, wanted)
        check_price(price, _MOST, f"{source.path}: this part", "Use a lower resolution, if the image has one.")
        if price.chunk > self._capacity:
            return source[wanted]
        out = np.empty([len(part) for part in index], source.dtype)
        met = [met_tiles(part, length) for part, length in zip(index, source.chunks, strict=True)]
        for pieces in itertools.product(*met):
            chunk = self._chunk(source, tuple(number for number, _, _ in pieces))
            out[tuple(target for _, _, target in pieces)] = chunk[tuple(inside for _, inside, _ in pieces)]
        return out

    def _chunk(self, source: Level, numbers: tuple[int, ...]) -> NDArray[Any]:
        key = (source.path, numbers)
        with self._lock:
            if key in self._chunks:
                self._chunks.move_to_end(key)
                return self._chunks[key]
            turn = self._being_decoded.setdefault(key, threading.Lock())
        with turn:  # other requests for this chunk wait for it
            with self._lock:
                if key in self._chunks:
                    return self._chunks[key]
            try:
                chunk = source[
                    tuple(slice(n * length, (n + 1) * length) for n, length in zip(numbers, source.chunks, strict=True))
                ]
                self._keep(key, chunk)
            finally:
                with self._lock:
                    self._being_decoded.pop(key, None)
        return chunk

    def _keep(self, key: tuple[str, tuple[int, ...]], chunk: NDArray[Any]) -> None:
        with self._lock:
            self.decoded += 1
            self._chunks[key] = chunk
            self._size += chunk.nbytes
            while self._size > self._capacity and len(self._chunks) > 1:
                self._size -= self._chunks.popitem(last=False)[1].nbytes


# Convert pixels to types that WebGL accepts: at most 32 bits, little-endian.
#
# WebGL 2 has textures of 8, 16 and 32-bit integers and of 32-bit floats. Exact values of wider types are sent for
# single pixels, on request.

_PLAIN = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
_LAST = (1 << 32) - 1


def sample_type(dtype: np.dtype[Any], *, is_label: bool) -> str:
    """Return the data type in which pixels of type `dtype` are sent."""
    if is_label and dtype.kind in "biu":
        return f"uint{8 * min(dtype.itemsize, 4)}"
    if is_label or dtype.kind not in "biufc":
        wanted = "label values that are integers" if is_label else "pixels that are numbers"
        raise UnsupportedError(f"expected {wanted}; found {dtype}", hint="Show the contents with ozx info.")
    if dtype.kind == "b":
        return "uint8"
    name = dtype.newbyteorder("=").name
    return name if name in _PLAIN else "float32"


def image_samples(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return pixels in the data type in which they are sent; complex pixels as their magnitude."""
    wanted = np.dtype(sample_type(pixels.dtype, is_label=False)).newbyteorder("<")
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.abs(pixels) if pixels.dtype.kind == "c" else pixels
        return plain.astype(wanted, copy=False)


def label_samples(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return label values as unsigned integers: only 0 becomes 0, and negative values wrap around."""
    wanted = np.dtype(sample_type(pixels.dtype, is_label=True)).newbyteorder("<")
    if pixels.dtype.itemsize <= 4:
        return pixels.astype(wanted)
    whole = pixels.astype(np.uint64)
    return np.where(whole == 0, 0, (whole - np.uint64(1)) % np.uint64(_LAST) + np.uint64(1)).astype(wanted)


#: Width and height of a tile in pixels.
TILE = 512
# If the lowest resolution is larger than this, lower ones are made by skipping pixels.
_LARGEST_OVERVIEW = 2048
_KEPT_CHUNKS = 256 << 20
# Pixels along the longest side that suffice to estimate the contrast.
_TELLING = 256
_MOST_TELLING = 1 << 24
# The bars of a histogram.
_STEPS = 96

#: A part of a picture in full-resolution pixels: top, left, bottom and right, the last two not included.
Part = tuple[int, int, int, int]


@dataclass(frozen=True)
class Picture:
    """An image, a label image, or the images of a plate side by side."""

    path: str  # an image's path; for a plate, the path below each field: empty, or that of a label image
    view: Image  # the image, or that of the whole plate
    notes: tuple[str, ...]  # missing parts, one sentence each
    cache: ChunkCache

    @cached_property
    def dimensions(self) -> tuple[int, int]:
        """The indexes of the vertical and the horizontal dimension."""
        return plane_axes(self.view)

    @property
    def lead(self) -> int:
        """The number of dimensions that the arrays of a plate's fields lack: 1 if wells have several fields."""
        return len(self.view.axes) - self.view.levels[0].array.ndim

    @cached_property
    def slider_dimensions(self) -> tuple[int, ...]:
        """The other dimensions: the viewer shows one plane of each at a time."""
        taken = (*self.dimensions, self.view.channel_axis)
        return tuple(number for number in range(len(self.view.axes)) if number not in taken)

    @cached_property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Height and width of each level, the full resolution first: those of the image, and smaller ones."""
        down, right = self.dimensions
        found = [(level.shape[down], level.shape[right]) for level in self.view.levels]
        height, width = found[-1]
        step = 1
        while max(found[-1]) > _LARGEST_OVERVIEW:
            step *= 2
            found.append((-(-height // step), -(-width // step)))
        return tuple(found)

    def stored(self, level: int) -> tuple[int, int]:
        """Return the number of the image's level from which a level is made, and the step between its pixels there."""
        last = len(self.view.levels) - 1
        return min(level, last), 1 << max(0, level - last)

    def factor(self, level: int) -> tuple[float, float]:
        """Return how many pixels of the full resolution a pixel of a level covers, along y and x."""
        number, step = self.stored(level)
        (full_height, full_width), (height, width) = self.sizes[0], self.sizes[number]
        return float(level_factor(full_height, height)) * step, float(level_factor(full_width, width)) * step

    def tile(
        self, level: int, row: int, column: int, channel: int, planes: Sequence[int], *, outlines: bool = False
    ) -> NDArray[Any]:
        """Return the samples of one tile, rows from the top; tiles at the right and lower edges may be smaller.

        With `outlines`, the tile of a label image has 0 inside of each label.

        `channel` is 0 without a channel dimension; `planes` has an index for each of `slider_dimensions`, in planes of
        the full resolution.
        """
        if not 0 <= level < len(self.sizes):
            raise UsageError(f"expected a level from 0 to {len(self.sizes) - 1}; got {level}")
        number, step = self.stored(level)
        rows, columns = (_span(at, length, step) for at, length in zip((row, column), self.sizes[level], strict=True))
        if not self.view.is_label:
            return image_samples(self._plane(number, rows, columns, channel, planes))
        if not outlines:
            return label_samples(self._plane(number, rows, columns, channel, planes))
        # The neighbours of the tile decide where a label ends at its edge.
        wider = [range(max(part.start - part.step, 0), part.stop + part.step, part.step) for part in (rows, columns)]
        samples = label_outlines(label_samples(self._plane(number, wider[0], wider[1], channel, planes)))
        top, left = int(rows.start > 0), int(columns.start > 0)
        return np.ascontiguousarray(samples[top : top + len(rows), left : left + len(columns)])

    def values(self, row: int, column: int, channels: Sequence[int], planes: Sequence[int]) -> list[Any]:
        """Return the values of one full-resolution pixel in each of `channels`, as Python numbers."""
        height, width = self.sizes[0]
        if not (0 <= row < height and 0 <= column < width):
            raise UsageError(f"expected a pixel of an image of {height} × {width}; got row {row}, column {column}")
        place = range(row, row + 1), range(column, column + 1)
        return [self._plane(0, *place, channel, planes)[0, 0].item() for channel in channels]

    def contrast(self, channel: int, planes: Sequence[int], part: Part | None = None) -> Window:
        """Return a range that contains nearly all pixel values of a channel in `part`, or in the whole picture."""
        return percentile_window(self._telling(channel, planes, part))

    def histogram(
        self, channel: int, planes: Sequence[int], ends: tuple[float, float], part: Part | None = None
    ) -> list[int]:
        """Return the number of pixels of a channel in each of 96 equal bins from `ends[0]` to `ends[1]`.

        The pixels come from the coarsest level with enough pixels for statistics in `part`, or in the whole picture.
        """
        low, high = ends
        if not low < high:
            raise UsageError(f"expected a range of values for the histogram; got {low} to {high}")
        pixels = self._telling(channel, planes, part)
        plain = np.abs(pixels) if pixels.dtype.kind == "c" else pixels
        with np.errstate(over="ignore", invalid="ignore"):
            values = plain.astype(np.float64).reshape(-1)
        counts, _ = np.histogram(values[np.isfinite(values)], _STEPS, (low, high))
        return [int(count) for count in counts]

    def _telling(self, channel: int, planes: Sequence[int], part: Part | None) -> NDArray[Any]:
        """Return pixels of a channel for statistics, from `part` or from the whole picture.

        The pixels come from the coarsest level in which the longest side of `part` has at least `_TELLING` pixels, else
        from the first level. If `part` has more than `_MOST_TELLING` pixels in this level, a coarser level is read.
        """
        height, width = self.sizes[0]
        top, left, bottom, right = part or (0, 0, height, width)
        if not (0 <= top < bottom <= height and 0 <= left < right <= width):
            raise UsageError(f"expected a part inside the {height} × {width} pixels of the image; got {part}")
        shares = []
        for level, lengths in enumerate(self.sizes):
            down, across = self.factor(level)
            shares.append((_share(top, bottom, down, lengths[0]), _share(left, right, across, lengths[1])))
        level = choose_level([(len(rows), len(columns)) for rows, columns in shares], (0, 1), _TELLING)
        while level < len(shares) - 1 and len(shares[level][0]) * len(shares[level][1]) > _MOST_TELLING:
            level += 1
        number, step = self.stored(level)
        rows, columns = (_stretch(share, step) for share in shares[level])
        return self._plane(number, rows, columns, channel, planes)

    def _plane(self, number: int, rows: range, columns: range, channel: int, planes: Sequence[int]) -> NDArray[Any]:
        source, full = self.view.levels[number], self.view.levels[0].shape
        sample_type(source.dtype, is_label=False)  # raises for text and other types
        down, right = self.dimensions
        index = [range(1)] * len(self.view.axes)
        index[down], index[right] = (
            range(part.start, min(part.stop, source.shape[dimension]), part.step)
            for part, dimension in ((rows, down), (columns, right))
        )
        if len(planes) != len(self.slider_dimensions):
            raise UsageError(f"expected {len(self.slider_dimensions)} planes; got {len(planes)}")
        for dimension, plane in zip(self.slider_dimensions, planes, strict=True):
            _check_within("a plane", plane, full[dimension])
            # Lower levels may have fewer planes.
            index[dimension] = _single(scale_index(plane, full[dimension], source.shape[dimension]))
        if self.view.channel_axis is not None:
            _check_within("a channel", channel, source.shape[self.view.channel_axis])
            index[self.view.channel_axis] = _single(channel)
        block = self._read(source, index)
        order = [down, right, *(number for number in range(len(index)) if number not in (down, right))]
        return block.transpose(order).reshape(len(index[down]), len(index[right]))

    def _read(self, source: Level, index: list[range]) -> NDArray[Any]:
        if isinstance(source, PlatePicture):
            return source[tuple(slice(part.start, part.stop, part.step) for part in index)]
        return self.cache.read(source, index)


class Pictures:
    """The pictures of one file, each opened on request."""

    def __init__(self, group: zarr.Group) -> None:
        self.group, self.nodes = group, GroupNodes(group)
        self.cache = ChunkCache(_KEPT_CHUNKS)
        self._opened: dict[tuple[str, bool], Picture] = {}

    @cached_property
    def fields(self) -> OpenedPlate | None:
        """The fields of the plate; None for a file without a plate."""
        plate = ome_at(self.nodes, "").plate
        return None if plate is None else opened_plate(self.nodes, plate)

    def image(self, path: str) -> Picture:
        """Return the image or label image at `path`; raise `FormatError` if it cannot be shown."""
        return self._kept(path, is_plate=False)

    def plate(self, part: str = "") -> Picture:
        """Return the picture of all fields side by side, or of the label image `part` of each field."""
        return self._kept(part, is_plate=True)

    def _kept(self, path: str, *, is_plate: bool) -> Picture:
        key = (path, is_plate)
        if key not in self._opened:
            self._opened[key] = self._open_plate(path) if is_plate else self._open_image(path)
        return self._opened[key]

    def _open_image(self, path: str) -> Picture:
        view = self.nodes.image(path)
        return self._checked(Picture(path, view, (*view.notes, *view.unapplied), self.cache))

    def _open_plate(self, part: str) -> Picture:
        fields = self.fields
        if fields is None:
            raise UsageError("this file is not a plate", hint="Show the contents with ozx info.")
        if part:
            fields = next((labels for labels in fields.labels() if labels.part == part), None)
            if fields is None:
                raise UsageError(f"the fields of the plate have no label image {part!r}")
        return self._checked(Picture(part, fields.image(), fields.notes, self.cache))

    def _checked(self, picture: Picture) -> Picture:
        plane_axes(picture.view)
        for level in picture.view.levels:
            if 0 in level.shape:
                raise FormatError(f"{level.path}: expected pixels; found none in an array of the shape {level.shape}")
        return picture


def _span(number: int, length: int, step: int) -> range:
    """Return the range of source pixels of tile `number` along one axis of `length` pixels."""
    first = number * TILE
    if not 0 <= first < length:
        raise UsageError(f"there is no tile {number}: it would begin behind the {length} pixels of the axis")
    return _stretch(range(first, min(first + TILE, length)), step)


def _share(first: int, stop: int, factor: float, length: int) -> range:
    """Return the range of the `length` pixels of a level that covers the full-resolution pixels `first` to `stop`.

    Examples
    --------
    >>> _share(10, 20, 4.0, 100), _share(399, 400, 4.0, 99)
    (range(2, 5), range(98, 99))
    """
    start = min(int(first / factor), length - 1)
    return range(start, max(start + 1, min(math.ceil(stop / factor), length)))


def _stretch(pixels: range, step: int) -> range:
    """Return the range of source pixels for a range of pixels of a picture of every `step`-th source pixel."""
    return range(pixels.start * step, pixels.stop * step, step)


def _single(number: int) -> range:
    return range(number, number + 1)


def _check_within(what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise UsageError(f"expected {what} from 0 to {count - 1}; got {number}")
