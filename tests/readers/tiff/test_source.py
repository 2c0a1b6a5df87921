"""The pixels of TIFF series: equal to tifffile's, whole or in blocks, each strip and tile decoded once."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tifffile
from tiffs import expected, in_ome_order, pixels, whole, write

from ozx.images.pixel_source import PixelSource
from ozx.readers.images import ReadingOptions
from ozx.readers.registry import open_images
from ozx.readers.tiff import segments as tiff_segments

SEGMENTS = {"tiles": {"tile": (32, 48)}, "strips": {"rowsperstrip": 7}, "whole": {}}


def blocks(source, divisor=2):
    """Return regions that cover a source and divide strips and tiles anywhere."""
    steps = [max(1, length // divisor + 1) for length in source.shape]
    corners = itertools.product(*(range(0, length, step) for length, step in zip(source.shape, steps, strict=True)))
    for corner in corners:
        yield tuple(
            slice(start, min(start + step, length))
            for start, step, length in zip(corner, steps, source.shape, strict=True)
        )


def check(path, axes=None, *, image=0, level=0):
    array, letters = expected(path, series=image, level=level)
    array = in_ome_order(array, letters)
    with open_images(str(path), ReadingOptions(with_levels=True)) as images:
        found = images.images[image]
        source = found.sources[level]
        assert isinstance(source, PixelSource)
        assert axes is None or "".join(source.axes) == axes
        assert (source.shape, source.dtype) == (array.shape, array.dtype.newbyteorder("="))
        block = source.read(whole(source))
        np.testing.assert_array_equal(block, array)
        assert block.flags.c_contiguous
        assert block.dtype.isnative
        pieces = np.full(source.shape, 1, source.dtype)
        for region in blocks(source):
            source.read(region, out=pieces[region])
        np.testing.assert_array_equal(pieces, array)
        return source


def test_imagej_stacks_with_a_single_page_are_read_in_one_piece(tmp_path):
    # As ImageJ writes what is larger than 4 GiB: one page, and the planes behind it.
    path, stack = tmp_path / "a.tif", pixels((5, 40, 50), ">u2")
    description = "ImageJ=1.53\nimages=5\nslices=5\n"
    tifffile.imwrite(path, stack[0], description=description, metadata=None, byteorder=">")
    with open(path, "ab") as file:
        file.write(stack[1:].tobytes())
    assert check(path, "zyx").shape == (5, 40, 50)


IMAGE_CODECS = ["jpeg", "jpeg2000", "webp", "png", "jpegxl", "jpegxr", "lerc"]


@pytest.mark.parametrize("compression", IMAGE_CODECS)
@pytest.mark.parametrize("segments", ["tiles", "strips"])
def test_compressions_for_pictures(tmp_path, compression, segments):
    options = {"tiles": {"tile": (32, 48)}, "strips": {"rowsperstrip": 16}}[segments]
    path = write(tmp_path / "a.tif", pixels((75, 130, 3), "u1"), photometric="rgb", compression=compression, **options)
    check(path, "cyx")


@pytest.mark.parametrize("segments", SEGMENTS)
def test_each_strip_and_tile_is_decoded_once_whatever_blocks_are_asked_for(tmp_path, segments, monkeypatch):
    path = write(tmp_path / "a.tif", pixels((120, 200)), compression="zlib", **SEGMENTS[segments])
    decoded = []
    read = tiff_segments.SegmentReader.read
    monkeypatch.setattr(tiff_segments.SegmentReader, "read", lambda *given: (decoded.append(given[2]), read(*given))[1])
    with open_images(str(path)) as images, ThreadPoolExecutor(4) as pool:
        source = images.images[0].sources[0]
        list(pool.map(source.read, blocks(source, 5)))
        with tifffile.TiffFile(path) as file:
            assert sorted(decoded) == list(range(len(file.pages[0].dataoffsets)))
        assert source._cache.size == 0
