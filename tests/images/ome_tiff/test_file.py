"""Tiles that suit an image and its chunks; and when 4 GiB might not be enough."""

import numpy as np
import pytest
import zarr
from exported import image

from ozx.images.description import ImageDescription
from ozx.images.exported_image import ExportedImage, ExportedLevel
from ozx.images.ome_tiff.file import choose_tile, needs_big
from ozx.images.ome_tiff.tile_encoding import TileEncoding
from ozx.store.lazy_views import LevelSlice


def chunked(shape, chunks, dtype="uint16"):
    array = zarr.create_array({}, shape=shape, dtype=dtype, chunks=chunks)
    return ExportedImage(
        "", (ExportedLevel(LevelSlice(array, "0"), (None, None, None, 0, 1), np.dtype(dtype)),), ImageDescription()
    )


@pytest.mark.parametrize(
    ("shape", "chunks", "asked", "tile"),
    [
        ((9000, 9000), (512, 512), None, (512, 512)),
        ((9000, 9000), (256, 4096), None, (512, 512)),
        ((9000, 9000), (640, 1000), None, (640, 512)),
        ((9000, 9000), (96, 2000), None, (512, 512)),
        ((9000, 9000), (640, 640), 1024, (1024, 1024)),
        ((100, 9000), (100, 640), None, (112, 640)),
        ((1, 1), (1, 1), None, (16, 16)),
        ((40, 100), (40, 100), 64, (48, 64)),
    ],
)
def test_tiles(shape, chunks, asked, tile):
    assert choose_tile(chunked(shape, chunks), asked) == tile


@pytest.mark.parametrize(
    ("compression", "side", "is_big"),
    [("zlib", 46_000, False), ("zlib", 46_400, True), ("lzw", 37_000, False), ("lzw", 40_000, True)],
)
def test_four_gibibytes(compression, side, is_big):
    large = chunked((side, side), (512, 512))
    assert needs_big([large], [TileEncoding(compression, (512, 512))], 0) is is_big


def test_ome_xml_counts_too():
    assert not needs_big([image()], [TileEncoding("zlib", (32, 32))], 1 << 20)
    assert needs_big([image()], [TileEncoding("zlib", (32, 32))], 1 << 32)
