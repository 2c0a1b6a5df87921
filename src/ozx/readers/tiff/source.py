"""The pixels of a TIFF series or level, read in blocks; each strip or tile is decoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.images.pixel_source import PixelSource
from ozx.places.byte_source import FileSource
from ozx.readers.images import FileSet, ReadingOptions
from ozx.readers.tiff.pages import AXES, Corner, PageGrid, Spans
from ozx.readers.tiff.segments import JPEG, SegmentReader

if TYPE_CHECKING:
    from tifffile import TiffPageSeries

    from ozx.readers.tiff.layouts import Page


# A cache of decoded strips and tiles; each is removed when all its pixels have been used.


class SegmentCache:
    """A thread-safe cache of arrays by key: an array in the cache is not computed again.

    `budget` limits the bytes in the cache. Above this limit, the oldest arrays are dropped.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._arrays: OrderedDict[Hashable, Future[NDArray[Any]]] = OrderedDict()
        self._missing: dict[Hashable, int] = {}
        #: Number of bytes in the cache.
        self.size = 0

    def get(self, key: Hashable, make: Callable[[], NDArray[Any]], *, used: int, whole: int) -> NDArray[Any]:
        """Return the array for `key`; call `make` to compute a missing array.

        `used`, `whole`: number of pixels that this call uses, and number of all pixels of the array. An array without
        unused pixels is dropped.
        """
        if used >= whole:
            return make()
        with self._lock:
            future = self._arrays.get(key)
            is_mine = future is None
            if future is None:
                future = self._arrays[key] = Future()
                self._missing[key] = whole
        if is_mine:
            try:
                array = make()
            except BaseException as error:
                with self._lock:
                    self._drop(key)
                future.set_exception(error)
                raise
            with self._lock:
                future.set_result(array)
                self.size += array.nbytes
        array = future.result()
        with self._lock:
            self._count(key, future, used)
        return array

    def _count(self, key: Hashable, future: Future[NDArray[Any]], used: int) -> None:
        if self._arrays.get(key) is future:
            self._missing[key] -= used
            if self._missing[key] <= 0:
                self._drop(key)
        while self.size > self._budget:
            oldest = next((name for name, kept in self._arrays.items() if kept.done()), None)
            if oldest is None:
                return
            self._drop(oldest)

    def _drop(self, key: Hashable) -> None:
        future = self._arrays.pop(key, None)
        self._missing.pop(key, None)
        if future is not None and future.done() and future.exception() is None:
            self.size -= future.result().nbytes


Region = tuple[slice, ...]
# Start and stop along the five dimensions of a page.
Ranges = Sequence[tuple[int, int]]

# Decoded strips that lie in several blocks are kept; all strips of a wide slide would exceed memory.
_KEPT_BYTES = 128 << 20
# Key for the damage of all pages behind the end of the file.
_CUT_OFF = "cut off"


