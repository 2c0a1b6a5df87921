"""Metadata of TIFF files without OME-XML: from ImageJ, from slide scanners, or from standard tags."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ozx.errors import FormatError, shortened
from ozx.images.description import ChannelDescription, ImageDescription, PixelSize, describe_samples
from ozx.images.ome_xml.xml_reading import parse_xml
from ozx.images.tiff.imagej import describe_imagej

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage, TiffPageSeries

# TIFF 6.0, "ResolutionUnit", in micrometers: 2 is the inch, 3 the centimeter; 1 is no unit.
_MICROMETERS = {2: 25_400.0, 3: 10_000.0}
# Dots per inch of screens and printers, which programs write if they do not know the pixel size.
_OF_PRINTERS = frozenset((72, 96, 100, 120, 144, 150, 180, 200, 240, 300, 350, 360, 400, 600, 1200))
_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)")
_RGB = 2  # TIFF 6.0, "PhotometricInterpretation"
_YCBCR = 6  # decoded as RGB
_COLORS = 3


def describe_plain(file: TiffFile, series: TiffPageSeries) -> ImageDescription:
    """Return the metadata of a series without OME-XML; a malformed value is left out."""
    page = series.keyframe
    description = ImageDescription(
        name=series.name or None, sizes=_sizes_of_tags(page), channels=_samples(page), acquired=_date(page)
    )
    if series.kind == "imagej":
        return describe_imagej(description, file.imagej_metadata or {}, page)
    if series.kind == "svs":
        return _describe_aperio(description, page)
    if series.kind == "qpi":
        return _describe_qptiff(description, series)
    return description


def _sizes_of_tags(page: TiffPage) -> dict[str, PixelSize]:
    factor = _MICROMETERS.get(int(page.resolutionunit))
    if factor is None or 282 not in page.tags:
        return {}
    sizes = {}
    for axis, per_unit in zip("xy", page.resolution, strict=True):
        if not math.isfinite(per_unit) or per_unit <= 1:
            return {}
        if int(page.resolutionunit) == 2 and per_unit in _OF_PRINTERS:
            return {}
        if int(page.resolutionunit) == 3 and round(per_unit * 2.54, 1) in _OF_PRINTERS:
            return {}
        sizes[axis] = PixelSize(factor / per_unit, "micrometer")
    return {axis: sizes[axis] for axis in "yx"}


def _samples(page: TiffPage) -> tuple[ChannelDescription, ...]:
    samples = page.shaped[0] * page.shaped[4]
    if int(page.photometric) not in (_RGB, _YCBCR) or samples not in (3, 4):
        return ()
    dtype = page.dtype
    return describe_samples(samples, float(np.iinfo(dtype).max) if dtype is not None and dtype.kind == "u" else None)


def _date(page: TiffPage) -> str | None:
    # TIFF 6.0, "DateTime": YYYY:MM:DD HH:MM:SS.
    match = _DATE.fullmatch(str(page.tags.valueof(306, default="")).strip())
    return None if match is None else f"{match[1]}-{match[2]}-{match[3]}T{match[4]}"


def _describe_aperio(description: ImageDescription, page: TiffPage) -> ImageDescription:
    match = re.search(r"\|\s*MPP\s*=\s*([0-9.]+)", page.description)
    size = None if match is None else _positive(match[1])
    if size is None:
        return description
    return replace(description, sizes=dict.fromkeys("yx", PixelSize(size, "micrometer")))


def _describe_qptiff(description: ImageDescription, series: TiffPageSeries) -> ImageDescription:
    """Return the description with channel names and colours from the XML of each page (PerkinElmer QPTIFF)."""
    if description.channels:
        return description
    channels, notes = [], []
    for number, page in enumerate(series):
        try:
            root = parse_xml(page.aspage().description if page is not None else "", "the description of a page")
        except (FormatError, ValueError) as error:
            notes.append(f"the name and color of channel {number} are left out: {error}")
            channels.append(ChannelDescription())
            continue
        text = (root.findtext("Color") or "").strip()
        try:
            parts = [min(255, max(0, int(part))) for part in text.split(",")] if text else []
        except ValueError:
            parts = []
        if text and len(parts) != _COLORS:
            notes.append(f"the color of channel {number} is left out: expected three numbers; got {shortened(text)!r}")
        color = "".join(f"{part:02X}" for part in parts) if len(parts) == _COLORS else None
        channels.append(ChannelDescription(root.findtext("Name") or root.findtext("Biomarker"), color))
    return replace(description, channels=tuple(channels), notes=(*description.notes, *notes))


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None
