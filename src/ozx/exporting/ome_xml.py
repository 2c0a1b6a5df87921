"""OME-XML (2016-06) for the images of a hierarchy, new or as an update of the original."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element, SubElement

from ozx.errors import FormatError
from ozx.exporting.exported_image import PIXEL_TYPES, ExportedImage
from ozx.images.description import ImageDescription, PlateDescription
from ozx.images.ome_xml import OmeXml, parse_ome_xml, parse_xml
from ozx.ome.colors import ShownChannel
from ozx.ome.units import PixelSize, unit_symbol

# Deterministic serialisation of XML elements; namespaces are kept, but their prefixes may change.

# XML 1.0, "Char": a document must not contain these characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_PREFIXES = {_XSI: "xsi", "http://www.w3.org/XML/1998/namespace": "xml"}


def render_xml(root: Element) -> str:
    """Return an XML document in UTF-8; names of elements may be ``{namespace}name``."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    _render(root, "", parts)
    return "".join(parts)


def _render(element: Element, inherited: str, parts: list[str]) -> None:
    """Append the text of an XML element to `parts`; `inherited` is the default namespace of its parent."""
    namespace, name = _split(element.tag)
    attributes = [] if namespace == inherited else [("xmlns", namespace)]
    attributes += _attributes(element)
    parts.append(f"<{name}")
    parts += [f' {key}="{_escape(value, quoted=True)}"' for key, value in attributes]
    if not len(element) and not element.text:
        parts.append("/>")
    else:
        parts.append(f">{_escape(element.text or '')}")
        for child in element:
            _render(child, namespace, parts)
        parts.append(f"</{name}>")
    parts.append(_escape(element.tail or ""))


def _attributes(element: Element) -> list[tuple[str, str]]:
    """Return pairs of name and value: first the needed namespace declarations, then the XML attributes."""
    prefixes: dict[str, str] = {}
    named = []
    for key, value in element.attrib.items():
        namespace, name = _split(key)
        if namespace:
            prefix = prefixes.setdefault(namespace, _PREFIXES.get(namespace, f"ns{len(prefixes)}"))
            name = f"{prefix}:{name}"
        named.append((name, value))
    return [(f"xmlns:{prefix}", uri) for uri, prefix in prefixes.items() if prefix != "xml"] + named


def _split(name: str) -> tuple[str, str]:
    namespace, _, local = name.rpartition("}")
    return namespace[1:], local


