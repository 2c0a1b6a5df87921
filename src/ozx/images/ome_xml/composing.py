"""OME-XML (2016-06) for the images of a hierarchy, new or as an update of the original."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from xml.etree.ElementTree import Element, SubElement

from ozx.errors import FormatError
from ozx.hierarchy.ome.colors import ShownChannel
from ozx.hierarchy.ome.units import PixelSize, unit_symbol
from ozx.images.description import PlateDescription
from ozx.images.exported_image import PIXEL_TYPES, ExportedImage
from ozx.images.ome_xml.parsing import OmeXml, parse_ome_xml, parse_xml

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


def _tag(name: str) -> str:
    return f"{{{OME_NAMESPACE}}}{name}"


# Update of an image's original OME-XML; parts that ozx does not use stay unchanged.

# Schemas with the same description of pixels and channels; before 2015 lengths had no units.
_UPDATED = ("http://www.openmicroscopy.org/Schemas/OME/2016-06", "http://www.openmicroscopy.org/Schemas/OME/2015-01")
# OME-XML 2016-06, "OME": elements before the plates.
_BEFORE_PLATES = ("Rights", "Project", "Dataset", "Folder", "Experiment")


@dataclass(frozen=True)
class KeptXml:
    """An original OME-XML document, as XML elements and as parsed metadata."""

    root: Element
    document: OmeXml
    namespace: str

    def update(
        self, images: Sequence[ExportedImage], numbers: Sequence[int], plate: PlateDescription | None
    ) -> tuple[Element, list[str]]:
        """Return the updated document for a file with `images`, and notes about removed parts."""
        elements = self.root.findall(self._tag("Image"))
        kept = [elements[number] for number in numbers]
        self._keep_images(elements, kept)
        notes: list[str] = []
        for element, image, number, first in zip(kept, images, numbers, first_pages(images), strict=True):
            pixels = element.find(self._tag("Pixels"))
            if pixels is None:
                raise FormatError("expected pixels in every image of the OME-XML; one image has none")
            self._update_image(element, pixels, image, number, notes)
            set_pixels(pixels, image, first)
        self._remove_unused()
        self._update_plate(kept, plate)
        # The new file is another file, written by another program.
        self.root.attrib.pop("UUID", None)
        self.root.set("Creator", CREATOR)
        return self.root, notes

    def _update_image(
        self,
        element: Element,
        pixels: Element,
        image: ExportedImage,
        number: int,
        notes: list[str],
    ) -> None:
        said, known = image.description, self.document.images[number]
        if said.name is not None and said.name != known.name:
            element.set("Name", said.name)
        for axis, size in said.sizes.items():
            before = known.sizes.get(axis)
            if before is None or before.unit != size.unit or not math.isclose(before.value, size.value):
                set_size(pixels, axis, size)
        lengths = zip("TCZ", image.shape[:3], strict=True)
        changed = [axis for axis, length in lengths if pixels.get(f"Size{axis}") != str(length)]
        planes = pixels.findall(self._tag("Plane")) if changed else []
        for what, is_there in (
            ("metadata of single planes", bool(planes)),
            ("annotation that divides an axis", self._divide_no_more(element, changed)),
        ):
            if is_there:
                reason = "because the length of t, c or z changed"
                notes.append(f"{image.path or 'the root'}: the OME-XML {what} is left out, {reason}")
        _remove(pixels, planes)
        channels = pixels.findall(self._tag("Channel"))
        samples = [channel.get("SamplesPerPixel", "1") for channel in channels]
        if image.is_rgb and samples == ["3"]:
            return
        if image.is_rgb or len(channels) != image.shape[1] or any(count != "1" for count in samples):
            _remove(pixels, channels)
            for place, channel in enumerate(make_channels(image, number, self.namespace)):
                pixels.insert(place, channel)
            return
        for place, (channel, new) in enumerate(zip(channels, said.channels, strict=False)):
            _update_channel(channel, known.channels[place], new, place)

    @cached_property
    def _dividing(self) -> list[Element]:
        """The annotations that divide an axis into lifetimes or the like (OME, "6D, 7D and 8D storage")."""
        annotations = self.root.iter(self._tag("XMLAnnotation"))
        return [one for one in annotations if any("}ModuloAlong" in child.tag for child in one.iter())]

    def _divide_no_more(self, image: Element, changed: Sequence[str]) -> bool:
        """Remove references to annotations that divide an axis of another length than before; tell if there were any.

        Readers follow such an annotation: tifffile would find 8 lifetimes in a file with fewer.
        """
        endings = tuple(f"}}ModuloAlong{axis}" for axis in changed)
        names = {one.get("ID") for one in self._dividing if any(child.tag.endswith(endings) for child in one.iter())}
        found = False
        for parent in list(image.iter()) if changed and names else ():
            references = [ref for ref in parent.findall(self._tag("AnnotationRef")) if ref.get("ID") in names]
            _remove(parent, references)
            found = found or bool(references)
        return found

    def _remove_unused(self) -> None:
        """Remove the annotations that divide an axis of no image."""
        used = {ref.get("ID") for ref in self.root.iter(self._tag("AnnotationRef"))} if self._dividing else set()
        for parent in self.root.findall(self._tag("StructuredAnnotations")):
            _remove(parent, [one for one in parent if one in self._dividing and one.get("ID") not in used])

    def _keep_images(self, elements: Sequence[Element], kept: Sequence[Element]) -> None:
        """Remove images that are not exported, and all references to them."""
        stays = set(map(id, kept))
        gone = [element for element in elements if id(element) not in stays]
        names = {element.get("ID") for element in gone}
        _remove(self.root, gone)
        for parent in list(self.root.iter()) if gone else ():
            _remove(parent, [ref for ref in parent.findall(self._tag("ImageRef")) if ref.get("ID") in names])

    def _update_plate(self, kept: Sequence[Element], plate: PlateDescription | None) -> None:
        plates = self.root.findall(self._tag("Plate"))
        if plate is None:
            _remove(self.root, plates)
            for screen in self.root.findall(self._tag("Screen")):
                _remove(screen, screen.findall(self._tag("PlateRef")))
        elif not plates:
            element = make_plate(plate, self.namespace)
            for ref in element.iter(self._tag("ImageRef")):
                ref.set("ID", kept[int(ref.get("ID", "").rpartition(":")[2])].get("ID", ""))
            before = [self._tag(name) for name in _BEFORE_PLATES]
            place = next((n for n, child in enumerate(self.root) if child.tag not in before), len(self.root))
            self.root.insert(place, element)
        elif plate.name is not None and plate.name != (self.document.plate and self.document.plate.name):
            plates[0].set("Name", plate.name)

    def _tag(self, name: str) -> str:
        return f"{{{self.namespace}}}{name}"


def read_kept_xml(data: bytes) -> KeptXml:
    """Parse an existing OME-XML document for an update; raise an error if it cannot be updated."""
    document = parse_ome_xml(data)
    root = parse_xml(data, "the OME-XML", keep_namespaces=True)
    namespace, _, name = root.tag[1:].rpartition("}")
    if namespace not in _UPDATED or name != "OME":
        raise FormatError(f"expected OME-XML of 2015-01 or 2016-06; found {root.tag}")
    if not document.images:
        raise FormatError("expected OME-XML with images; found none")
    return KeptXml(root, document, namespace)


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
