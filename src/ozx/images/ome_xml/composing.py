"""Composition of OME-XML (2016-06) for the images of a hierarchy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element, SubElement

from ozx.images.description import ChannelDescription, PixelSize, PlateDescription
from ozx.images.exported_image import PIXEL_TYPES, ExportedImage
from ozx.images.ome_xml.units import unit_symbol

#: The name of the writing program, without a version, so that equal images give equal files.
CREATOR = "ozx"
OME_NAMESPACE = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
_LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
# OME-XML 2016-06, "UnitsLength": a distance without a known unit.
_NO_UNIT = "reference frame"


def make_ome(images: Sequence[ExportedImage], plate: PlateDescription | None) -> Element:
    """Return an OME-XML document that describes images in page order, and their plate."""
    root = Element(_tag("OME"), {_LOCATION: f"{OME_NAMESPACE} {OME_NAMESPACE}/ome.xsd", "Creator": CREATOR})
    if plate is not None:
        root.append(make_plate(plate))
    for number, (image, first) in enumerate(zip(images, first_pages(images), strict=True)):
        element = SubElement(root, _tag("Image"), {"ID": f"Image:{number}"})
        name = image.description.name or image.path
        if name:
            element.set("Name", name)
        pixels = SubElement(element, _tag("Pixels"), {"ID": f"Pixels:{number}"})
        for axis, size in image.description.sizes.items():
            set_size(pixels, axis, size)
        pixels.extend(make_channels(image, number))
        set_pixels(pixels, image, first)
    return root


def first_pages(images: Sequence[ExportedImage]) -> list[int]:
    """Return the page number of the first page of each image."""
    return [0, *accumulate(image.page_count for image in images)][: len(images)]


def set_pixels(pixels: Element, image: ExportedImage, first: int) -> None:
    """Describe the stored pixels of an image in its ``Pixels`` element: type, lengths, and page numbers from `first`.

    Old values are removed. The namespace is that of `pixels`.
    """
    namespace = pixels.tag.rpartition("}")[0]
    kind = PIXEL_TYPES[image.dtype.name]
    if pixels.get("Type") != kind:
        pixels.attrib.pop("SignificantBits", None)
    pixels.attrib.pop("Interleaved", None)
    pixels.set("DimensionOrder", "XYZCT")
    pixels.set("Type", kind)
    pixels.set("BigEndian", "false")
    for axis, length in zip("TCZYX", image.shape, strict=True):
        pixels.set(f"Size{axis}", str(length))
    stored = [f"{namespace}}}{name}" for name in ("BinData", "TiffData", "MetadataOnly")]
    for child in [child for child in pixels if child.tag in stored]:
        pixels.remove(child)
    # OME-XML 2016-06, "Pixels": channels, places of planes, planes, in this order.
    place = 1 + max((n for n, child in enumerate(pixels) if child.tag == f"{namespace}}}Channel"), default=-1)
    planes = {"IFD": str(first), "PlaneCount": str(image.page_count)}
    pixels.insert(place, Element(f"{namespace}}}TiffData", planes))


def set_size(pixels: Element, axis: str, size: PixelSize) -> None:
    """Set the distance between neighbouring pixels along t, z, y or x."""
    name = "TimeIncrement" if axis == "t" else f"PhysicalSize{axis.upper()}"
    symbol = None if size.unit is None else unit_symbol(size.unit)
    if axis == "t" and symbol is None:  # OME-XML has no name for a time without a unit
        for key in (name, f"{name}Unit"):
            pixels.attrib.pop(key, None)
        return
    pixels.set(name, format_number(size.value))
    pixels.set(f"{name}Unit", symbol or _NO_UNIT)


def make_channels(image: ExportedImage, number: int, namespace: str = OME_NAMESPACE) -> list[Element]:
    """Return one ``Channel`` element for each channel of image `number`."""
    known = image.description.channels or (ChannelDescription(),) * image.shape[1]
    channels = []
    for place, channel in enumerate(known):
        element = Element(f"{{{namespace}}}Channel", {"ID": f"Channel:{number}:{place}"})
        if channel.name is not None:
            element.set("Name", channel.name)
        element.set("SamplesPerPixel", "1")
        if channel.color is not None:
            set_channel_color(element, channel.color)
        if channel.emission is not None:
            set_emission(element, channel.emission)
        channels.append(element)
    return channels


def set_channel_color(channel: Element, color: str) -> None:
    """Set the colour of a channel from RRGGBB, as the signed 32-bit RGBA number that OME-XML requires."""
    value = int(color, 16) << 8 | 0xFF
    channel.set("Color", str(value - (1 << 32) if value >> 31 else value))


def set_emission(channel: Element, nanometers: float) -> None:
    """Set the emission wavelength of a channel."""
    channel.set("EmissionWavelength", format_number(nanometers))
    channel.set("EmissionWavelengthUnit", "nm")


def make_plate(plate: PlateDescription, namespace: str = OME_NAMESPACE) -> Element:
    """Return the ``Plate`` element; it refers to image 0 as ``Image:0``."""

    def add(parent: Element, name: str, attributes: dict[str, str]) -> Element:
        return SubElement(parent, f"{{{namespace}}}{name}", attributes)

    element = Element(
        f"{{{namespace}}}Plate",
        {
            "ID": "Plate:0",
            **({} if plate.name is None else {"Name": plate.name}),
            "RowNamingConvention": _convention(plate.rows),
            "ColumnNamingConvention": _convention(plate.columns),
            "Rows": str(len(plate.rows)),
            "Columns": str(len(plate.columns)),
        },
    )
    recorded: dict[int, list[str]] = {}
    count = 0
    for number, well in enumerate(plate.wells):
        place = {"ID": f"Well:0:{number}", "Row": str(well.row), "Column": str(well.column)}
        item = add(element, "Well", place)
        for index, (field, acquisition) in enumerate(zip(well.fields, well.acquisitions, strict=True)):
            sample = {"ID": f"WellSample:0:{number}:{index}", "Index": str(count)}
            count += 1
            add(add(item, "WellSample", sample), "ImageRef", {"ID": f"Image:{field}"})
            if acquisition is not None:
                recorded.setdefault(acquisition, []).append(sample["ID"])
    for number, (name, start, end) in enumerate(plate.acquisitions):
        said = {"Name": name, "StartTime": _moment(start), "EndTime": _moment(end)}
        known = {key: value for key, value in said.items() if value is not None}
        acquired = add(element, "PlateAcquisition", {"ID": f"PlateAcquisition:0:{number}", **known})
        for sample_id in recorded.get(number, ()):
            add(acquired, "WellSampleRef", {"ID": sample_id})
    return element


def format_number(value: float) -> str:
    """Return a number as the shortest text from which the same number can be parsed.

    Examples
    --------
    >>> format_number(0.325), format_number(30.0)
    ('0.325', '30')
    """
    return repr(value).removesuffix(".0")


def _convention(names: Sequence[str]) -> str:
    return "number" if all(name.isdecimal() for name in names) else "letter"


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=milliseconds)  # noqa: DTZ001 (UTC, as in parsing)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds")


def _tag(name: str) -> str:
    return f"{{{OME_NAMESPACE}}}{name}"
