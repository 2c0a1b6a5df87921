"""OME-XML that is made: valid by its schema, and understood by the reader of this project."""

import ome_types
import pytest
from exported import image, validate

from ozx.images.description import (
    ChannelDescription,
    ImageDescription,
    PixelSize,
    PlateDescription,
    WellDescription,
)
from ozx.images.ome_xml.composing import first_pages, make_ome, render_xml
from ozx.images.ome_xml.parsing import parse_ome_xml

SIZES = {
    "t": PixelSize(1.5, "minute"),
    "z": PixelSize(2.0, "nanometer"),
    "y": PixelSize(0.1, "angstrom"),
    "x": PixelSize(3.0),
}
CHANNELS = (
    ChannelDescription('A & "B" <C>', "FF0000", 509.5),
    ChannelDescription(None, None, None),
    ChannelDescription("µ", "00FF80"),
)


@pytest.mark.ci
def test_what_is_said_is_read_again():
    said = ImageDescription("Cells & co", SIZES, CHANNELS)
    text = render_xml(make_ome([image(description=said)], None))
    validate(text)
    (read,) = parse_ome_xml(text).images
    assert read.description == said
    assert read.has_planes


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64"])
def test_types(dtype):
    text = render_xml(make_ome([image(dtype=dtype)], None))
    validate(text)
    kind = ome_types.from_xml(text).images[0].pixels.type
    assert kind.numpy_dtype == dtype


def test_names_and_pages_of_several_images():
    images = [image("0"), image("1", ImageDescription("Overview"), (1, 1, 1, 20, 30)), image("2")]
    assert first_pages(images) == [0, 12, 13]
    text = render_xml(make_ome(images, None))
    validate(text)
    ome = ome_types.from_xml(text)
    assert [item.name for item in ome.images] == ["0", "Overview", "2"]
    blocks = [item.pixels.tiff_data_blocks[0] for item in ome.images]
    assert [(block.ifd, block.plane_count) for block in blocks] == [(0, 12), (12, 1), (13, 12)]


def test_a_plate():
    wells = (WellDescription(0, 1, (0, 1), (0, 1)), WellDescription(27, 0, (2,), (None,)))
    times = (("Monday", 1_700_000_000_000, 1_700_000_000_500), (None, None, None))
    rows = tuple(f"{first}{letter}" for first in ("", "A") for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")[:28]
    plate = PlateDescription("Plate 7", rows, ("1", "2"), wells, times)
    text = render_xml(make_ome([image(str(number)) for number in range(3)], plate))
    validate(text)
    assert parse_ome_xml(text).plate == plate


def test_units_that_ome_xml_has_not():
    sizes = {"t": PixelSize(2.0), "y": PixelSize(1.0, "furlong"), "x": PixelSize(1.0, "furlong")}
    text = render_xml(make_ome([image(description=ImageDescription(None, sizes))], None))
    validate(text)
    assert parse_ome_xml(text).images[0].description.sizes == {"y": PixelSize(1.0), "x": PixelSize(1.0)}
