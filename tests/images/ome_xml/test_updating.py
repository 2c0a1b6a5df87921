"""OME-XML that images came with: what is not known of stays, word for word; what is known is that of now."""

from exported import image, validate
from tiffs import ome_image, ome_xml

from ozx.images.ome_xml.composing import read_kept_xml, render_xml

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


def update(text, *images, numbers=None, plate=None):
    kept = read_kept_xml(text.encode())
    root, notes = kept.update(images, numbers or list(range(len(images))), plate)
    rendered = render_xml(root)
    validate(rendered)
    return rendered, notes


def test_another_type_and_other_lengths():
    new = image(shape=(2, 2, 3, 10, 15), dtype="float32")
    rendered, notes = update(document(), new)
    assert notes == [
        "the root: the OME-XML metadata of single planes is left out, because the length of t, c or z changed"
    ]
    assert "<Plane " not in rendered
    assert "SignificantBits" not in rendered
    assert 'Type="float"' in rendered