def _escape(text: str, *, quoted: bool = False) -> str:
    text = _FORBIDDEN.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Parsers read a line end in an attribute as a space, and a carriage return anywhere as a line end.
    text = text.replace("\r", "&#13;")
    return text.replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;") if quoted else text


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
    pixels.set("DimensionOrder", "XYCZT" if image.is_rgb else "XYZCT")
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
    known = image.description.channels or (ShownChannel(),) * image.shape[1]
    if image.is_rgb:
        known = (ShownChannel(),)
    channels = []
    for place, channel in enumerate(known):
        element = Element(f"{{{namespace}}}Channel", {"ID": f"Channel:{number}:{place}"})
        if channel.label is not None:
            element.set("Name", channel.label)
        element.set("SamplesPerPixel", str(image.shape[1] // image.planes[1]))
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
    for number, ((row, column), fields) in enumerate(plate.wells.items()):
        item = add(element, "Well", {"ID": f"Well:0:{number}", "Row": str(row), "Column": str(column)})
        for index, (field, acquisition) in enumerate(fields):
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


def _tag(name: str, like: Element | None = None) -> str:
    """Return the full name of an element, in the namespace of another one."""
    return f"{{{OME_NAMESPACE if like is None else _split(like.tag)[0]}}}{name}"


# Update of an image's original OME-XML; parts that ozx does not use stay unchanged.

# Schemas with the same description of pixels and channels; before 2015 lengths had no units.
_UPDATED = ("http://www.openmicroscopy.org/Schemas/OME/2016-06", "http://www.openmicroscopy.org/Schemas/OME/2015-01")
# OME-XML 2016-06, "OME": elements before the plates.
_BEFORE_PLATES = ("Rights", "Project", "Dataset", "Folder", "Experiment")


def update_ome(
    root: Element,
    document: OmeXml,
    images: Sequence[ExportedImage],
    numbers: Sequence[int],
    plate: PlateDescription | None,
) -> list[str]:
    """Update an original document, given as XML and as metadata, for a file with `images`; return notes.

    The notes are about removed parts; `numbers` are those of the images in the document.
    """
    elements = root.findall(_tag("Image", root))
    kept = [elements[number] for number in numbers]
    _keep_images(root, elements, kept)
    # They divide an axis into lifetimes or the like (OME, "6D, 7D and 8D storage").
    annotations = root.iter(_tag("XMLAnnotation", root))
    dividing = [one for one in annotations if any("}ModuloAlong" in child.tag for child in one.iter())]
    notes: list[str] = []
    for element, image, number, first in zip(kept, images, numbers, first_pages(images), strict=True):
        pixels = element.find(_tag("Pixels", root))
        if pixels is None:
            raise FormatError("expected pixels in every image of the OME-XML; one image has none")
        _update_image(element, pixels, image, (document.images[number], number), dividing, notes)
        set_pixels(pixels, image, first)
    _remove_unused(root, dividing)
    _update_plate(root, kept, plate, None if document.plate is None else document.plate.name)
    # The new file is another file, written by another program.
    root.attrib.pop("UUID", None)
    root.set("Creator", CREATOR)
    return notes


def _update_image(
    element: Element,
    pixels: Element,
    image: ExportedImage,
    before: tuple[ImageDescription, int],
    dividing: Sequence[Element],
    notes: list[str],
) -> None:
    said, (known, number) = image.description, before
    if said.name is not None and said.name != known.name:
        element.set("Name", said.name)
    for axis, size in said.sizes.items():
        old = known.sizes.get(axis)
        if old is None or old.unit != size.unit or not math.isclose(old.value, size.value):
            set_size(pixels, axis, size)
    lengths = zip("TCZ", image.shape[:3], strict=True)
    changed = [axis for axis, length in lengths if pixels.get(f"Size{axis}") != str(length)]
    planes = pixels.findall(_tag("Plane", pixels)) if changed else []
    for what, is_there in (
        ("metadata of single planes", bool(planes)),
        ("annotation that divides an axis", _divide_no_more(element, dividing, changed)),
    ):
        if is_there:
            reason = "because the length of t, c or z changed"
            notes.append(f"{image.path or 'the root'}: the OME-XML {what} is left out, {reason}")
    _remove(pixels, planes)
    channels = pixels.findall(_tag("Channel", pixels))
    samples = [channel.get("SamplesPerPixel", "1") for channel in channels]
    if image.is_rgb and samples == ["3"]:
        return
    if image.is_rgb or len(channels) != image.shape[1] or any(count != "1" for count in samples):
        _remove(pixels, channels)
        for place, channel in enumerate(make_channels(image, number, _split(pixels.tag)[0])):
            pixels.insert(place, channel)
        return
    for place, (channel, new) in enumerate(zip(channels, said.channels, strict=False)):
        _update_channel(channel, known.channels[place], new, place)


def _divide_no_more(image: Element, dividing: Sequence[Element], changed: Sequence[str]) -> bool:
    """Remove references to annotations that divide an axis of another length than before; tell if there were any.

    Readers follow such an annotation: tifffile would find 8 lifetimes in a file with fewer.
    """
    endings = tuple(f"}}ModuloAlong{axis}" for axis in changed)
    names = {one.get("ID") for one in dividing if any(child.tag.endswith(endings) for child in one.iter())}
    found = False
    for parent in list(image.iter()) if changed and names else ():
        references = [ref for ref in parent.findall(_tag("AnnotationRef", image)) if ref.get("ID") in names]
        _remove(parent, references)
        found = found or bool(references)
    return found


def _remove_unused(root: Element, dividing: Sequence[Element]) -> None:
    """Remove the annotations that divide an axis of no image."""
    used = {ref.get("ID") for ref in root.iter(_tag("AnnotationRef", root))} if dividing else set()
    for parent in root.findall(_tag("StructuredAnnotations", root)):
        _remove(parent, [one for one in parent if one in dividing and one.get("ID") not in used])


def _keep_images(root: Element, elements: Sequence[Element], kept: Sequence[Element]) -> None:
    """Remove images that are not exported, and all references to them."""
    stays = set(map(id, kept))
    gone = [element for element in elements if id(element) not in stays]
    names = {element.get("ID") for element in gone}
    _remove(root, gone)
    for parent in list(root.iter()) if gone else ():
        _remove(parent, [ref for ref in parent.findall(_tag("ImageRef", root)) if ref.get("ID") in names])


def _update_plate(
    root: Element, kept: Sequence[Element], plate: PlateDescription | None, known_name: str | None
) -> None:
    plates = root.findall(_tag("Plate", root))
    if plate is None:
        _remove(root, plates)
        for screen in root.findall(_tag("Screen", root)):
            _remove(screen, screen.findall(_tag("PlateRef", root)))
    elif not plates:
        element = make_plate(plate, _split(root.tag)[0])
        for ref in element.iter(_tag("ImageRef", root)):
            ref.set("ID", kept[int(ref.get("ID", "").rpartition(":")[2])].get("ID", ""))
        before = [_tag(name, root) for name in _BEFORE_PLATES]
        place = next((n for n, child in enumerate(root) if child.tag not in before), len(root))
        root.insert(place, element)
    elif plate.name is not None and plate.name != known_name:
        plates[0].set("Name", plate.name)


def read_kept_xml(data: bytes) -> tuple[Element, OmeXml]:
    """Parse an existing document for `update_ome`, as XML and as metadata; raise an error if it cannot be updated."""
    document = parse_ome_xml(data)
    root = parse_xml(data, "the OME-XML", keep_namespaces=True)
    namespace, _, name = root.tag[1:].rpartition("}")
    if namespace not in _UPDATED or name != "OME":
        raise FormatError(f"expected OME-XML of 2015-01 or 2016-06; found {root.tag}")
    if not document.images:
        raise FormatError("expected OME-XML with images; found none")
    return root, document


def _update_channel(element: Element, known: ShownChannel, new: ShownChannel, number: int) -> None:
    """Update a ``Channel`` element; a name that ozx generated is not written."""
    if new.label is not None and new.label != (known.label or f"Channel {number}"):
        element.set("Name", new.label)
    if new.color is not None and new.color != known.color:
        set_channel_color(element, new.color)
    if new.emission is not None and not (known.emission and math.isclose(new.emission, known.emission)):
        set_emission(element, new.emission)
    element.set("SamplesPerPixel", "1")


def _remove(parent: Element, children: Iterable[Element]) -> None:
    for child in children:
        parent.remove(child)
