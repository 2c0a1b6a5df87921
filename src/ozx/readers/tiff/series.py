"""The series of a TIFF file, one for each image: as tifffile has them, but for positions and thumbnails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ozx.errors import FormatError

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage, TiffPageSeries

# tifffile's codes of tiles or positions, of phases and of mosaics: each is an image of its own.
_OTHER_IMAGES = "RPM"


def list_series(file: TiffFile) -> list[TiffPageSeries]:
    """Return the series of a TIFF file, including their dimensions of length 1 if tifffile includes them.

    Newer versions of tifffile do. For older versions, such as the last one for Python 3.11, see `dimensions_of`.
    """
    pages: Any = file.pages
    go_to = pages.set_keyframe

    def go_and_check(index: int) -> None:
        go_to(index)
        _check_sides(pages.keyframe)

    pages.set_keyframe = go_and_check  # called by tifffile for the first page of each series
    try:
        series: Any = file.series
        found = list(series(squeeze=False)) if callable(series) else list(series)  # newer versions
    finally:
        pages.set_keyframe = go_to
    images = [one for one in found if not (one.kind == "lsm" and one.keyframe.is_reduced)]  # its thumbnails
    return [image for one in images or found for image in _divided(one, file)]


def _check_sides(page: TiffPage, levels: int = 3) -> None:
    """Raise `FormatError` if a page or a page in its SubIFDs has a negative width or height."""
    if min(page.shape, default=1) < 0:
        raise FormatError(f"page {page.index}: expected sides of at least one pixel; found {page.shape}")
    from tifffile import TiffPage  # noqa: PLC0415 (an extra)

    if page.subifds and levels:
        for below in page.pages or ():
            if isinstance(below, TiffPage):
                _check_sides(below, levels - 1)


def dimensions_of(series: Any) -> tuple[str, tuple[int, ...]]:
    """Return the axis letters and lengths of a series, including dimensions of length 1."""
    if hasattr(series, "get_axes"):
        return series.get_axes(squeeze=False), series.get_shape(squeeze=False)
    return series.axes, series.shape


def _divided(series: TiffPageSeries, file: TiffFile) -> Iterator[TiffPageSeries]:
    """Yield the images of a series: one for each position."""
    axes, shape = dimensions_of(series)
    if series.kind == "lsm" and axes.endswith("XC") and shape[-1] == 1:
        axes, shape = axes[:-1], shape[:-1]
    if series.kind == "shaped" and "SYX" in axes and not any("axes" in one for one in file.shaped_metadata or ()):
        # tifffile writes any three or four planes as red, green and blue, unless it is told otherwise.
        axes = axes.replace("SYX", "QYX")
    if 0 in shape and series.kind == "fluoview" and series.keyframe.size:  # it lists dimensions of length 0
        axes, shape = (
            "".join(code for code, length in zip(axes, shape, strict=True) if length),
            tuple(filter(None, shape)),
        )
    outer = next((at for at, code in enumerate(axes) if code in _OTHER_IMAGES and shape[at] > 1), None)
    pages = list(getattr(series, "_pages", None) or series.pages)
    first, count = series.keyframe.index, prod(shape) // max(1, series.keyframe.size)
    # Of contiguous pixels, tifffile lists the first page only.
    if outer is not None and len(pages) == 1 and isinstance(first, int) and first + count <= len(file.pages):
        pages = [file.pages[number] for number in range(first, first + count)]
    # The channels of an LSM lie within its pages.
    planes = next((at for at in range(len(axes), -1, -1) if prod(shape[:at]) == len(pages)), 0)
    if outer is None or outer >= planes:
        yield series if (axes, shape) == dimensions_of(series) else made_series(series, pages, axes, shape)
        return
    numbers = np.arange(len(pages)).reshape(shape[:planes])
    for position in range(shape[outer]):
        own = [pages[number] for number in np.take(numbers, position, outer).reshape(-1)]
        letters, lengths = axes[:outer] + axes[outer + 1 :], (*shape[:outer], *shape[outer + 1 :])
        yield from _divided(made_series(series, own, letters, lengths), file)


def with_planes(series: TiffPageSeries, planes: Mapping[str, int]) -> TiffPageSeries | None:
    """Return a series whose unnamed planes are in the order of OME-XML; None if their number differs."""
    axes, shape = dimensions_of(series)
    outer = sum(code not in "YXS" for code in axes)
    if axes[outer:].strip("YXS") or prod(shape[:outer]) != prod(planes.values()):
        return None
    codes, lengths = "".join(planes) + axes[outer:], (*planes.values(), *shape[outer:])
    return made_series(series, list(series.pages), codes, lengths)


def with_all_pages(series: TiffPageSeries, file: TiffFile) -> TiffPageSeries:
    """Return an image of OME-XML in which planes without ``TiffData`` have the unused pages, in the default order.

    Only a file with as many pages as planes lacks none of them.
    """
    pages: list[Any] = list(getattr(series, "_pages", None) or series.pages)
    used = {page.index for page in pages if page is not None}
    unused = [number for number in range(len(pages)) if number not in used]
    if series.is_multifile or len(file.pages) != len(pages) or not 0 < len(unused) == pages.count(None):
        return series
    rest = (file.pages[number].aspage() for number in unused)
    return made_series(series, [page or next(rest) for page in pages], *dimensions_of(series))


def made_series(series: TiffPageSeries, pages: list[Any], axes: str, shape: tuple[int, ...]) -> TiffPageSeries:
    """Return a series like another one, with other pages."""
    from tifffile import TiffPageSeries  # noqa: PLC0415 (an extra)

    options: Any = {"squeeze": False} if hasattr(series, "get_axes") else {}
    kind, is_cut = series.kind, bool(getattr(series, "is_truncated", False))
    made = TiffPageSeries(
        pages, shape=shape, dtype=series.dtype, axes=axes, name=series.name, kind=kind, truncated=is_cut, **options
    )
    made.is_multifile = series.is_multifile
    return made
