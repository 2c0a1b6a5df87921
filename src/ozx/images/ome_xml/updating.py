"""Update of an image's original OME-XML; parts that ozx does not use stay unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from ozx.errors import FormatError
from ozx.images.description import ChannelDescription, PlateDescription
from ozx.images.exported_image import ExportedImage
from ozx.images.ome_xml.composing import (
    CREATOR,
    first_pages,
    make_channels,
    make_plate,
    set_channel_color,
    set_emission,
    set_pixels,
    set_size,
)
from ozx.images.ome_xml.parsing import OmeXml, parse_ome_xml
from ozx.images.ome_xml.xml_reading import parse_xml

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

    @property
    def names(self) -> list[str | None]:
        """The names of the images in the document."""
        return [image.description.name for image in self.document.images]

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
        said, known = image.description, self.document.images[number].description
        if said.name is not None and said.name != known.name:
            element.set("Name", said.name)
        for axis, size in said.sizes.items():
            before = known.sizes.get(axis)
            if before is None or before.unit != size.unit or not math.isclose(before.value, size.value):
                set_size(pixels, axis, size)
        lengths = zip("TCZ", image.shape[:3], strict=True)
        planes = pixels.findall(self._tag("Plane"))
        if planes and any(pixels.get(f"Size{axis}") != str(length) for axis, length in lengths):
            notes.append(
                f"{image.path or 'the root'}: the OME-XML metadata of single planes is left out, "
                "because the length of t, c or z changed"
            )
            _remove(pixels, planes)
        channels = pixels.findall(self._tag("Channel"))
        if len(channels) != image.shape[1] or any(channel.get("SamplesPerPixel", "1") != "1" for channel in channels):
            _remove(pixels, channels)
            for place, channel in enumerate(make_channels(image, number, self.namespace)):
                pixels.insert(place, channel)
            return
        for place, (channel, new) in enumerate(zip(channels, said.channels, strict=False)):
            _update_channel(channel, known.channels[place], new, place)

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


def _update_channel(element: Element, known: ChannelDescription, new: ChannelDescription, number: int) -> None:
    """Update a ``Channel`` element; a name that ozx generated is not written."""
    if new.name is not None and new.name != (known.name or f"Channel {number}"):
        element.set("Name", new.name)
    if new.color is not None and new.color != known.color:
        set_channel_color(element, new.color)
    if new.emission is not None and not (known.emission and math.isclose(new.emission, known.emission)):
        set_emission(element, new.emission)
    element.set("SamplesPerPixel", "1")


def _remove(parent: Element, children: Iterable[Element]) -> None:
    for child in children:
        parent.remove(child)
