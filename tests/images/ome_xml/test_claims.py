"""Numbers in OME-XML for which readers would take memory."""

import pytest

from ozx.errors import FormatError
from ozx.images.ome_xml.parsing import check_claims


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
