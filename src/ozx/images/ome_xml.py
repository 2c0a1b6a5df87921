"""Parser of OME-XML: names, sizes, channels, plates, and the file of each plane.

It reads the schema 2016-06, and the same names in older schemas. Only malformed XML is an error: a missing or malformed
attribute counts as unknown.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ozx.errors import FormatError, shortened
from ozx.images.description import (
    ImageDescription,
    PlateDescription,
    describe_samples,
)
from ozx.ome.colors import ShownChannel, dye_color
from ozx.ome.model import row_name
from ozx.ome.units import PixelSize, convert_length, convert_time

# Parser for untrusted XML: no document type, no entity declarations, limited nesting depth.

# OME-XML has a depth of nine.
_DEEPEST = 200


class MalformedXmlError(FormatError):
    """The document is not well-formed: no other XML parser can read it either."""


def parse_xml(text: str | bytes, what: str, *, keep_namespaces: bool = False) -> Element:
    """Return the root element of an XML document; namespaces are removed from the names of elements.

    A document type (DTD) is refused: descriptions of images have none, and the entities of a DTD can make a small file
    huge or read other files.
    """
    builder, depth = TreeBuilder(), 0
    name_of = _full if keep_namespaces else _local
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise FormatError(f"expected {what} to be at most {_DEEPEST} elements deep; it is deeper")
        if not keep_namespaces:
            attributes = {key: value for key, value in attributes.items() if "}" not in key}
        builder.start(name_of(name), {name_of(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name_of(name))

    def refuse(name: str, *_: object) -> None:
        raise FormatError(f"expected {what} to have no document type; it declares one: {name}")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise MalformedXmlError(f"expected {what} to be well-formed XML; {error}") from None
    except FormatError:
        raise
    except (LookupError, ValueError) as error:  # expat supports only Python's one-byte encodings
        reason = shortened(str(error), 100)
        raise FormatError(
            f"expected {what} in UTF-8, UTF-16 or an encoding of one byte per character; {reason}"
        ) from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _full(name: str) -> str:
    return f"{{{name}" if "}" in name else name


# Limits on the numbers of planes and samples in an OME-XML document, checked before the numbers are used.

#: A time-lapse of a week has fewer; tifffile takes memory for each plane, even if it is missing in the file.
MOST_PLANES = 4_000_000
_MOST_SAMPLES = 10_000
_SIZES = ("SizeZ", "SizeC", "SizeT")
_PLACES = ("IFD", "FirstZ", "FirstC", "FirstT", "PlaneCount", "NumPlanes")


def check_claims(text: str | bytes) -> None:
    """Raise an error if OME-XML states more planes or samples than a real image has; ignore malformed XML."""
    try:
        root = parse_xml(text, "the OME-XML")
    except FormatError:
        return
    planes = 0
    for pixels in _iter_named(root, "Pixels"):
        planes += prod(max(1, _number(pixels, name)) for name in _SIZES)
        if planes > MOST_PLANES:
            sizes = ", ".join(f'{name}="{pixels.get(name)}"' for name in _SIZES if pixels.get(name))
            raise _too_many(f"{planes:,} or more ({sizes})" if planes < 10**15 else sizes)
    for element in _iter_named(root, "TiffData"):
        for name in _PLACES:
            if _number(element, name) > MOST_PLANES:
                raise _too_many(f'{name}="{element.get(name)}"')
    for channel in _iter_named(root, "Channel"):
        if _number(channel, "SamplesPerPixel") > _MOST_SAMPLES:
            found = channel.get("SamplesPerPixel")
            raise FormatError(f"expected at most {_MOST_SAMPLES:,} samples of a pixel; the OME-XML claims {found}")


def _iter_named(root: Element, name: str) -> Iterator[Element]:
    """Yield the elements that tifffile takes for elements of this name: for example, MyPixels as Pixels."""
    return (element for element in root.iter() if element.tag.endswith(name))


def _number(element: Element, name: str) -> int:
    try:
        return int(element.get(name) or 0)
    except ValueError:
        return 0


def _too_many(claim: str) -> FormatError:
    return FormatError(f"expected an image of at most {MOST_PLANES:,} planes; the OME-XML claims {claim}")


_MANY = 10_000  # the most rows, columns or samples; a larger number is a mistake
_PICTURE = (3, 4)


@dataclass(frozen=True, slots=True)
class OmeXml:
    """The contents of an OME-XML document: images, plate and file names."""

    images: tuple[ImageDescription, ...] = ()  # its images, in order
    plate: PlateDescription | None = None  # its first plate; the fields of its wells are numbers of `images`
    plate_count: int = 0  # number of plates
    # Names of the other files with planes, each once, as the document spells them (perhaps with a folder).
    files: tuple[str, ...] = ()
    master: str | None = None  # the file with the metadata, if this one lacks it (``BinaryOnly``)
    # Two files of different names with the same UUID, then this UUID; empty if each file has its own UUID.
    same_uuid: tuple[str, ...] = ()


def parse_ome_xml(text: str | bytes) -> OmeXml:
    """Parse an OME-XML document."""
    root = parse_xml(text, "the OME-XML")
    master = root.find("BinaryOnly")
    images = root.findall("Image")
    numbers = {image.get("ID", ""): number for number, image in enumerate(images)}
    plates = root.findall("Plate")
    # OME-TIFF: the UUID of OME is that of the file. Planes with this UUID are in this file, even if it was renamed.
    # tifffile opens the files, so the rules must be the same: blanks in a UUID count, and MyUUID has a file name, too.
    # With other rules, tifffile would open files whose names are not checked.
    own = root.get("UUID")
    named = [
        (name, element.text or "")
        for element in root.iter()
        if element.tag.endswith("UUID") and (name := element.get("FileName")) and not (own and element.text == own)
    ]
    first: dict[str, str] = {}
    same = next(((first[uuid], name, uuid) for name, uuid in named if first.setdefault(uuid, name) != name), ())
    return OmeXml(
        images=tuple(map(_parse_image, images)),
        plate=_parse_plate(plates[0], numbers) if plates else None,
        plate_count=len(plates),
        files=tuple(dict.fromkeys(name for name, _ in named)),
        master=None if master is None else master.get("MetadataFile"),
        same_uuid=same,
    )


# Sizes beyond these, in any unit, are no sizes; their multiples in a pyramid would be infinite.
_SMALLEST, _LARGEST = 1e-30, 1e30


def _parse_image(element: Element) -> ImageDescription:
    pixels = element.find("Pixels")
    if pixels is None:
        return ImageDescription(element.get("Name") or None, has_planes=False)
    sizes: dict[str, PixelSize] = {}
    increment = _quantity(pixels, "TimeIncrement")
    if increment is not None:
        sizes["t"] = convert_time(increment, pixels.get("TimeIncrementUnit", "s"))
    # In 2003, sizes stood in Image or in the Dimensions of its CustomAttributes.
    old = element.find("CustomAttributes/Dimensions")
    for axis in ("z", "y", "x"):
        name = f"PhysicalSize{axis.upper()}"
        value = _quantity(pixels, name)
        for before in (element, old):
            if value is None and before is not None:
                value = _quantity(before, f"PixelSize{axis.upper()}")
        if value is not None:
            sizes[axis] = convert_length(value, pixels.get(f"{name}Unit", "µm"))
    channels: list[ShownChannel] = []
    # Before 2010, names and colours stood in LogicalChannel, in 2003 in ChannelInfo.
    described = pixels.findall("Channel") or element.findall("LogicalChannel") or element.findall("ChannelInfo")
    for channel in described:
        channels += _parse_channel(channel, (pixels.get("Type") or pixels.get("PixelType") or "").lower())
    known = {axis: size for axis, size in sizes.items() if _SMALLEST <= size.value <= _LARGEST}
    claims = {axis: pixels.get(f"PhysicalSize{axis.upper()}") for axis in "zyx" if axis not in known}
    shown = {axis: f"{sizes[axis].value:g}" if axis in sizes else claim for axis, claim in claims.items()}
    notes = tuple(
        f"the pixel size along {axis}, {shortened(claim, 40)}, cannot be true and is left out"
        for axis, claim in shown.items()
        if claim is not None
    )
    return ImageDescription(
        name=element.get("Name") or None,
        sizes=known,
        channels=tuple(channels),
        notes=notes,
        has_planes=pixels.find("TiffData") is not None,
        origin=_parse_origin(pixels),
        planes=_parse_planes(pixels),
    )


def _parse_planes(pixels: Element) -> dict[str, int]:
    """Return the numbers of times, channels and planes, the slowest first; empty if the order is unknown."""
    order = pixels.get("DimensionOrder", "")
    counts = {axis: _integer(pixels, f"Size{axis}") or 0 for axis in reversed(order[2:])}
    return counts if sorted(counts) == ["C", "T", "Z"] and all(counts.values()) else {}


def _parse_origin(pixels: Element) -> dict[str, PixelSize]:
    """Return the place of the first plane on the stage, as far as it has a unit of length."""
    plane = pixels.find("Plane")
    origin = {}
    for axis in "zyx" if plane is not None else "":
        value = _parse(float, plane.get(f"Position{axis.upper()}"))  # type: ignore[union-attr]
        # OME-XML 2016-06, "PositionX": without a unit, it is in the frame of the stage, whose unit is unknown.
        unit = plane.get(f"Position{axis.upper()}Unit")  # type: ignore[union-attr]
        if value is not None and unit is not None and (place := convert_length(value, unit)).unit is not None:
            origin[axis] = place
    return origin


def _parse_channel(element: Element, pixel_type: str) -> list[ShownChannel]:
    """Return the channels of one ``Channel`` element: one for each of its samples."""
    samples = _integer(element, "SamplesPerPixel") or 1
    name = (element.get("Name") or "").strip() or element.get("Fluor") or None
    emission = _quantity(element, "EmissionWavelength") or _quantity(element, "EmWave")
    if emission is not None:
        size = convert_length(emission, element.get("EmissionWavelengthUnit", "nm"))
        emission = _nanometers(size)
    if samples in _PICTURE:
        most = {"uint8": 255.0, "uint16": 65535.0}.get(pixel_type)
        return list(describe_samples(samples, most))
    color = _parse_color(element.get("Color"))
    if color == "000000":  # 0 in place of a colour: nobody would see the channel
        color = None
    if color is None and element.get("Name") and dye_color(name) is None:
        color = dye_color(element.get("Fluor"))
    return [ShownChannel(name, color, emission=emission)] * min(samples, _MANY)


def _nanometers(size: PixelSize) -> float | None:
    factors = {"nanometer": 1.0, "angstrom": 0.1, "picometer": 1e-3, "micrometer": 1e3, "millimeter": 1e6, "meter": 1e9}
    factor = factors.get(size.unit or "")
    return None if factor is None else size.value * factor


def _parse_color(text: str | None) -> str | None:
    """Return a colour as RRGGBB, from RGBA in a signed 32-bit integer (OME-XML 2016-06, "Color")."""
    try:
        value = int(text or "")
    except ValueError:
        return None
    return f"{value >> 8 & 0xFFFFFF:06X}" if -(1 << 31) <= value < 1 << 32 else None


def _parse_plate(element: Element, numbers: dict[str, int]) -> PlateDescription | None:
    recordings = element.findall("PlateAcquisition")
    # Samples do not name their acquisition: acquisitions list their samples.
    recorded = {
        reference.get("ID"): number
        for number, recording in enumerate(recordings)
        for reference in recording.findall("WellSampleRef")
    }
    # Several ``Well`` elements may have the same place, for example one for each acquisition; OME-Zarr has one well.
    fields: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for well in element.findall("Well"):
        row, column = _integer(well, "Row"), _integer(well, "Column")
        for sample in well.findall("WellSample"):
            reference = sample.find("ImageRef")
            number = None if reference is None else numbers.get(reference.get("ID", ""))
            if number is not None and row is not None and column is not None:
                fields.setdefault((row, column), []).append((number, recorded.get(sample.get("ID"))))
    if not fields:
        return None
    rows = max([row + 1 for row, _ in fields] + [_integer(element, "Rows") or 0])
    columns = max([column + 1 for _, column in fields] + [_integer(element, "Columns") or 0])
    return PlateDescription(
        name=element.get("Name") or None,
        rows=plate_names(rows, element.get("RowNamingConvention", "letter")),
        columns=plate_names(columns, element.get("ColumnNamingConvention", "number")),
        wells=fields,
        acquisitions=tuple(
            (item.get("Name"), _milliseconds(item.get("StartTime")), _milliseconds(item.get("EndTime")))
            for item in recordings
        ),
    )


def plate_names(count: int, convention: str) -> tuple[str, ...]:
    """Return names of rows or columns: letters (A to Z, then AA and so on), or numbers from 1."""
    if convention != "letter":
        return tuple(str(number + 1) for number in range(count))
    return tuple(map(row_name, range(count)))


def _milliseconds(text: str | None) -> int | None:
    try:
        moment = dt.datetime.fromisoformat(text or "")
    except ValueError:
        return None
    # xsd:dateTime without a time zone: UTC gives the same numbers everywhere.
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return round(moment.timestamp() * 1000)


def _quantity(element: Element, name: str) -> float | None:
    """Return an attribute as a positive, finite number, or None if it is not such a number."""
    value = _parse(float, element.get(name))
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _integer(element: Element, name: str) -> int | None:
    value = _parse(int, element.get(name))
    return int(value) if value is not None and 0 <= value <= _MANY else None


def _parse(kind: Callable[[str], float], text: str | None) -> float | None:
    try:
        return None if text is None else kind(text.replace(",", "."))  # some programs write 0,5
    except ValueError:
        return None
