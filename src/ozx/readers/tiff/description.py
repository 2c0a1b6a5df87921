"""Metadata of TIFF files without OME-XML (ImageJ, slide scanners, tags), and notes on what an import misses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ozx.errors import FormatError, shortened
from ozx.flow.sources.location import Place
from ozx.hierarchy.edit.request import Edits
from ozx.hierarchy.ome.colors import ShownChannel, Window
from ozx.hierarchy.ome.model import AXIS_TYPES, Axis
from ozx.hierarchy.ome.units import PixelSize, convert_length, convert_time
from ozx.images.description import ImageDescription, describe_samples
from ozx.images.ome_xml.parsing import parse_xml
from ozx.readers.tiff.source import TiffSource
from ozx.quoting import quote

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage, TiffPageSeries


# Metadata that ImageJ writes into TIFF files: units, pixel sizes, frame interval, and channels.

_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})")
# ImageJ's Calibration: an image without a scale has this unit.
_PIXEL = ("", "pixel", "pixels")
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
    if 282 in page.tags:
        # ImageJ: resolutions are pixels per unit, whatever ResolutionUnit says.
        for axis, per_unit in zip("xy", page.resolution, strict=True):
            if math.isfinite(per_unit) and per_unit > 0 and units[axis].lower() not in _PIXEL:
                sizes[axis] = convert_length(1 / per_unit, units[axis])
    spacing = _number(metadata, "spacing", notes)
    if spacing and units["z"].lower() not in _PIXEL:
        # ImageJ's FileOpener takes the absolute value.
        sizes["z"] = convert_length(abs(spacing), units["z"])
    interval, rate = _number(metadata, "finterval", notes), _number(metadata, "fps", notes)
    if interval is not None and interval > 0:
        unit = _unit(metadata.get("tunit", "s"))
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


# TIFF 6.0, "ResolutionUnit", in micrometers: 2 is the inch, 3 the centimeter; 1 is no unit.
_MICROMETERS = {2: 25_400.0, 3: 10_000.0}
# Dots per inch of screens and printers, which programs write if they do not know the pixel size.
_OF_PRINTERS = frozenset((72, 96, 100, 120, 144, 150, 180, 200, 240, 300, 350, 360, 400, 600, 1200))
_RGB = 2  # TIFF 6.0, "PhotometricInterpretation"
_YCBCR = 6  # decoded as RGB


def describe_plain(file: TiffFile, series: TiffPageSeries) -> ImageDescription:
    """Return the metadata of a series without OME-XML; a malformed value is left out."""
    page = series.keyframe
    description = ImageDescription(name=series.name or None, sizes=_sizes_of_tags(page), channels=_samples(page))
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


def _samples(page: TiffPage) -> tuple[ShownChannel, ...]:
    samples = page.shaped[0] * page.shaped[4]
    if int(page.photometric) not in (_RGB, _YCBCR) or samples not in (3, 4):
        return ()
    dtype = page.dtype
    return describe_samples(samples, float(np.iinfo(dtype).max) if dtype is not None and dtype.kind == "u" else None)


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


# Notes about the images that an import makes, such as missing pixel sizes, with the commands that correct them.

_NAMED = 3
_LONGEST_UNIT = 40


class Note(NamedTuple):
    """A sentence about an image, and the options of the ``ozx edit`` command that ends it, if there is one."""

    sentence: str
    edit: str | None = None


class ImageNotes:
    """Collector of notes about images; equal notes are merged and list the numbers of their images."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._images: dict[Note, list[int]] = {}

    def add(self, image: int | None, note: Note) -> None:
        """Add a note about an image, or about the whole file."""
        self._images.setdefault(note, []).extend([] if image is None else [image])

    def sentences(self, target: str, paths: Mapping[int, str]) -> tuple[str, ...]:
        """Return the notes as sentences."""
        return tuple(
            f"{self._where(images)}{note.sentence}{self._command(note.edit, images, target, paths)}"
            for note, images in self._images.items()
        )

    def _where(self, images: Sequence[int]) -> str:
        if not images or self._count == 1:
            return ""
        if len(images) == 1:
            return f"image {images[0]}: "
        if len(images) == self._count:
            return "all images: "
        shown = ", ".join(map(str, images[:_NAMED]))
        return f"images {shown}{f' and {len(images) - _NAMED:,} more' if len(images) > _NAMED else ''}: "

    def _command(self, edit: str | None, images: Sequence[int], target: str, paths: Mapping[int, str]) -> str:
        if edit is None:
            return ""
        found = [number for number in images if number in paths]
        # Without the path of an image, ozx edit would also change the images whose metadata are right.
        is_some = 0 < len(found) < len(paths)
        where = f" for image {found[0]}" if is_some and len(images) > 1 else ""
        node = Place(target, paths[found[0]]).uri if is_some else target
        return f"{where}: ozx edit {quote(node)} {edit}"


