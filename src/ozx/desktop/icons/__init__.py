"""The icon of .ozx files: ``ozx.svg``, and the PNG files that ``rsvg-convert`` made from it."""

from __future__ import annotations

import importlib.resources
import struct

_SIZES_OF_ICO = (16, 32, 48, 256)
# Types of icns elements that hold a PNG, each with the size of its PNG.
_SIZES_OF_ICNS = {b"icp4": 16, b"icp5": 32, b"ic07": 128, b"ic08": 256}


def svg() -> bytes:
    """Return the icon as SVG."""
    return _read("ozx.svg")


def png(size: int) -> bytes:
    """Return the icon as PNG, with a width of 16, 32, 48, 128 or 256 pixels."""
    return _read(f"ozx-{size}.png")


def ico() -> bytes:
    """Return the icon as an ICO file of PNG images, for Windows."""
    pictures = [(size, png(size)) for size in _SIZES_OF_ICO]
    offset = 6 + 16 * len(pictures)
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    for size, picture in pictures:
        # 0 stands for 256; no palette, one plane, 32 bits.
        head += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), offset + len(body))
        body += picture
    return head + body


def icns() -> bytes:
    """Return the icon as an ICNS file of PNG images, for macOS."""
    body = b""
    for kind, size in _SIZES_OF_ICNS.items():
        picture = png(size)
        body += struct.pack(">4sI", kind, 8 + len(picture)) + picture
    return struct.pack(">4sI", b"icns", 8 + len(body)) + body


def _read(name: str) -> bytes:
    return (importlib.resources.files(__name__) / name).read_bytes()
