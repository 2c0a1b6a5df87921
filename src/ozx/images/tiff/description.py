"""Metadata of TIFF files without OME-XML: from ImageJ, from slide scanners, or from standard tags."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tifffile import TiffFile, TiffPage, TiffPageSeries

from ozx.errors import FormatError
from ozx.hierarchy.ome.rendering import Window
from ozx.images.description import ChannelDescription, ImageDescription, PixelSize, describe_samples
from ozx.images.ome_xml.units import convert_length, convert_time
from ozx.images.ome_xml.xml_reading import parse_xml

__all__ = ["describe_plain"]

# TIFF 6.0, "ResolutionUnit", in micrometers: 2 is the inch, 3 the centimeter; 1 is no unit.
_MICROMETERS = {2: 25_400.0, 3: 10_000.0}
# Dots per inch of screens and printers, which programs write if they do not know the pixel size.
_OF_PRINTERS = frozenset((72, 96, 100, 120, 144, 150, 180, 200, 240, 300, 350, 360, 400, 600, 1200))
_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)")
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})")
_MICRONS = frozenset(("micron", "microns", "um"))
_TIMES = {"sec": "s", "second": "s", "seconds": "s", "msec": "ms", "minute": "min", "minutes": "min"}
_RGB = 2  # TIFF 6.0, "PhotometricInterpretation"
_YCBCR = 6  # decoded as RGB


def describe_plain(file: TiffFile, series: TiffPageSeries) -> ImageDescription:
    """Return the metadata of a series without OME-XML; malformed values are ignored."""
    page = series.keyframe
    description = ImageDescription(
        name=series.name or None, sizes=_sizes_of_tags(page), channels=_samples(page), acquired=_date(page)
    )
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError, FormatError):
        if series.kind == "imagej":
            return _describe_imagej(description, file.imagej_metadata or {}, page)
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


def _describe_imagej(description: ImageDescription, metadata: Mapping[str, Any], page: TiffPage) -> ImageDescription:
    """Return the metadata written by ImageJ: units, pixel sizes, frame interval, and channel colours and names."""
    symbol = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), str(metadata.get("unit", "")).strip())
    symbol = "µm" if symbol.lower() in _MICRONS else {"inch": "in"}.get(symbol, symbol)
    sizes = {}
    if symbol and symbol.lower() not in ("pixel", "pixels") and 282 in page.tags:
        # ImageJ: resolutions are pixels per unit, whatever ResolutionUnit says.
        for axis, per_unit in zip("xy", page.resolution, strict=True):
            if math.isfinite(per_unit) and per_unit > 0:
                sizes[axis] = convert_length(1 / per_unit, symbol)
        spacing = _positive(metadata.get("spacing"))
        if spacing is not None:
            sizes["z"] = convert_length(spacing, symbol)
    interval, rate = _positive(metadata.get("finterval")), _positive(metadata.get("fps"))
    if interval is not None or rate is not None:
        unit = str(metadata.get("tunit", "s"))
        seconds = PixelSize(1 / (rate or 1.0), "second")
        sizes["t"] = seconds if interval is None else convert_time(interval, _TIMES.get(unit, unit))
    channels = description.channels or _channels_of_imagej(metadata, _count(metadata.get("channels")))
    return replace(
        description,
        sizes={axis: sizes[axis] for axis in "tzyx" if axis in sizes},
        channels=channels,
    )


def _channels_of_imagej(metadata: Mapping[str, Any], count: int) -> tuple[ChannelDescription, ...]:
    is_composite = metadata.get("mode") in ("composite", "color")
    tables: Sequence[Any] = metadata.get("LUTs") or [] if is_composite else []
    ranges = list(metadata.get("Ranges") or ())
    if not ranges and count == 1 and "min" in metadata and "max" in metadata:
        ranges = [metadata["min"], metadata["max"]]
    labels = list(metadata.get("Labels") or ())
    names: Sequence[Any] = labels if len(labels) == count > 1 else [None] * count
    channels = []
    for number in range(count):
        color = None
        if number < len(tables):
            # The table runs from black to the channel's colour.
            color = "".join(f"{int(value):02X}" for value in np.asarray(tables[number])[:, -1])
        low, high = (float(value) for value in (*ranges[2 * number : 2 * number + 2], 0, 0)[:2])
        window = Window(low, high, None, None) if low < high else None
        channels.append(ChannelDescription(names[number], color, window=window))
    is_known = any(channel != ChannelDescription() for channel in channels)
    return tuple(channels) if is_known else ()


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
    channels = []
    for page in series:
        text = page.aspage().description if page is not None else ""
        root = parse_xml(text, "the description of a page")
        numbers = [min(255, max(0, int(part))) for part in (root.findtext("Color") or "").split(",") if part.strip()]
        color = "".join(f"{number:02X}" for number in numbers) if len(numbers) == 3 else None
        channels.append(ChannelDescription(root.findtext("Name") or root.findtext("Biomarker"), color))
    return replace(description, channels=tuple(channels))


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value <= 10_000 else 1
