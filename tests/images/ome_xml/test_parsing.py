"""What OME-XML says, field by field; and documents that mean harm."""

import pytest
from tiffs import ome_image, ome_xml

from ozx.errors import FormatError
from ozx.images.description import ChannelDescription, PixelSize, WellDescription
from ozx.images.ome_xml.parsing import parse_ome_xml, parse_xml


def described(inside="", attributes="", **options):
    """Return what is said of the only image."""
    (image,) = parse_ome_xml(ome_xml(ome_image(inside=inside, attributes=attributes, **options))).images
    return image.description


def test_names_and_dates():
    image = described(name="Caf\u00e9 &amp; cells")
    assert (image.name, image.acquired) == ("Caf\u00e9 & cells", "2026-01-02T03:04:05")


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
        ("", ChannelDescription()),
        ('Name="DAPI"', ChannelDescription("DAPI")),
        ('Fluor="GFP"', ChannelDescription("GFP")),
        ('Name="DAPI" Fluor="GFP"', ChannelDescription("DAPI")),
        # OME-XML 2016-06, "Color": -1 is solid white, -16776961 solid red.
        ('Color="-1"', ChannelDescription(color="FFFFFF")),
        ('Color="-16776961"', ChannelDescription(color="FF0000")),
        ('Color="16711935"', ChannelDescription(color="00FF00")),
        ('Color="65535"', ChannelDescription(color="0000FF")),
        ('Color="-2147483648"', ChannelDescription(color="800000")),
        ('Color="4278190335"', ChannelDescription(color="FF0000")),
        ('Color="99999999999"', ChannelDescription()),
        ('Color="red"', ChannelDescription()),
        ('Name="Ch 1" Fluor="Cy5"', ChannelDescription("Ch 1", "FF00FF")),
        ('EmissionWavelength="461"', ChannelDescription(emission=461.0)),
        ('EmissionWavelength="0.5" EmissionWavelengthUnit="\u00b5m"', ChannelDescription(emission=500.0)),
        ('EmissionWavelength="5" EmissionWavelengthUnit="pixel"', ChannelDescription()),
    ],
)
def test_channels(attributes, expected):
    assert described(f'<Channel ID="Channel:0:0" {attributes}/>').channels == (expected,)


def test_samples_of_one_channel_are_the_colours_of_a_picture():
    channels = described('<Channel ID="Channel:0:0" SamplesPerPixel="3" Name="Light"/>').channels
    assert [(channel.name, channel.color) for channel in channels] == [
        ("Red", "FF0000"),
        ("Green", "00FF00"),
        ("Blue", "0000FF"),
    ]
    assert channels[0].window.end == 65535


def test_files_and_the_one_that_has_the_metadata():
    data = (
        '<TiffData><UUID FileName="a.tif">u:a</UUID></TiffData><TiffData><UUID FileName="b.tif">u:b</UUID></TiffData>'
    )
    assert parse_ome_xml(ome_xml(ome_image(planes=data))).files == ("a.tif", "b.tif")
    assert parse_ome_xml(ome_xml('<BinaryOnly MetadataFile="all.ome" UUID="u"/>')).master == "all.ome"


PLATE = """
<Plate ID="Plate:0" Name="Screen" Rows="2" Columns="3" {conventions}>
  <Well ID="Well:0" Row="0" Column="1">
    <WellSample ID="WellSample:0" Index="0"><ImageRef ID="Image:0"/></WellSample>
    <WellSample ID="WellSample:1" Index="1"><ImageRef ID="Image:1"/></WellSample>
  </Well>
  <Well ID="Well:1" Row="1" Column="2"><WellSample ID="WellSample:2"><ImageRef ID="Image:2"/></WellSample></Well>
  <Well ID="Well:2" Row="1" Column="0"/>
  <PlateAcquisition ID="Run:0" Name="First" StartTime="2026-01-02T03:04:05Z">
    <WellSampleRef ID="WellSample:0"/><WellSampleRef ID="WellSample:2"/>
  </PlateAcquisition>
</Plate>
"""


def plate(conventions="", images=3):
    document = ome_xml("".join(ome_image(number) for number in range(images)), PLATE.format(conventions=conventions))
    return parse_ome_xml(document).plate


def test_wells_at_the_same_place_become_one_well():
    wells = "".join(
        f'<Well ID="W{n}" Row="{row}" Column="1"><WellSample ID="S{n}"><ImageRef ID="Image:{n}"/></WellSample></Well>'
        for n, row in enumerate([0, 1, 0])
    )
    run = '<PlateAcquisition ID="A"><WellSampleRef ID="S2"/></PlateAcquisition>'
    images = "".join(f'<Image ID="Image:{n}"/>' for n in range(3))
    plate = parse_ome_xml(f"<OME>{images}<Plate>{wells}{run}</Plate></OME>").plate
    assert plate.wells == (WellDescription(0, 1, (0, 2), (None, 0)), WellDescription(1, 1, (1,), (None,)))


def test_plates():
    found = plate()
    assert (found.name, found.rows, found.columns) == ("Screen", ("A", "B"), ("1", "2", "3"))
    assert found.wells == (WellDescription(0, 1, (0, 1), (0, None)), WellDescription(1, 2, (2,), (0,)))
    assert found.acquisitions == (("First", 1767323045000, None),)
    swapped = plate('RowNamingConvention="number" ColumnNamingConvention="letter"')
    assert (swapped.rows, swapped.columns) == (("1", "2"), ("A", "B", "C"))


def test_fields_without_an_image_are_left_out_of_a_plate():
    assert plate(images=1).wells == (WellDescription(0, 1, (0,), (0,)),)
    assert plate(images=0) is None
    assert plate().renumbered({1: 0}).wells == (WellDescription(0, 1, (0,), (None,)),)
    assert plate().renumbered({}) is None


def test_letters_go_on_after_z():
    document = ome_xml(ome_image(), PLATE.format(conventions="").replace('Rows="2"', 'Rows="28"'))
    assert parse_ome_xml(document).plate.rows[-3:] == ("Z", "AA", "AB")


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


def test_text_and_bytes_in_any_encoding():
    assert parse_xml('<?xml version="1.0" encoding="UTF-16"?><a b="\u00e9"/>', "it").get("b") == "\u00e9"
    assert (
        parse_xml('<?xml version="1.0" encoding="ISO-8859-1"?><a b="\u00e9"/>'.encode("latin-1"), "it").get("b")
        == "\u00e9"
    )


def test_numbers_beyond_reason_do_no_harm():
    document = ome_xml(
        ome_image(inside='<Channel SamplesPerPixel="999999999999"/><Channel SamplesPerPixel="-3"/>'),
        PLATE.format(conventions="").replace('Rows="2"', 'Rows="999999999"'),
    )
    parsed = parse_ome_xml(document)
    assert len(parsed.images[0].description.channels) == 2
    assert len(parsed.plate.rows) == 1


@pytest.mark.parametrize("encoding", ["shift_jis", "utf-32", "utf-7", "klingon", "idna", "rot13", "x" * 3000])
def test_encodings_that_expat_does_not_know(encoding):
    """Python offers expat its own codecs, and raises whatever comes of those of several bytes."""
    document = f'<?xml version="1.0" encoding="{encoding}"?><OME/>'.encode()
    with pytest.raises(FormatError, match="expected the OME-XML in UTF-8, UTF-16 or an encoding of one byte") as caught:
        parse_xml(document, "the OME-XML")
    assert len(str(caught.value)) < 300
    assert parse_xml(document.replace(encoding.encode(), b"latin-1"), "the OME-XML").tag == "OME"
