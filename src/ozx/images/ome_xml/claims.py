"""Limits on the numbers of planes and samples in an OME-XML document, checked before the numbers are used."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from xml.etree.ElementTree import Element

from ozx.errors import FormatError
from ozx.images.ome_xml.xml_reading import parse_xml

#: A time-lapse of a week has fewer; tifffile takes memory for each plane, even if it is missing in the file.
MOST_PLANES = 4_000_000
_MOST_SAMPLES = 10_000
_SIZES = ("SizeZ", "SizeC", "SizeT")
_PLACES = ("IFD", "FirstZ", "FirstC", "FirstT", "PlaneCount", "NumPlanes")


def check_claims(text: str | bytes) -> None:
    """Raise an error if OME-XML states more planes or samples than a real image has; ignore malformed XML.

    Examples
    --------
    >>> check_claims('<OME><Image><Pixels SizeT="3"><TiffData PlaneCount="999999999"/></Pixels></Image></OME>')
    Traceback (most recent call last):
    ...
    ozx.errors.FormatError: expected an image of at most 4,000,000 planes; the OME-XML claims PlaneCount="999999999"
    """
    try:
        root = parse_xml(text, "the OME-XML")
    except FormatError:
        return
    planes = 0
    for pixels in _iter_named(root, "Pixels"):
        planes += prod(max(1, _number(pixels, name)) for name in _SIZES)
        if planes > MOST_PLANES:
            sizes = ", ".join(f'{name}="{pixels.get(name)}"' for name in _SIZES if pixels.get(name))
            raise _too_many(f"{planes:,} or more ({sizes})" if planes < 10**15 else sizes)
    for element in _iter_named(root, "TiffData"):
        for name in _PLACES:
            if _number(element, name) > MOST_PLANES:
                raise _too_many(f'{name}="{element.get(name)}"')
    for channel in _iter_named(root, "Channel"):
        if _number(channel, "SamplesPerPixel") > _MOST_SAMPLES:
            found = channel.get("SamplesPerPixel")
            raise FormatError(f"expected at most {_MOST_SAMPLES:,} samples of a pixel; the OME-XML claims {found}")


def _iter_named(root: Element, name: str) -> Iterator[Element]:
    """Yield the elements that tifffile takes for elements of this name: for example, MyPixels as Pixels."""
    return (element for element in root.iter() if element.tag.endswith(name))


def _number(element: Element, name: str) -> int:
    try:
        return int(element.get(name) or 0)
    except ValueError:
        return 0


def _too_many(claim: str) -> FormatError:
    return FormatError(f"expected an image of at most {MOST_PLANES:,} planes; the OME-XML claims {claim}")
