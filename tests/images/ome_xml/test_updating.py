"""OME-XML that images came with: what is not known of stays, word for word; what is known is that of now."""

from dataclasses import replace

import pytest
from exported import image, validate
from tiffs import ome_image, ome_xml

from ozx.errors import FormatError
from ozx.images.description import ChannelDescription, ImageDescription, PixelSize, PlateDescription, WellDescription
from ozx.images.ome_xml.composing import read_kept_xml, render_xml
from ozx.images.ome_xml.parsing import parse_ome_xml

SHAPE = (1, 2, 1, 20, 30)
CHANNELS = (
    '<Channel ID="Channel:9:0" Name="DAPI" Color="65535" AcquisitionMode="WideField" SamplesPerPixel="1"/>'
    '<Channel ID="Channel:9:1" Fluor="GFP" SamplesPerPixel="1"/>'
)
SIZES = 'PhysicalSizeX="0.65" PhysicalSizeY="650" PhysicalSizeYUnit="nm" SignificantBits="12"'
PLANES = '<TiffData/><Plane TheZ="0" TheC="0" TheT="0" ExposureTime="5"/>'
REST = (
    '<StructuredAnnotations><XMLAnnotation ID="Annotation:0"><Value><own:it xmlns:own="u"><plain/></own:it></Value>'
    "</XMLAnnotation></StructuredAnnotations>"
)


def document(*, inside=CHANNELS, size=(1, 2, 1, 20, 30), plate="", count=1):
    images = "".join(
        ome_image(
            number,
            name=f"Cells {number}",
            size=size,
            inside=inside.replace("Channel:0", f"Channel:{number}"),
            attributes=SIZES,
            planes=PLANES,
        )
        for number in range(count)
    )
    return ome_xml(images + REST, plate)


def described(text, number=0):
    return parse_ome_xml(text).images[number].description


def update(text, *images, numbers=None, plate=None):
    kept = read_kept_xml(text.encode())
    root, notes = kept.update(images, numbers or list(range(len(images))), plate)
    rendered = render_xml(root)
    validate(rendered)
    return rendered, notes


def test_nothing_new_changes_only_where_the_pixels_are():
    text = document()
    rendered, notes = update(text, image(description=described(text), shape=SHAPE))
    assert notes == []
    assert described(rendered) == described(text)
    for part in (
        CHANNELS.replace("/>", "/>"),
        'SignificantBits="12"',
        'PhysicalSizeX="0.65"',
        "ExposureTime",
        "<plain",
    ):
        assert part in rendered
    assert '<TiffData IFD="0" PlaneCount="2"/>' in rendered
    assert "PhysicalSizeXUnit" not in rendered  # it was not there, and the micrometer is meant
    again, _ = update(rendered, image(description=described(rendered), shape=SHAPE))
    assert again == rendered


@pytest.mark.parametrize(("color", "number"), [("FFFFFF", "-1"), ("00FF00", "16711935")])
def test_a_colour_that_the_document_lacks_is_said(color, number):
    """Programs show a channel without a colour in white; ozx chooses a colour by its dye."""
    text = document()
    known = described(text)
    shown = (known.channels[0], ChannelDescription("GFP", color))
    rendered, _ = update(text, image(description=replace(known, channels=shown), shape=SHAPE))
    assert f'Fluor="GFP" SamplesPerPixel="1" Color="{number}"' in rendered
    assert parse_ome_xml(rendered.encode()).images[0].description.channels[1].color == color


def test_what_is_new_is_said():
    new = ImageDescription(
        "Other",
        {"y": PixelSize(650.0, "nanometer"), "x": PixelSize(2.0, "millimeter"), "t": PixelSize(3.0, "second")},
        (ChannelDescription("DAPI", "0000FF", 461.0), ChannelDescription("YFP", "FFFF00")),
    )
    rendered, _ = update(document(), image(description=new, shape=SHAPE))
    found = described(rendered)
    assert (found.name, found.sizes, found.channels) == (new.name, new.sizes, new.channels)
    assert 'AcquisitionMode="WideField"' in rendered
    assert 'PhysicalSizeY="650"' in rendered


