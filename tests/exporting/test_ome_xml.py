"""OME-XML that is made: valid by its schema, understood by the reader of this project; and OME-XML that is kept."""

import pytest
from exported import image, validate
from tiffs import ome_image, ome_xml

from ozx.exporting.ome_xml import make_ome, read_kept_xml, render_xml, update_ome
from ozx.images.description import ImageDescription
from ozx.images.ome_xml import parse_ome_xml
from ozx.ome.colors import ShownChannel
from ozx.ome.units import PixelSize

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


def test_what_was_said_of_planes_goes_with_their_number():
    inside = '<Channel ID="Channel:0:0" Color="65535" SamplesPerPixel="1"/><Channel ID="Channel:0:1" Fluor="GFP"/>'
    planes = '<TiffData/><Plane TheZ="0" TheC="0" TheT="0" ExposureTime="5"/>'
    size, attributes = (1, 2, 1, 20, 30), 'PhysicalSizeX="0.65" SignificantBits="12"'
    text = ome_xml(ome_image(0, name="Cells", size=size, inside=inside, attributes=attributes, planes=planes))
    root, known = read_kept_xml(text.encode())
    notes = update_ome(root, known, [image(shape=(2, 2, 3, 10, 15), dtype="float32")], [0], None)
    rendered = render_xml(root)
    validate(rendered)
    assert notes == [
        "the root: the OME-XML metadata of single planes is left out, because the length of t, c or z changed"
    ]
    assert "<Plane " not in rendered
    assert "SignificantBits" not in rendered
    assert 'Type="float"' in rendered
