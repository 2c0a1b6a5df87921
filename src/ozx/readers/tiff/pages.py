"""The axes and the pages of a TIFF series, and the position of each page in the image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.readers.images import FileSet
from ozx.readers.tiff.layouts import iter_changes
from ozx.readers.tiff.series import dimensions_of

if TYPE_CHECKING:
    from tifffile import TiffPageSeries

    from ozx.readers.tiff.layouts import Page

#: The axes of an image, in the order of OME-Zarr 0.5 ("axes" metadata): time, channel, space.
AXES = ("t", "c", "z", "y", "x")

# tifffile's codes; S are the samples of a pixel. Spectra (E, lambda) become channels.
_KNOWN = {"T": "t", "C": "c", "S": "c", "E": "c", "Z": "z", "Y": "y", "X": "x"}
# The axes for dimensions of unknown meaning, the fastest first.
_GUESSES = ("z", "t", "c")

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a TIFF series."""

    axis: str  # the axis of the image along which the dimension runs
    length: int  # its length
    step: int = 1  # positions along the axis from one index to the next: 1, or the number of samples of each channel
    is_guessed: bool = False  # whether the file does not name the dimension


def parse_axes(text: str) -> tuple[str, ...]:
    """Parse axis names such as ``tczyx`` or ``t,c,z,y,x``."""
    letters = text.lower().replace(",", "").replace(" ", "")
    unknown = sorted(set(letters) - {*AXES, "s"})
    is_twice = any(letters.count(letter) > 1 for letter in letters)
    if unknown or is_twice or not {"y", "x"} <= set(letters):
        raise UsageError(
            f"axes: expected y and x, and perhaps some of t, c, z and s, each once; got {text!r}",
            hint="Give one letter for each dimension, in the order of the file; s means the samples of a pixel.",
        )
    return tuple(letters)


def name_dimensions(codes: str, shape: Sequence[int], asked: Sequence[str] | None = None) -> tuple[Dimension, ...]:
    """Return the named dimensions of a series, in the order of the file.

    A dimension of unknown meaning becomes z, else t, else c. A dimension of length 1 takes any free axis.

    Examples
    --------
    >>> [(part.axis, part.length, part.step) for part in name_dimensions("TCYXS", (4, 2, 64, 64, 3))]
    [('t', 4, 1), ('c', 2, 3), ('y', 64, 1), ('x', 64, 1), ('c', 3, 1)]
    >>> [part.axis for part in name_dimensions("QQYX", (3, 5, 64, 64))]
    ['t', 'z', 'y', 'x']
    >>> [part.axis for part in name_dimensions("IYX", (5, 64, 64), ("t", "y", "x"))]
    ['t', 'y', 'x']
    """
    names = _asked(codes, shape, asked) if asked is not None else [_KNOWN.get(code) for code in codes]
    unknown = [name is None and length > 1 for name, length in zip(names, shape, strict=True)]
    named = {name for name, length in zip(names, shape, strict=True) if name is not None and length > 1}
    for place in reversed(range(len(names))):
        if names[place] is None:
            free = [name for name in _GUESSES if name not in named]
            if shape[place] > 1 and not free:
                raise UnsupportedError(
                    f"expected at most the axes t, c, z, y and x; the image has {codes} ({'×'.join(map(str, shape))})",
                    hint="Save it as several images of five dimensions or fewer.",
                )
            names[place] = free[0] if free else "z"
            named |= {free[0]} if shape[place] > 1 else set()
    dimensions = _with_steps(codes, [name or "z" for name in names], shape)
    return tuple(replace(part, is_guessed=guess) for part, guess in zip(dimensions, unknown, strict=True))


def _asked(codes: str, shape: Sequence[int], asked: Sequence[str]) -> list[str | None]:
    counted = [place for place, code in enumerate(codes) if shape[place] > 1 or code in "YX"]
    if len(counted) != len(asked):
        found = "×".join(str(shape[place]) for place in counted)
        raise UsageError(
            f"axes: expected {len(counted)} axes for an image of {found}; got {len(asked)}, {''.join(asked)}",
            hint=f"In the file, the axes are named {_known_names(codes[place] for place in counted)}.",
        )
    given = dict(zip(counted, asked, strict=True))
    names: list[str | None] = [None if shape[place] > 1 else _KNOWN.get(code) for place, code in enumerate(codes)]
    for place, name in given.items():
        names[place] = "c" if name == "s" else name
    return names


