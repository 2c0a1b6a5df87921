"""OME-XML that is made: valid by its schema, and understood by the reader of this project."""

import pytest
from exported import image, validate

from ozx.hierarchy.ome.colors import ShownChannel
from ozx.hierarchy.ome.units import PixelSize
from ozx.images.description import ImageDescription
from ozx.images.ome_xml.composing import make_ome, render_xml
from ozx.images.ome_xml.parsing import parse_ome_xml

SIZES = {
    "t": PixelSize(1.5, "minute"),
    "z": PixelSize(2.0, "nanometer"),
    "y": PixelSize(0.1, "angstrom"),
    "x": PixelSize(3.0),
}
CHANNELS = (ShownChannel('A & "B" <C>', "FF0000", emission=509.5), ShownChannel(), ShownChannel("µ", "00FF80"))


@pytest.mark.ci
def test_what_is_said_is_read_again():
    said = ImageDescription("Cells & co", SIZES, CHANNELS)
    text = render_xml(make_ome([image(description=said)], None))
    validate(text)
    (read,) = parse_ome_xml(text).images
    assert read == said
    assert read.has_planes
