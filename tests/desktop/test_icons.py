"""The icon, in the forms that systems want; read by a program that is not ours where it is there."""

import struct
import xml.etree.ElementTree as ET

import pytest

from ozx.desktop import icons


def size_of(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("size", [16, 32, 48, 128, 256])
def test_pictures_have_their_size(size):
    assert size_of(icons.png(size)) == (size, size)


def test_the_drawing_is_xml():
    assert ET.fromstring(icons.svg()).tag.endswith("}svg")


def test_the_windows_icon_holds_all_pictures():
    data = icons.ico()
    reserved, kind, count = struct.unpack("<HHH", data[:6])
    assert (reserved, kind, count) == (0, 1, 4)
    for number in range(count):
        width, height, _, _, _, bits, length, offset = struct.unpack(
            "<BBBBHHII", data[6 + 16 * number : 22 + 16 * number]
        )
        assert width == height
        assert bits == 32
        assert size_of(data[offset : offset + length]) == (width or 256, height or 256)
    assert offset + length == len(data)


def test_the_mac_icon_holds_all_pictures():
    data = icons.icns()
    assert struct.unpack(">4sI", data[:8]) == (b"icns", len(data))
    offset, sizes = 8, []
    while offset < len(data):
        _, length = struct.unpack(">4sI", data[offset : offset + 8])
        sizes.append(size_of(data[offset + 8 : offset + length])[0])
        offset += length
    assert sizes == [16, 32, 128, 256]
