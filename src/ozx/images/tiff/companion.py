"""OME-XML of TIFF files: companion files, and OME-XML that tifffile does not find."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from xml.etree.ElementTree import tostring

from ozx.errors import FormatError
from ozx.images.ome_xml.parsing import OmeXml
from ozx.images.ome_xml.xml_reading import parse_xml

_OME = re.compile(r"<(\w+:)?OME[\s>]")
# An XML declaration and comments may precede the element.
_LONGEST_HEAD = 10_000


def read_companion(path: str) -> str | None:
    """Return the text of an XML file, or None if the file is not XML."""
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


def is_like_ome_xml(text: str) -> bool:
    """Return whether a text begins like OME-XML; tifffile finds only OME-XML that also has its end.

    Examples
    --------
    >>> is_like_ome_xml('<?xml version="1.0"?><OME xmlns="a"><Image>'), is_like_ome_xml("OME")
    (True, False)
    """
    head = text[:_LONGEST_HEAD].lstrip("\ufeff \r\n\t")
    return head.startswith("<") and _OME.search(head) is not None


def check_uuids(document: OmeXml) -> None:
    """Check that the files of an image have different UUIDs: tifffile finds files by their UUID, not their name."""
    if document.same_uuid:
        first, second, uuid = document.same_uuid
        raise FormatError(
            f"expected a UUID for each file; the OME-XML has the same one, {uuid!r}, for {first} and {second}"
        )


def check_fallback(path: str, document: OmeXml | None, said: Sequence[str]) -> None:
    """Check that no other files belong to a file whose OME-XML cannot be used: their planes would be lost."""
    folder, own = os.path.dirname(path), os.path.realpath(path)
    names = () if document is None else document.files
    if document is not None and any(os.path.realpath(os.path.join(folder, name)) != own for name in names):
        reason = f": {said[0]}" if said else ""
        raise FormatError(
            f"expected the {len(document.images):,} images of the OME-XML; tifffile finds none in its "
            f"{len(names):,} files{reason}"
        )
