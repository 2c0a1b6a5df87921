"""Sizes, and files that another decoder reads: zlib here, Pillow's own there."""

import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from ozx.images.pictures.raster import encode_jpeg, encode_png, fit_size, resize


@pytest.mark.parametrize(
    ("shape", "pixel_size", "size", "expected"),
    [
        ((1000, 2000), None, 256, (128, 256)),
        ((100, 50), None, 256, (100, 50)),
        ((256, 256), (0.325, 0.325), 256, (256, 256)),
        ((100, 100), (2.0, 1.0), 256, (200, 100)),
        ((100, 100), (1.0, 2.0), 256, (100, 200)),
        ((200, 200), (1.0, 2.0), 256, (128, 256)),
        ((100, 100), (1e9, 1e-9), 256, (100, 100)),
        ((1, 100_000), None, 256, (1, 256)),
        ((100, 100), None, (50.5, 20.4), (20, 20)),
    ],
)
def test_sizes(shape, pixel_size, size, expected):
    assert fit_size(shape, pixel_size, size) == expected


def test_a_smaller_picture_shows_the_same_in_the_same_place():
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:32, :32, 0] = 255
    picture[32:, 32:, 1] = 200
    small = resize(picture, (16, 8))
    assert small.shape == (16, 8, 3)
    assert (small[:7, :3] == (255, 0, 0)).all()
    assert (small[9:, 5:] == (0, 200, 0)).all()
    assert not small[:7, 5:].any()


def test_fine_patterns_become_their_mean():
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[::2] = 200
    assert np.ptp(resize(picture, (8, 8))[1:-1].astype(int) - 100) <= 2


def test_png_decodes_to_the_same_pixels_by_zlib_alone():
    picture = np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8)
    data = encode_png(picture, {"Thumb::URI": "file:///a%20b.ozx"})
    chunks, offset = [], 8
    while offset < len(data):
        (length,) = struct.unpack(">I", data[offset : offset + 4])
        kind, body = data[offset + 4 : offset + 8], data[offset + 8 : offset + 8 + length]
        assert struct.unpack(">I", data[offset + 8 + length :][:4])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        offset += 12 + length
    assert chunks[0] == (b"IHDR", struct.pack(">IIBBBBB", 7, 5, 8, 2, 0, 0, 0))  # 8 bits, truecolour
    assert (b"tEXt", b"Thumb::URI\0file:///a%20b.ozx") in chunks
    rows = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    assert len(rows) == 5 * (1 + 7 * 3)
    assert (np.asarray(Image.open(BytesIO(data))) == picture).all()


def test_jpeg():
    picture = np.full((16, 16, 3), (200, 30, 90), np.uint8)
    image = Image.open(BytesIO(encode_jpeg(picture)))
    assert image.format == "JPEG"
    assert np.abs(np.asarray(image).astype(int) - picture).max() <= 4


def test_the_same_picture_is_the_same_file():
    picture = np.zeros((3, 3, 3), np.uint8)
    assert encode_png(picture) == encode_png(picture)
    assert encode_jpeg(picture) == encode_jpeg(picture)