class TiffSource:
    """A source for the pixels of a TIFF series, with axes in the order t, c, z, y, x.

    Channels with samples become one axis: the samples of the first channel, then those of the second. As in
    `tifffile.imread`, palettes are not applied, and pixels whose value 0 means white are not inverted.
    """

    def __init__(
        self,
        series: TiffPageSeries,
        files: FileSet,
        options: ReadingOptions,
        recipe: tuple[Callable[..., PixelSource], tuple[Any, ...]],
    ) -> None:
        self.files = files
        self._recipe = recipe
        self._fills = options.on_error == "fill"
        self._pages = PageGrid(series, options.axes)
        for path in self._pages.paths:
            files[path]  # from now on, it must not change
        #: Descriptions of all missing or unreadable parts found so far, by part.
        self.damaged: dict[Hashable, str] = {}
        # A page that does not fit counts as missing, and is read as zeros.
        self._missing = self._pages.count_missing()
        for number, error in self._pages.remove_misfits(files):
            self._damaged(("misfit", number), error)
        self._cache = SegmentCache(_KEPT_BYTES)
        self._readers: dict[int, SegmentReader] = {}
        lengths = self._pages.axis_lengths
        self.axes = tuple(axis for axis in lengths if options.keep_singletons or lengths[axis] > 1 or axis in "yx")
        self.shape = tuple(lengths[axis] for axis in self.axes)
        #: The axes that were assigned to unnamed dimensions.
        self.guessed = self._pages.guessed
        #: Whether its pixels have three colours, and lack details because they are stored as JPEG.
        self.is_color_jpeg = series.keyframe.samplesperpixel == 3 and int(series.keyframe.compression) in JPEG
        self.dtype: np.dtype[Any] = np.dtype(series.dtype).newbyteorder("=")
        self.read_alignment = self._find_read_alignment(series)
        # From this page on, all pages are known to lie behind the end of the file.
        self._cut_from = self._pages.count
        self._check_planes()

    @property
    def damage(self) -> list[str]:
        """Descriptions of all missing or unreadable parts found so far, if `on_error` is ``fill``."""
        return list(self.damaged.values())

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the missing or unreadable parts of a block, if `on_error` is ``fill``."""
        if not self.damaged:
            return ()
        spans = self._spans(region)
        keys: list[Hashable] = []
        for number, corner in self._pages.iter_inside(spans):
            page = self._pages.page(number)
            if self._pages.plain_offset(number) is not None:
                keys.append(number if number < self._cut_from else _CUT_OFF)
            elif page is not None:
                reader = self._reader(page)
                keys += [(id(page), segment) for segment, _ in reader.iter_inside(self._wanted(corner, spans))]
        return tuple(self.damaged[key] for key in keys if key in self.damaged)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._recipe

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a C-contiguous block, into `out` if it is given; safe to call from several threads."""
        spans = self._spans(region)
        if out is None:
            out = np.empty([spans[axis][1] - spans[axis][0] for axis in self.axes], self.dtype)
        whole = out[tuple(slice(None) if axis in self.axes else None for axis in AXES)]
        for number, corner in self._pages.iter_inside(spans):
            wanted = self._wanted(corner, spans)
            if not self._fill_at_once(number, wanted, whole[self._place(corner, *_extent(wanted), spans)]):
                for begins, pixels in self._iter_parts(number, wanted):
                    whole[self._place(corner, begins, pixels.shape, spans)] = self._pages.in_order(pixels)
        return out

    def _spans(self, region: Region) -> Spans:
        spans = dict.fromkeys(AXES, (0, 1))
        for axis, part, length in zip(self.axes, region, self.shape, strict=True):
            spans[axis] = part.indices(length)[:2]
        return spans

    def _fill_at_once(self, number: int, wanted: Ranges, target: NDArray[Any]) -> bool:
        """Read pixels directly into a block; return False if they must be decoded or reordered."""
        if self._pages.plain_offset(number) is None or not self._pages.is_in_order or not target.flags.c_contiguous:
            return False
        pixels = target.reshape(_extent(wanted)[1])
        if self._stored_dtype(number) != pixels.dtype:
            return False
        self._read_plain(number, wanted, pixels)
        return True

    def _stored_dtype(self, number: int) -> np.dtype[Any]:
        return self.dtype.newbyteorder(self._pages.first(number).parent.byteorder)

    def _wanted(self, corner: Corner, spans: Spans) -> Ranges:
        """Return the region of a page that overlaps a block."""
        wanted = []
        for axis, length in zip(self._pages.inner_axes, self._pages.inner_lengths, strict=True):
            first, (start, stop) = (0, (0, 1)) if axis is None else (corner[axis], spans[axis])
            wanted.append((max(0, start - first), min(length, stop - first)))
        return wanted

    def _place(self, corner: Corner, begins: Sequence[int], shape: Sequence[int], spans: Spans) -> Region:
        """Return the slices of a block for a part of a page; `begins` is the start of the part in the page."""
        starts, lengths = dict(corner), dict.fromkeys(AXES, 1)
        for axis, begin, length in zip(self._pages.inner_axes, begins, shape, strict=True):
            if axis is not None:
                starts[axis] += begin
                lengths[axis] = length
        return tuple(
            slice(starts[axis] - spans[axis][0], starts[axis] - spans[axis][0] + lengths[axis]) for axis in AXES
        )

    def _iter_parts(self, number: int, wanted: Ranges) -> Iterator[tuple[list[int], NDArray[Any]]]:
        """Yield the pixels of a region of a page in pieces, each with its start in the page."""
        lows, shape = _extent(wanted)
        page = self._pages.page(number)
        if self._pages.plain_offset(number) is not None:
            pixels = np.empty(shape, self._stored_dtype(number))
            self._read_plain(number, wanted, pixels)
            yield lows, pixels
        elif page is None:
            yield lows, np.zeros(shape, self.dtype)
        else:
            yield from self._iter_segments(page, wanted)

    def _read_plain(self, number: int, wanted: Ranges, pixels: NDArray[Any]) -> None:
        """Read a region of a page with uncompressed pixels into a contiguous array."""
        lengths, item = self._pages.inner_lengths, pixels.dtype.itemsize
        # Pixels are contiguous along the last dimension that is not read whole, and along the dimensions after it.
        together = max((place for place, part in enumerate(wanted) if part != (0, lengths[place])), default=0)
        size = prod(pixels.shape[together:]) * item
        begins = np.array(self._pages.plain_offset(number))
        for place, (low, high) in enumerate(wanted):
            step = prod(lengths[place + 1 :]) * item
            begins = np.add.outer(begins, np.arange(low, high if place < together else low + 1) * step)
        source = self.files[self._pages.first(number).parent.filehandle.path]
        data = memoryview(pixels.reshape(-1).view(np.uint8).data)
        for run, begin in enumerate(begins.reshape(-1).tolist()):
            part = data[run * size : (run + 1) * size]
            if (found := source.read_into_at(part, begin)) < size:
                if number < self._cut_from:
                    self._damaged(number, self._cut_off(f"page {number} is", begin, begin + size, source))
                part[found:] = bytes(size - found)

    def _iter_segments(self, page: Page, wanted: Ranges) -> Iterator[tuple[list[int], NDArray[Any]]]:
        """Yield, for each strip or tile in a region, the needed pixels and their start in the page."""
        reader, lengths = self._reader(page), self._pages.inner_lengths
        for number, begins in reader.iter_inside(wanted):
            ends = map(min, (begin + step for begin, step in zip(begins, reader.lengths, strict=True)), lengths)
            lows = [max(begin, low) for begin, (low, _) in zip(begins, wanted, strict=True)]
            inside = tuple(end - begin for begin, end in zip(begins, ends, strict=True))
            cut = tuple(
                slice(low - begin, min(length, high - begin))
                for begin, low, length, (_, high) in zip(begins, lows, inside, wanted, strict=True)
            )
            used = prod(part.stop - part.start for part in cut)
            yield lows, self._segment(reader, page, number, used=used, whole=prod(inside))[cut]

    def _segment(self, reader: SegmentReader, page: Page, number: int, *, used: int, whole: int) -> NDArray[Any]:
        def decode() -> NDArray[Any]:
            try:
                return reader.read(page, number)
            except FormatError as error:
                self._damaged((id(page), number), error)
                return np.zeros(reader.lengths, self.dtype)

        return self._cache.get((id(page), number), decode, used=used, whole=whole)

    def _reader(self, page: Page) -> SegmentReader:
        keyframe = page.keyframe
        assert keyframe is not None  # noqa: S101 (every page of a series has one)
        reader = self._readers.get(id(keyframe))
        if reader is None:
            # Two threads may make the same reader, which is harmless.
            reader = self._readers[id(keyframe)] = SegmentReader(keyframe, self.files)
        return reader

    def _find_read_alignment(self, series: TiffPageSeries) -> tuple[int, ...]:
        pages, page = self._pages, self._pages.page(0)
        lengths: Sequence[int] = (1, 1, 1, 1, pages.inner_lengths[4])
        if pages.plain_offset(0) is None:
            lengths = self._reader(page or series.keyframe).lengths
        read_alignment = dict.fromkeys(AXES, 1)
        for axis, length, most in zip(pages.inner_axes, lengths, pages.inner_lengths, strict=True):
            if axis is not None:
                read_alignment[axis] = min(length, most)
        return tuple(read_alignment[axis] for axis in self.axes)

    def _check_planes(self) -> None:
        """Raise an error for missing or truncated planes, before any pixels are read."""
        pages = self._pages
        if missing := self._missing:
            problem = f"{missing:,} of the {pages.count:,} planes in the metadata are missing"
            hint = "on_error='fill' fills missing planes with zeros."
            self._damaged("planes", FormatError(problem, hint=hint))
        last = pages.count - 1
        offset = pages.plain_offset(last)
        if offset is None:
            return
        source, end = self.files[pages.first(last).parent.filehandle.path], offset + pages.inner_size
        if end <= source.size():
            return
        if not self._fills:
            raise self._cut_off(f"page {last} is", offset, end, source)
        first = pages.count_contiguous(source.size())
        if first is not None:
            # One sentence for all lost pages: a damaged description may claim millions of them.
            self._cut_from = first
            which = f"page {last} is" if first == last else f"pages {first} to {last} are"
            begin = offset - (last - first) * pages.inner_size
            self._damaged(_CUT_OFF, self._cut_off(which, begin, end, source))

    def _cut_off(self, which: str, begin: int, end: int, source: FileSource) -> FormatError:
        return FormatError(
            f"{which} cut off: bytes {begin:,} to {end:,} are needed, but the file ends at {source.size():,}",
            path=source.name,
            hint="The file is incomplete: copy or download it again.",
        )

    def _damaged(self, what: Hashable, error: FormatError) -> None:
        if not self._fills:
            raise error
        self.damaged.setdefault(what, f"{error}; filled with zeros")


def _extent(wanted: Ranges) -> tuple[list[int], list[int]]:
    """Return the starts and the lengths of several ranges."""
    return [low for low, _ in wanted], [high - low for low, high in wanted]
