"""Companion files of OME-TIFF: OME-XML outside of the TIFF files, which it names."""

from __future__ import annotations

import os
from xml.etree.ElementTree import tostring

from ozx.errors import FormatError
from ozx.images.ome_xml.xml_reading import parse_xml

__all__ = ["read_companion", "with_full_paths"]


def read_companion(path: str) -> str | None:
    """Return the text of an XML file, or None if the file is not XML.

    Raises
    ------
    FormatError
        The text is not UTF-8.
    """
    with open(path, "rb") as file:
        head = file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")
        if not head.startswith(b"<"):
            return None
        file.seek(0)
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("expected UTF-8 text in the OME-XML", path=path) from None


def with_full_paths(text: str, folder: str) -> str:
    """Return OME-XML with absolute paths as file names, for tifffile.

    tifffile looks for all files in the folder of the first TIFF file, and follows symbolic links to this folder. The
    names in a companion file, however, are relative to the folder of the companion file.

    Raises
    ------
    FormatError
        See `parse_xml`.

    Examples
    --------
    >>> with_full_paths('<OME><UUID FileName="raw/a&amp;b.tif">urn:uuid:1</UUID></OME>', "/data")
    '<OME><UUID FileName="/data/raw/a&amp;b.tif">urn:uuid:1</UUID></OME>'
    """
    root, folder = parse_xml(text, "the OME-XML"), os.path.abspath(folder)
    for element in root.iter():
        # As in `parse_ome_xml`, so that the names are those that were checked.
        if element.tag.endswith("UUID") and (name := element.get("FileName")):
            element.set("FileName", os.path.join(folder, name))
    return tostring(root, encoding="unicode")
