"""What OME-XML says, field by field; documents that mean harm; numbers for which readers would take memory."""

import pytest
from tiffs import ome_image, ome_xml

from ozx.errors import FormatError
from ozx.images.ome_xml import check_claims, parse_ome_xml, parse_xml
from ozx.ome.colors import ShownChannel
from ozx.ome.units import PixelSize


def described(inside="", attributes="", **options):
    (image,) = parse_ome_xml(ome_xml(ome_image(inside=inside, attributes=attributes, **options))).images
    return image


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ('PhysicalSizeX="0.65"', {"x": PixelSize(0.65, "micrometer")}),
        ('PhysicalSizeZ="2" PhysicalSizeZUnit="nm"', {"z": PixelSize(2.0, "nanometer")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="\u212b"', {"y": PixelSize(3.0, "angstrom")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="\u00c5"', {"y": PixelSize(3.0, "angstrom")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="Mm"', {"y": PixelSize(3.0, "megameter")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="micrometer"', {"y": PixelSize(3.0, "micrometer")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="furlong"', {"y": PixelSize(3.0, None, "furlong")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="second"', {"y": PixelSize(3.0, None, "second")}),
        ('TimeIncrement="2" TimeIncrementUnit="minutes"', {"t": PixelSize(2.0, "minute")}),
        ('PhysicalSizeY="2" PhysicalSizeYUnit="thou"', {"y": PixelSize(50.8, "micrometer")}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="pixel"', {"y": PixelSize(3.0, None)}),
        ('PhysicalSizeY="3" PhysicalSizeYUnit="reference frame"', {"y": PixelSize(3.0, None)}),
        ('TimeIncrement="0.5"', {"t": PixelSize(0.5, "second")}),
        ('TimeIncrement="2" TimeIncrementUnit="min"', {"t": PixelSize(2.0, "minute")}),
        ('TimeIncrement="2" TimeIncrementUnit="\u00b5s"', {"t": PixelSize(2.0, "microsecond")}),
        ('PhysicalSizeX="0" PhysicalSizeY="-1" PhysicalSizeZ="nan" TimeIncrement="soon"', {}),
        ('PhysicalSizeX="inf"', {}),
    ],
)
def test_sizes(attributes, sizes):
    assert described(attributes=attributes).sizes == sizes


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", ShownChannel()),
        ('Name="DAPI"', ShownChannel("DAPI")),
        ('Fluor="GFP"', ShownChannel("GFP")),
        ('Name="DAPI" Fluor="GFP"', ShownChannel("DAPI")),
        # OME-XML 2016-06, "Color": -1 is solid white, -16776961 solid red.
        ('Color="-1"', ShownChannel(color="FFFFFF")),
        ('Color="-16776961"', ShownChannel(color="FF0000")),
        ('Color="16711935"', ShownChannel(color="00FF00")),
        ('Color="65535"', ShownChannel(color="0000FF")),
        ('Color="-2147483648"', ShownChannel(color="800000")),
        ('Color="4278190335"', ShownChannel(color="FF0000")),
        ('Color="99999999999"', ShownChannel()),
        ('Color="red"', ShownChannel()),
        ('Name="Ch 1" Fluor="Cy5"', ShownChannel("Ch 1", "FF00FF")),
        ('EmissionWavelength="461"', ShownChannel(emission=461.0)),
        ('EmissionWavelength="0.5" EmissionWavelengthUnit="\u00b5m"', ShownChannel(emission=500.0)),
        ('EmissionWavelength="5" EmissionWavelengthUnit="pixel"', ShownChannel()),
    ],
)
def test_channels(attributes, expected):
    assert described(f'<Channel ID="Channel:0:0" {attributes}/>').channels == (expected,)


BOMB = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "lol"}">' for n in range(12))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (ome_xml(head=f"<!DOCTYPE OME [{BOMB}]>", images="&a11;"), "no document type"),
        (ome_xml(head='<!DOCTYPE OME [<!ENTITY x SYSTEM "file:///etc/passwd">]>', images="&x;"), "no document type"),
        (ome_xml(head='<!DOCTYPE OME SYSTEM "http://localhost/ome.dtd">'), "no document type"),
        (ome_xml("<Image>" * 300 + "</Image>" * 300), "elements deep"),
        ("<OME><Image></OME>", "well-formed"),
        ("<OME>&undefined;</OME>", "well-formed"),
        ("", "well-formed"),
        ("<OME>" + "\0" + "</OME>", "well-formed"),
    ],
)
def test_documents_that_are_refused(document, message):
    with pytest.raises(FormatError, match=message):
        parse_ome_xml(document)


@pytest.mark.parametrize("encoding", ["shift_jis", "utf-32", "utf-7", "klingon", "idna", "rot13", "x" * 3000])
def test_encodings_that_expat_does_not_know(encoding):
    """Python offers expat its own codecs, and raises whatever comes of those of several bytes."""
    document = f'<?xml version="1.0" encoding="{encoding}"?><OME/>'.encode()
    with pytest.raises(FormatError, match="expected the OME-XML in UTF-8, UTF-16 or an encoding of one byte") as caught:
        parse_xml(document, "the OME-XML")
    assert len(str(caught.value)) < 300
    assert parse_xml(document.replace(encoding.encode(), b"latin-1"), "the OME-XML").tag == "OME"


def document(inside="", channel="", **sizes):
    attributes = " ".join(f'{name}="{value}"' for name, value in sizes.items())
    pixels = f"<Pixels {attributes}><Channel {channel}/>{inside}</Pixels>"
    return f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image>{pixels}</Image></OME>'


@pytest.mark.parametrize(
    "text",
    [
        document(SizeT=999999999),
        document(SizeT="&#57;99999999"),
        document(SizeZ=2000, SizeC=2000, SizeT=2),
        document(SizeT=10**30),
        document('<TiffData PlaneCount="999999999"/>'),
        document('<TiffData FirstT="999999999"/>'),
        document('<TiffData IFD="999999999"/>'),
        document('<MyTiffData IFD="999999999"/>'),
        document('<TiffData xmlns:x="x" IFD="999999999" x:IFD="0"/>'),
        document(SizeT=999999999).replace("Pixels", "MyPixels"),
        document(SizeT=3_000_000).replace("</OME>", "<Image><Pixels SizeT='3000000'/></Image></OME>"),
    ],
)
def test_planes_beyond_measure_are_refused(text):
    with pytest.raises(FormatError, match="at most 4,000,000 planes; the OME-XML claims"):
        check_claims(text)


def test_samples_beyond_measure_are_refused():
    with pytest.raises(FormatError, match="at most 10,000 samples"):
        check_claims(document(channel='SamplesPerPixel="999999999"'))
    with pytest.raises(FormatError, match="at most 10,000 samples"):
        check_claims(document(channel='SamplesPerPixel="999999999"').replace("Channel", "MyChannel"))