def _known_names(codes: Iterable[str]) -> str:
    """Return the file's names of some dimensions, in the form of ``--axes``; ``?`` is a dimension without a name."""
    names = "".join("s" if code == "S" else _KNOWN.get(code, "?") for code in codes)
    return f"{names}; each ? is an axis without a name: write t, z or c instead" if "?" in names else names


def _with_steps(codes: str, names: Sequence[str], shape: Sequence[int]) -> list[Dimension]:
    """Return the dimensions of a series, each with its `Dimension.step`.

    The step of a dimension is the number of samples if the samples of a pixel run along the same axis; else it is 1.
    """
    parts = []
    for place, (name, length) in enumerate(zip(names, shape, strict=True)):
        others = [n for n, other in enumerate(names) if other == name and n != place and shape[n] > 1]
        step = 1
        if length > 1 and others:
            samples = [n for n in others if codes[n] == "S"]
            if codes[place] != "S" and samples:
                step = shape[samples[0]]
            elif codes[place] != "S" or len(others) > 1:
                raise UnsupportedError(
                    f"expected one dimension along {name}; found several: {codes} of {'×'.join(map(str, shape))}",
                    hint="Name its dimensions, as in axes='tyx'.",
                )
        parts.append(Dimension(name, length, step))
    return parts


# The pages, and their positions in the image.

#: A position along t, c, z, y and x.
Corner = dict[str, int]
#: Start and stop of a part of an image along t, c, z, y and x.
Spans = dict[str, tuple[int, int]]