def axes_of(source: TiffSource) -> tuple[Axis, ...]:
    """Return the axes of a source, without units."""
    return tuple(Axis(axis, AXIS_TYPES[axis], None) for axis in source.axes)


def iter_size_notes(description: ImageDescription, source: TiffSource, edits: Edits | None) -> Iterator[Note]:
    """Yield a note if a pixel size or unit is unknown, or if the size given for all axes is also used for z."""
    is_stack = "z" in source.axes
    everywhere = None if edits is None else edits.space_size
    given = {} if edits is None else edits.pixel_size
    units = {} if edits is None else edits.units_for(axes_of(source))
    lengths = [axis for axis in source.axes if AXIS_TYPES[axis] == "space"]
    unknown = [axis for axis in lengths if axis not in description.sizes and axis not in given]
    if everywhere is None and not {"y", "x"}.isdisjoint(unknown):
        # The planes of a stack are seldom as far apart as its pixels.
        example = ",".join(f"{axis}={'2um' if axis == 'z' else '0.65um'}" for axis in unknown)
        where = f" along {' and '.join(unknown)}"
        if unknown == lengths:
            example, where = example if is_stack else "0.65um", ""
        one = "1" if units.keys() >= set(unknown) else "1 without a unit"
        yield Note(f"the file has no pixel size{where}, so {one} is used; to set one", f"--pixel-size {example}")
    elif is_stack and everywhere is not None and "z" not in given:
        known = description.sizes.get("z")
        was = "" if known is None else f" (in the file: {known.value:g}{f' {known.unit}' if known.unit else ''})"
        yield Note(
            f"the pixel size is also used for z, the distance between planes{was}; to set z separately",
            f"--pixel-size z=2um,y={everywhere:g}um,x={everywhere:g}um",
        )
    elif "z" in unknown:
        yield Note(
            "the file has no distance between planes, so 1 is used for z; to set it",
            "--pixel-size z=2um",
        )
    replaced = {*given, *units, *(lengths if everywhere is not None else ())}
    yield from _iter_unknown_units(description, [axis for axis in source.axes if axis not in replaced])


def _iter_unknown_units(description: ImageDescription, axes: Sequence[str]) -> Iterator[Note]:
    """Yield a note for each unit in the file that is not understood."""
    foreign: dict[str, list[str]] = {}
    for axis in axes:
        size = description.sizes.get(axis)
        if size is not None and size.unknown is not None:
            foreign.setdefault(size.unknown, []).append(axis)
    for unit, named in foreign.items():
        right = ",".join(f"{axis}={'second' if axis == 't' else 'micrometer'}" for axis in named)
        which = f"the unit {shortened(unit, _LONGEST_UNIT)!r} of the pixel size along {', '.join(named)}"
        yield Note(f"{which} is unknown, so the size has no unit; to set one", f"--unit {right}")


def iter_unit_notes(axes: Sequence[Axis], edits: Edits | None) -> Iterator[Note]:
    """Yield a note if the options give a pixel size, but no unit is known from the options or the file."""
    sizes = {} if edits is None else edits.limited_to(axes).pixel_size
    missing = [str(axis.name) for axis in axes if axis.name in sizes and axis.type == "space" and not axis.unit]
    if missing:
        right = ",".join(f"{axis}=micrometer" for axis in missing)
        yield Note(f"the pixel size along {', '.join(missing)} has no unit; to set it", f"--unit {right}")
