"""Other formats by their first bytes, folders and ZIP files by their names, and what is to be done with them."""

import pytest

from ozx.archive.other_formats import describe_names, find_format
from ozx.quoting import quote, quote_pattern


@pytest.mark.parametrize(
    ("head", "name", "hint"),
    [
        (b"II*\0", "a TIFF image", "Run: ozx import a.x"),
        (b"MM\0*", "a TIFF image", "Run: ozx import a.x"),
        (b"II+\0", "a TIFF image", "Run: ozx import a.x"),
        (b"MM\0+", "a TIFF image", "Run: ozx import a.x"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file, perhaps of Imaris", "ozx import a.x"),
        (b"ZISRAWFILE", "a CZI file (Zeiss)", "ozx import a.x"),
        (bytes.fromhex("DACEBE0A10000000"), "an ND2 file (Nikon)", "ozx import a.x"),
        (b"\x70\0\0\0\x10\0\0\0\x2a", "a LIF file (Leica)", "ozx import a.x"),
        (bytes(128) + b"DICM", "a DICOM file", "ozx import a.x"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture", "ozx import a.tif"),
        (b"\xff\xd8\xff\xe0", "a JPEG picture", "ozx import a.tif"),
        (b"PK\3\4", "a ZIP file", "ozx info"),
        (b"\x1f\x8b", "gzip data, such as a .tar.gz", "Unpack it"),
        (bytes(257) + b"ustar", "a tar archive", "Unpack it"),
    ],
)
def test_a_format_is_known_by_its_first_bytes_and_has_a_way_to_ozx(head, name, hint):
    found = find_format(head + bytes(8))
    assert found.name == name
    assert hint in found.hint("a.x")


def test_names_with_spaces_are_quoted_and_urls_are_downloaded_first():
    tiff = find_format(b"II*\0")
    assert tiff.hint("/data/my cells.tif") == f"Run: ozx import {quote('/data/my cells.tif')}"
    assert tiff.hint("https://example.org/a/cells.tif") == "Download it first. Run: ozx import cells.tif"


def test_a_tiff_that_is_called_ozx_is_renamed_first():
    assert find_format(b"II*\0").hint("d/cells.ozx") == "Rename it to cells.tif. Run: ozx import d/cells.tif"


@pytest.mark.parametrize(
    ("names", "found", "hint"),
    [
        (["a.JPG", "b.jpeg", "c.txt"], "2 JPEG pictures", "as TIFF"),
        (["x/", "x/a.tif"], "1 TIFF image", f"ozx import {quote_pattern('x', '*.tif')}"),
        (["a.czi", "b.czi"], "2 CZI files", "ozx import *.czi"),
        (["a.lsm", "b.lsm"], "2 LSM files", "ozx import *.lsm"),
        (["a.ozx", "b.ozx"], "2 .ozx files", "Give the path of one file: a.ozx"),
    ],
)
def test_a_zip_file_is_known_by_its_names(names, found, hint):
    what, way = describe_names(names, "a.zip", is_folder=False)
    assert what == found
    assert way.startswith("Unpack it with another program. ")
    assert hint in way