class PageGrid:
    """The pages of a TIFF series by their positions in the image.

    The pixels of a page have five dimensions: separate samples, depth, height, width and samples of a pixel.
    """

    def __init__(self, series: TiffPageSeries, asked: Sequence[str] | None) -> None:
        # Of contiguous pixels, tifffile often lists the first page only.
        self._listed: list[Page | None] = getattr(series, "_pages", None) or list(series)
        # The keyframe of a series is in the file that is open, which may be the one whose pages do not fit.
        pages = (page.keyframe for page in self._listed if page is not None)
        keyframe = next((page for page in pages if page and page.dtype == series.dtype), series.keyframe)
        self.inner_lengths: tuple[int, ...] = tuple(keyframe.shaped)
        codes, shape = dimensions_of(series)
        if codes.endswith("S") and shape[-1] == 1 and self.inner_lengths[4] == 1:
            codes, shape = codes[:-1], shape[:-1]
        dimensions = name_dimensions(codes, shape, asked)
        self._outer, inner = _divide(dimensions, self.inner_lengths, codes)
        self.inner_axes = tuple(None if part is None else part.axis for part in inner)
        lengths = {axis: prod(part.length for part in dimensions if part.axis == axis) for axis in AXES}
        named = {part.axis for part in dimensions}
        if lengths["y"] == lengths["z"] == 1:  # a line over time; OME-Zarr 0.5, "axes": two or three axes of space
            named |= {"y"}
        self.axis_lengths = {axis: lengths[axis] for axis in AXES if axis in named}
        self.count = prod(part.length for part in self._outer)
        self.guessed = tuple(part.axis for part in dimensions if part.is_guessed)
        order = {axis: place for place, axis in enumerate(self.inner_axes) if axis is not None}
        self._order = [order[axis] for axis in AXES if axis in order]
        self.is_in_order = self._order == sorted(self._order)
        # Contiguous pixels: ImageJ's stacks beyond 4 GiB have a single page in the file.
        self._offset = None if series.is_multifile or not _is_place(series.dataoffset) else series.dataoffset
        self._pages: list[Page | None] = [series[0]] if self._offset is not None else list(series)
        self.inner_size = prod(self.inner_lengths) * np.dtype(series.dtype).itemsize
        self._keyframe = keyframe

    def remove_misfits(self, files: FileSet) -> list[tuple[int, FormatError]]:
        """Remove the pages with another shape or type than the image; return their numbers, each with an error."""
        changes = dict(iter_changes(self._keyframe, files, self._listed))
        misfits = {number: change for number, change in changes.items() if isinstance(change, FormatError)}
        if changes:
            self._offset, self._pages = None, list(self._listed)
        for number, change in changes.items():
            self._pages[number] = None if isinstance(change, FormatError) else change
        return list(misfits.items())

    @property
    def paths(self) -> list[str]:
        """Distinct paths of the files that contain the pages."""
        return list(dict.fromkeys(page.parent.filehandle.path for page in self._pages if page is not None))

    def iter_inside(self, spans: Spans) -> Iterator[tuple[int, Corner]]:
        """Yield the number and the start position of each page that overlaps a region of the image."""
        # Along each axis, a page begins at a multiple of the step, and is one step long.
        ranges = [
            range(spans[part.axis][0] // part.step, -(-spans[part.axis][1] // part.step))
            if part.length > 1
            else range(1)
            for part in self._outer
        ]
        for index in product(*ranges):
            number, corner = 0, dict.fromkeys(AXES, 0)
            for place, part in zip(index, self._outer, strict=True):
                number = number * part.length + place
                corner[part.axis] += place * part.step
            yield number, corner

    def page(self, number: int) -> Page | None:
        """Return a page by its number; None if it is missing, or not needed because the pixels are contiguous."""
        return self._pages[number] if number < len(self._pages) else None

    def first(self, number: int) -> Page:
        """Return page `number` if it exists, else the first page of the series."""
        page = self.page(number) or self._pages[0]
        assert page is not None  # noqa: S101 (asked for pages that are there only)
        return page

    def plain_offset(self, number: int) -> int | None:
        """Return the file offset of a page's uncompressed pixels, or None if the page must be decoded."""
        if self._offset is not None:
            return self._offset + number * self.inner_size
        page = self.page(number)
        return page.dataoffsets[0] if page is not None and _is_plain(page) else None

    def count_contiguous(self, size: int) -> int | None:
        """Return the number of contiguous pages that fit into a file of `size` bytes; None if pages are separate."""
        return None if self._offset is None else max(0, size - self._offset) // max(1, self.inner_size)

    def count_missing(self) -> int:
        """Return the number of missing pages."""
        if self._offset is not None:
            return 0
        return max(0, self.count - len(self._pages)) + sum(page is None for page in self._pages[: self.count])

    def in_order(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Return the pixels of a page with all five axes of the image, in the order t, c, z, y, x."""
        rest = [place for place, axis in enumerate(self.inner_axes) if axis is None]
        turned = pixels.transpose(*rest, *self._order)[(0,) * len(rest)]
        ordered: NDArray[Any] = turned[tuple(slice(None) if axis in self.inner_axes else None for axis in AXES)]
        return ordered


def _is_plain(page: Page) -> bool:
    """Return whether the pixels of a page are stored uncompressed and contiguously."""
    keyframe = page.keyframe
    if keyframe is None or not keyframe.is_final or not page.dataoffsets:
        return False
    if not _is_place(page.dataoffsets[0]):
        return False
    # tifffile checks the first page only; later ones may have scattered or missing strips.
    offsets, counts = page.dataoffsets, page.databytecounts
    return offsets[0] != 0 and all(
        start + count == following for start, count, following in zip(offsets, counts, offsets[1:], strict=False)
    )


def _is_place(offset: object) -> bool:
    """Return whether an offset is a valid integer; in a damaged tag, an offset may be negative, a float or a text."""
    return isinstance(offset, int) and offset >= 0


def _divide(
    dimensions: Sequence[Dimension], lengths: Sequence[int], codes: str
) -> tuple[list[Dimension], list[Dimension | None]]:
    """Return the dimensions of a series along which its pages lie, and the dimensions inside each page.

    `lengths` are the lengths of the five dimensions inside a page (see `PageGrid`). A dimension of length 1 is None,
    unless it is the height or width.
    """
    outer = list(dimensions)
    inner: list[Dimension | None] = []
    for place in reversed(range(5)):
        # Height and width always are dimensions of a series.
        if lengths[place] == 1 and place not in (2, 3):
            inner.append(None)
            continue
        if not outer and len(dimensions) == 1:
            raise UnsupportedError(
                f"expected an image with the axes y and x; found one dimension, of {dimensions[0].length:,} pixels"
            )
        if not outer or outer[-1].length != lengths[place]:
            raise UnsupportedError(
                f"expected the dimensions {codes} to end in the dimensions of a page, "
                f"{'×'.join(str(length) for length in lengths if length > 1)}; "
                f"found {'×'.join(str(part.length) for part in dimensions)}"
            )
        inner.append(outer.pop())
    return outer, inner[::-1]
