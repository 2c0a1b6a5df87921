"""Reconstruction of the pages of a truncated TIFF file."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ozx.images.ome_xml.claims import MOST_PLANES

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries


def restore_stack(file: TiffFile) -> TiffPageSeries | None:
    """Return the whole stack that the first page of a cut-off file describes.

    The stack includes planes beyond the end of the file; pages that are not in the list of the file count as missing.
    The result is None if the page describes no stack, or a stack with more planes than a real image has.
    """
    stack = _restore_imagej_stack(file) if file.imagej_metadata else _restore_shaped_stack(file)
    return None if stack is None or stack.size > MOST_PLANES * stack.keyframe.size else stack


def _restore_imagej_stack(file: TiffFile) -> TiffPageSeries | None:
    # ImageJ's TiffEncoder stores the uncompressed pixels of all planes contiguously after the first page, and the
    # number of planes in the description of this page. tifffile refuses such a stack if the file is too short for it.
    from tifffile import TiffPageSeries  # noqa: PLC0415 (an extra)

    metadata, page = file.imagej_metadata or {}, file.pages.first
    if not page.is_final or not page.dataoffsets:
        return None
    planes = {"T": metadata.get("frames", 1), "Z": metadata.get("slices", 1), "C": metadata.get("channels", 1)}
    count = metadata.get("images", 1)
    if not all(isinstance(number, int) and number > 0 for number in (count, *planes.values())):
        return None
    if page.shaped[4] > 1 and count == planes["T"] * planes["Z"]:
        planes["C"] = 1  # they are the samples of a pixel
    order = str(metadata.get("order", "czt")).upper()
    axes = order[::-1] if sorted(order) == ["C", "T", "Z"] else "TZC"  # the fastest axis is written first
    shape = tuple(planes[axis] for axis in axes)
    if prod(shape) == 1:
        axes, shape = "I", (count,)
    if prod(shape) <= 1 or page.shaped[0] > 1:
        return None
    return TiffPageSeries(
        [page], shape=(*shape, *page.shape), dtype=page.dtype, axes=axes + page.axes, kind="imagej", truncated=True
    )


def _restore_shaped_stack(file: TiffFile) -> TiffPageSeries | None:
    # tifffile writes the shape of the whole array into the first page, and reads only that page if others are missing.
    from tifffile import TiffPageSeries  # noqa: PLC0415 (an extra)

    metadata, page = file.shaped_metadata or (), file.pages.first
    shape = tuple(metadata[0].get("shape", ())) if len(metadata) == 1 else ()
    inner = tuple(page.shape)
    outer = shape[: len(shape) - len(inner)]
    if not outer or (*outer, *inner) != shape or prod(outer) <= len(file.pages) or prod(inner) == 0:
        return None
    axes = metadata[0].get("axes")
    if not isinstance(axes, str) or len(axes) != len(shape):
        axes = "Q" * len(outer) + page.axes
    return TiffPageSeries(list(file.pages), shape=shape, dtype=page.dtype, axes=axes.upper(), kind="shaped")


def describe_lost_pages(file: TiffFile, series: list[TiffPageSeries]) -> str | None:
    """Return a sentence if a cut-off file may have lost an unknown number of pages, else None."""
    described = sum(one.size // max(1, one.keyframe.size) for one in series)
    if described > len(file.pages) or (series and series[0].kind in ("imagej", "ome")):
        return None  # the missing planes are counted
    return (
        f"the file is cut off or damaged: the list of pages ends after page {len(file.pages) - 1}; "
        "all pages that may have followed are lost"
    )
