"""Metadata of TIFF files without OME-XML: ImageJ, slide scanners, tags."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ozx.errors import FormatError, shortened
from ozx.images.description import ImageDescription, describe_samples
from ozx.images.ome_xml import parse_xml
from ozx.ome.colors import ShownChannel, Window
from ozx.ome.units import PixelSize, convert_length, convert_time
from ozx.readers.tiff.kinds import describe_kind

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage, TiffPageSeries


# Metadata that ImageJ writes into TIFF files: units, pixel sizes, frame interval, and channels.

_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})")
# ImageJ's Calibration: an image without a scale has this unit.
_PIXEL = ("", "pixel", "pixels", "pix", "px")
# The units of printers, which ImageJ takes from the tags: their numbers in TIFF.
_PRINTED = {"inch": 2, "inches": 2, "in": 2, "cm": 3}
# Abbreviations that `check_unit` does not know.
_TIMES = {"msec": "ms", "usec": "us"}
_MOST_CHANNELS = 10_000
_COLORS = 3


def describe_imagej(description: ImageDescription, metadata: Mapping[str, Any], page: TiffPage) -> ImageDescription:
    """Return the description with ImageJ's metadata; a value that is not understood is left out, with a note."""
    notes: list[str] = []
    sizes = _sizes(metadata, page, notes)
    return replace(
        description,
        sizes={axis: sizes[axis] for axis in "tzyx" if axis in sizes},
        channels=description.channels or _channels(metadata, notes),
        notes=(*description.notes, *notes),
    )


def _sizes(metadata: Mapping[str, Any], page: TiffPage, notes: list[str]) -> dict[str, PixelSize]:
    sizes = {}
    # ImageJ's FileSaver: yunit and zunit are written if they differ from unit, which is that of x.
    common = metadata.get("unit", "")
    units = {axis: _unit(metadata.get(f"{axis}unit", common)) for axis in "xyz"}
    printed = set()
    if 282 in page.tags:
        # ImageJ: resolutions are pixels per unit, whatever ResolutionUnit says.
        for axis, per_unit in zip("xy", page.resolution, strict=True):
            unit = units[axis].lower()
            if math.isfinite(per_unit) and per_unit > 0 and unit not in _PIXEL:
                if unit in _PRINTED and _is_of_printers(per_unit, _PRINTED[unit]):
                    note = f"the size along {axis}, {per_unit:g} per {unit}, is that of a printer, and is not used"
                    notes.append(note)
                    printed.add(unit)
                    continue
                sizes[axis] = convert_length(1 / per_unit, units[axis])
    spacing = _number(metadata, "spacing", notes)
    if spacing and units["z"].lower() not in {*_PIXEL, *printed}:
        # ImageJ's FileOpener takes the absolute value.
        sizes["z"] = convert_length(abs(spacing), units["z"])
    interval, rate = _number(metadata, "finterval", notes), _number(metadata, "fps", notes)
    if interval is not None and interval > 0:
        unit = _unit(metadata.get("tunit", "s")) or "s"
        sizes["t"] = convert_time(interval, _TIMES.get(unit, unit))
    elif rate is not None and rate > 0 and math.isfinite(1 / rate):
        sizes["t"] = PixelSize(1 / rate, "second")
    return sizes


def _unit(value: Any) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), str(value)).strip(" \0")


def _number(metadata: Mapping[str, Any], key: str, notes: list[str]) -> float | None:
    """Return a finite number, or None; add a note if the value is a text."""
    value = metadata.get(key)
    try:
        number = float(value or 0)
    except (TypeError, ValueError):
        notes.append(f"the {key} in ImageJ's metadata is left out: expected a number; got {value!r}")
        return None
    return number if math.isfinite(number) else None


def _channels(metadata: Mapping[str, Any], notes: list[str]) -> tuple[ShownChannel, ...]:
    count = metadata.get("channels")
    count = count if type(count) is int and 0 < count <= _MOST_CHANNELS else 1
    is_composite = metadata.get("mode") in ("composite", "color")
    tables = _listed(metadata.get("LUTs")) if is_composite else []
    ranges = _listed(metadata.get("Ranges"))
    if not ranges and count == 1 and "min" in metadata and "max" in metadata:
        ranges = [metadata["min"], metadata["max"]]
    labels = _listed(metadata.get("Labels"))
    names: Sequence[Any] = labels if len(labels) == count > 1 else [None] * count
    inverted: list[int] = []
    channels = []
    for number in range(count):
        table = tables[number] if number < len(tables) else None
        color, is_inverted = _color(table, number, notes)
        inverted += [number] if is_inverted else []
        window = _window(ranges[2 * number : 2 * number + 2], number, notes)
        channels.append(ShownChannel(names[number], color, window=window))
    if inverted:
        which = f"channel{'s' if len(inverted) > 1 else ''} {', '.join(map(str, inverted))}"
        notes.append(f"ImageJ shows the {which} inverted; this is left out")
    is_known = any(channel != ShownChannel() for channel in channels)
    return tuple(channels) if is_known else ()


def _listed(value: Any) -> list[Any]:
    """Return the values of a key of ImageJ's metadata; tifffile returns a single value without a list."""
    if value is None:
        return []
    is_list = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == _COLORS)
    return list(value) if is_list else [value]