def test_another_type_and_other_lengths():
    new = image(shape=(2, 2, 3, 10, 15), dtype="float32")
    rendered, notes = update(document(), new)
    assert notes == [
        "the root: the OME-XML metadata of single planes is left out, because the length of t, c or z changed"
    ]
    assert "<Plane " not in rendered
    assert "SignificantBits" not in rendered
    assert 'Type="float"' in rendered


@pytest.mark.parametrize(
    "inside", ['<Channel ID="Channel:0:0" SamplesPerPixel="3"/>', CHANNELS, "", CHANNELS.replace('"1"/><', '"2"/><')]
)
def test_another_number_of_channels(inside):
    channels = tuple(ChannelDescription(name, "FF0000") for name in "abc")
    new = image(description=ImageDescription("x", {}, channels), shape=(1, 3, 1, 20, 30))
    rendered, _ = update(document(inside=inside, size=(1, 3, 1, 20, 30)), new)
    assert described(rendered).channels == channels


def test_images_that_are_not_there_go_and_what_refers_to_them():
    plate = (
        '<Plate ID="Plate:0"><Well ID="Well:0" Row="0" Column="0">'
        + "".join(
            f'<WellSample ID="WellSample:{number}" Index="{number}"><ImageRef ID="Image:{number}"/></WellSample>'
            for number in range(3)
        )
        + '</Well></Plate><Screen ID="Screen:0"><PlateRef ID="Plate:0"/></Screen>'
    )
    dataset = '<Dataset ID="Dataset:0"><ImageRef ID="Image:0"/><ImageRef ID="Image:1"/></Dataset>'
    text = document(inside='<Channel ID="Channel:0:0"/>', size=(1, 1, 1, 20, 30), plate=dataset + plate, count=3)
    one = image(shape=(1, 1, 1, 20, 30))
    rendered, _ = update(text, one, numbers=[1])
    assert "Plate" not in rendered
    assert '<Dataset ID="Dataset:0"><ImageRef ID="Image:1"/></Dataset>' in rendered
    assert [item.id for item in parse_ome_xml(rendered).images] == ["Image:1"]


def test_a_plate_that_the_document_has_not():
    plate = PlateDescription("P", ("A",), ("1",), (WellDescription(0, 0, (1, 0), (None, None)),))
    text = document(inside='<Channel ID="Channel:0:0"/>', size=(1, 1, 1, 20, 30), count=2)
    one = image(shape=(1, 1, 1, 20, 30))
    rendered, _ = update(text, one, one, plate=plate)
    assert parse_ome_xml(rendered).plate == plate
    renamed, _ = update(rendered, one, one, plate=replace(plate, name="Q"))
    assert parse_ome_xml(renamed).plate == replace(plate, name="Q")


def test_another_file_has_another_uuid():
    text = document().replace("<OME ", '<OME UUID="urn:uuid:00000000-0000-0000-0000-000000000000" Creator="x" ')
    rendered, _ = update(text, image(shape=SHAPE))
    assert "uuid" not in rendered
    assert 'Creator="ozx"' in rendered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<OME", "well-formed"),
        (document().replace("2016-06", "2011-06"), "expected OME-XML of 2015-01 or 2016-06; found .*2011-06"),
        (ome_xml(), "expected OME-XML with images; found none"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><OME/>', "document type"),
    ],
)
def test_documents_that_cannot_be_used(text, message):
    with pytest.raises(FormatError, match=message):
        read_kept_xml(text.encode())


def test_documents_of_2015_stay_what_they_are():
    text = document().replace("2016-06", "2015-01")
    root, _ = read_kept_xml(text.encode()).update([image(shape=SHAPE)], [0], None)
    assert "2016-06" not in render_xml(root)
    assert "2015-01" in render_xml(root)