def _color(table: Any, number: int, notes: list[str]) -> tuple[str | None, bool]:
    """Return the colour of a color table, which runs from black to this colour, and whether it runs to black."""
    if table is None:
        return None, False
    table = np.asarray(table)
    if table.ndim != 2 or len(table) != _COLORS or not table.size:
        rows = f"expected {_COLORS} rows; found {len(table) if table.ndim else 0}"
        notes.append(f"the color table of channel {number} in ImageJ's metadata is left out: {rows}")
        return None, False
    # A channel that is shown as black would be invisible.
    is_inverted = not table[:, -1].any() and bool(table[:, 0].any())
    end = table[:, 0 if is_inverted else -1]
    return ("".join(f"{int(value):02X}" for value in end) if end.any() else None), is_inverted


def _window(values: Sequence[Any], number: int, notes: list[str]) -> Window | None:
    if len(values) != 2:
        return None
    try:
        low, high = map(float, values)
    except (TypeError, ValueError):
        got = ", ".join(map(repr, values))
        notes.append(
            f"the display range of channel {number} in ImageJ's metadata is left out: expected two numbers; got {got}"
        )
        return None
    return Window(low, high, None, None) if low < high else None


# TIFF 6.0, "ResolutionUnit", in micrometers; 1 is no unit, 4 and 5 are those of a few programs.
_UNITS = {2: ("inch", 25_400.0), 3: ("centimeter", 10_000.0), 4: ("millimeter", 1_000.0), 5: ("micrometer", 1.0)}
# Micrometers: no microscope has pixels as large as this; and from here on, whole numbers of dots per inch are those of
# screens and printers (5,080 per inch), which programs write if they do not know the pixel size.
_LARGEST, _LARGE, _NEARLY = 100.0, 5.0, 0.05
_RGB = 2  # TIFF 6.0, "PhotometricInterpretation"
_YCBCR = 6  # decoded as RGB


def describe_plain(file: TiffFile, series: TiffPageSeries) -> ImageDescription:
    """Return the metadata of a series without OME-XML; a malformed value is left out."""
    page = series.keyframe
    sizes, notes = _sizes_of_tags(page)
    description = ImageDescription(name=series.name or None, sizes=sizes, channels=_samples(series), notes=notes)
    known = describe_kind(file, series)
    if known is not None:
        # What a program of a microscope says comes before the tags for printers.
        return replace(
            known,
            name=description.name,
            sizes=known.sizes or sizes,
            channels=description.channels or known.channels,
        )
    if series.kind == "imagej":
        return describe_imagej(description, file.imagej_metadata or {}, page)
    if series.kind == "svs":
        return _describe_aperio(description, page)
    if series.kind == "qpi":
        return _describe_qptiff(description, series)
    return description


def _sizes_of_tags(page: TiffPage) -> tuple[dict[str, PixelSize], tuple[str, ...]]:
    """Return the pixel size that the resolution gives; and a note, if it is that of a printer or a default."""
    unit = int(page.resolutionunit)
    if unit not in _UNITS or 282 not in page.tags:
        return {}, ()
    name, micrometers = _UNITS[unit]
    sizes = {}
    for axis, per_unit in zip("xy", page.resolution, strict=True):
        # 1 is the default of many programs: nobody takes it for a pixel size, so that no note names it.
        if not math.isfinite(per_unit) or per_unit <= 0 or (per_unit <= 1 and micrometers > _LARGEST):
            return {}, ()
        if _is_of_printers(per_unit, unit):
            found = f"{axis.upper()}Resolution, {per_unit:g} per {name}"
            return {}, (f"the tag {found}, is not used: it is that of a screen or printer, or a default",)
        sizes[axis] = PixelSize(micrometers / per_unit, "micrometer")
    return {axis: sizes[axis] for axis in "yx"}, ()


def _is_of_printers(per_unit: float, unit: int) -> bool:
    """Return whether a resolution is none of a microscope: pixels of many micrometers, in whole numbers per inch."""
    size = _UNITS[unit][1] / per_unit
    per_inch = 25_400 / size
    return size > _LARGEST or (size > _LARGE and abs(per_inch - round(per_inch)) < _NEARLY)


def _samples(series: TiffPageSeries) -> tuple[ShownChannel, ...]:
    page = series.keyframe
    samples = page.shaped[0] * page.shaped[4]
    if "S" not in series.axes:  # three planes that tifffile wrote by default as red, green and blue
        return ()
    if int(page.photometric) not in (_RGB, _YCBCR) or samples not in (3, 4):
        return ()
    dtype = page.dtype
    return describe_samples(samples, float(np.iinfo(dtype).max) if dtype is not None and dtype.kind == "u" else None)


def _describe_aperio(description: ImageDescription, page: TiffPage) -> ImageDescription:
    match = re.search(r"\|\s*MPP\s*=\s*([0-9.,]+(?:e[+-]?[0-9]+)?)", page.description, re.IGNORECASE)
    size = None if match is None else _positive(match[1].replace(",", "."))
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
            channels.append(ShownChannel())
            continue
        text = (root.findtext("Color") or "").strip()
        try:
            parts = [min(255, max(0, int(part))) for part in text.split(",")] if text else []
        except ValueError:
            parts = []
        if text and len(parts) != _COLORS:
            notes.append(f"the color of channel {number} is left out: expected three numbers; got {shortened(text)!r}")
        color = "".join(f"{part:02X}" for part in parts) if len(parts) == _COLORS else None
        channels.append(ShownChannel(root.findtext("Name") or root.findtext("Biomarker"), color))
    return replace(description, channels=tuple(channels), notes=(*description.notes, *notes))


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None
