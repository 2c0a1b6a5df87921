"""The pixels of TIFF series: equal to tifffile's, whole or in blocks, each strip and tile decoded once."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tifffile
from tiffs import (
    damage_segment,
    expected,
    in_ome_order,
    needs_samples,
    pixels,
    sample,
    set_tag,
    write,
    write_parts,
    write_pyramid,
)

from ozx.errors import FormatError
from ozx.images.pixel_source import PixelSource
from ozx.images.tiff import segments as tiff_segments
from ozx.images.tiff import source as tiff_source
from ozx.images.tiff.opening import TiffOptions, open_tiff

SEGMENTS = {"tiles": {"tile": (32, 48)}, "strips": {"rowsperstrip": 7}, "whole": {}}


def whole(source):
    return tuple(slice(0, length) for length in source.shape)


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
    with open_tiff(str(path), TiffOptions(with_levels=True)) as images:
        found = images.images[image]
        source = (found.source, *found.levels)[level]
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


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "zstd", "packbits", "lzma"])
@pytest.mark.parametrize("segments", SEGMENTS)
@pytest.mark.parametrize("predictor", [False, True])
def test_compressions(tmp_path, order, compression, segments, predictor):
    if predictor and compression in (None, "packbits"):
        return
    options = {"byteorder": order, "bigtiff": predictor}
    common = {"compression": compression, "predictor": predictor, **SEGMENTS[segments]}
    check(write(tmp_path / "a.tif", pixels((75, 130)), options=options, **common), "yx")


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?"])
@pytest.mark.parametrize("segments", SEGMENTS)
@pytest.mark.parametrize("order", "<>")
def test_types(tmp_path, dtype, segments, order):
    path = write(tmp_path / "a.tif", pixels((75, 130), dtype), options={"byteorder": order}, **SEGMENTS[segments])
    check(path, "yx")


def test_the_predictor_of_floats(tmp_path):
    check(write(tmp_path / "a.tif", pixels((75, 130), "f4"), compression="zlib", predictor=3, tile=(32, 32)))


@pytest.mark.parametrize("segments", SEGMENTS)
@pytest.mark.parametrize("samples", [3, 4])
def test_samples_of_a_pixel_are_channels(tmp_path, segments, samples):
    common = {"photometric": "rgb", **SEGMENTS[segments]}
    source = check(write(tmp_path / "a.tif", pixels((75, 130, samples), "u1"), **common), "cyx")
    assert source.read_alignment[0] == samples
    common["planarconfig"] = "separate"
    source = check(write(tmp_path / "b.tif", pixels((samples, 75, 130), "u1"), **common), "cyx")
    assert source.read_alignment[0] == 1


@pytest.mark.parametrize("letters", ["TZCYX", "CTZYX", "ZTCYX"])
@pytest.mark.parametrize("segments", SEGMENTS)
def test_dimensions_of_ome_tiff_come_in_ome_order(tmp_path, letters, segments):
    path = tmp_path / "a.ome.tif"
    check(write(path, pixels((2, 3, 4, 40, 50)), metadata={"axes": letters}, **SEGMENTS[segments]), "tczyx")


def test_channels_with_samples_are_one_axis(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((2, 40, 50, 3), "u1"), photometric="rgb", metadata={"axes": "CYXS"})
    check(path, "cyx")
    common = {"photometric": "rgb", "planarconfig": "separate", "tile": (16, 16), "metadata": {"axes": "CSYX"}}
    check(write(tmp_path / "b.ome.tif", pixels((2, 3, 40, 50), "u1"), **common), "cyx")


@pytest.mark.parametrize(
    ("shape", "letters"), [((2, 3, 4, 40, 50), "TZCYX"), ((4, 40, 50), "CYX"), ((5, 40, 50), "ZYX")]
)
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_hyperstacks_of_imagej(tmp_path, shape, letters, compression):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels(shape), imagej=True, metadata={"axes": letters}, compression=compression)
    check(path)


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


def test_volumes_and_stacks_of_unknown_meaning(tmp_path):
    check(write(tmp_path / "a.tif", pixels((10, 40, 50)), volumetric=True, tile=(4, 16, 16)), "zyx")
    check(write(tmp_path / "b.tif", pixels((5, 40, 50))), "zyx")
    check(write(tmp_path / "c.tif", pixels((2, 5, 40, 50))), "tzyx")
    check(write(tmp_path / "d.tif", *[pixels((40, 50), seed=n) for n in range(3)], metadata=None), "zyx")


@pytest.mark.parametrize("shape", [(40, 1), (1, 40), (1, 1), (1, 1, 40, 50)])
def test_lines_and_single_pixels(tmp_path, shape):
    check(write(tmp_path / "a.tif", pixels(shape)), "yx")


def test_every_series_and_every_level(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((3, 40, 50)), pixels((60, 20)), metadata={})
    check(path, "cyx", image=0)
    check(path, "yx", image=1)
    path = write_pyramid(tmp_path / "b.ome.tif", pixels((2, 200, 160)), tile=(32, 32), metadata={"axes": "CYX"})
    for level in range(3):
        check(path, "cyx", level=level)


def test_planes_in_several_files(tmp_path):
    master, stack = write_parts(tmp_path)
    for path in (master, tmp_path / "part-1.ome.tif"):
        with open_tiff(str(path)) as images:
            source = images.images[0].source
            assert source.axes == ("z", "y", "x")
            np.testing.assert_array_equal(source.read(whole(source)), stack)


@pytest.mark.parametrize("segments", SEGMENTS)
def test_each_strip_and_tile_is_decoded_once_whatever_blocks_are_asked_for(tmp_path, segments, monkeypatch):
    path = write(tmp_path / "a.tif", pixels((120, 200)), compression="zlib", **SEGMENTS[segments])
    decoded = []
    read = tiff_segments.SegmentReader.read
    monkeypatch.setattr(tiff_segments.SegmentReader, "read", lambda *given: (decoded.append(given[2]), read(*given))[1])
    with open_tiff(str(path)) as images, ThreadPoolExecutor(4) as pool:
        source = images.images[0].source
        list(pool.map(source.read, blocks(source, 5)))
        with tifffile.TiffFile(path) as file:
            assert sorted(decoded) == list(range(len(file.pages[0].dataoffsets)))
        assert source._cache.size == 0


def test_what_is_kept_for_later_blocks_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(tiff_source, "_KEPT_BYTES", 5000)
    path = write(tmp_path / "a.tif", pixels((120, 200)), compression="zlib", rowsperstrip=8)
    with open_tiff(str(path)) as images:
        source = images.images[0].source
        for region in blocks(source, 3):
            source.read(region)
            assert source._cache.size <= 5000
    check(path)


def test_the_grain_is_what_is_decoded_together(tmp_path):
    assert check(write(tmp_path / "a.tif", pixels((75, 130)), tile=(32, 48))).read_alignment == (32, 48)
    assert check(write(tmp_path / "b.tif", pixels((75, 130)), compression="zlib", rowsperstrip=7)).read_alignment == (
        7,
        130,
    )
    assert check(write(tmp_path / "c.tif", pixels((75, 130)))).read_alignment == (1, 1)


def test_tiles_that_sparse_files_leave_out_have_no_value(tmp_path):
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        tiles = iter([pixels((32, 32)), None, None, pixels((32, 32), seed=1)])
        file.write(tiles, shape=(64, 64), dtype="uint16", tile=(32, 32), compression="zlib")
    source = check(path)
    assert not source.read((slice(0, 32), slice(32, 64))).any()


@pytest.mark.parametrize(("segments", "word"), [("tiles", "tile"), ("strips", "strip")])
def test_a_damaged_segment_is_named_or_filled(tmp_path, segments, word):
    common = {"compression": "zlib", "photometric": "minisblack", "metadata": None, **SEGMENTS[segments]}
    path = write(tmp_path / "a.tif", pixels((3, 75, 130)), **common)
    damage_segment(path, 2, page=1)
    with open_tiff(str(path)) as images:
        source = images.images[0].source
        with pytest.raises(FormatError, match=rf"a\.tif: page 1, {word} 2: ") as raised:
            source.read(whole(source))
        assert "--on-error fill" in raised.value.hint
    with open_tiff(str(path), TiffOptions(on_error="fill")) as images:
        source = images.images[0].source
        found = source.read(whole(source))
        (sentence,) = source.damage
    assert f"page 1, {word} 2" in sentence
    damaged = (slice(0, 32), slice(96, 130)) if word == "tile" else (slice(14, 21), slice(0, 130))
    reference = pixels((3, 75, 130))
    reference[1][damaged] = 0
    np.testing.assert_array_equal(found, reference)


@pytest.mark.parametrize("common", [{}, {"compression": "zlib", "tile": (32, 32)}])
def test_a_file_that_is_cut_off_is_named_or_filled(tmp_path, common):
    path = write(tmp_path / "a.tif", pixels((500, 400)), **common)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        begin, end = page.dataoffsets[0], page.dataoffsets[-1] + page.databytecounts[-1]
    path.write_bytes(path.read_bytes()[: (begin + end) // 2])
    with (
        pytest.raises(FormatError, match=r"page 0.* ends at") as raised,
        open_tiff(str(path)) as images,
    ):
        source = images.images[0].source
        source.read(whole(source))
    assert "copy or download it again" in raised.value.hint
    with open_tiff(str(path), TiffOptions(on_error="fill")) as images:
        source = images.images[0].source
        found = source.read(whole(source))
        source.read((slice(400, 450), slice(10, 20)))
        assert len(source.damage) == (107 if common else 1)
    assert not found[-1].any()
    np.testing.assert_array_equal(found[:32], pixels((500, 400))[:32])


def test_a_page_with_too_few_tiles_is_noticed_before_any_is_read(tmp_path):
    path = write(tmp_path / "a.tif", pixels((75, 130)), compression="zlib", tile=(32, 32))
    set_tag(path, 256, 13000)
    with pytest.raises(FormatError, match=r"expected 1,221 tiles for 1×1×75×13000×1 pixels; it has 15"):
        open_tiff(str(path))


def test_a_source_can_be_sent_to_another_process(tmp_path):
    path = write(tmp_path / "a.tif", pixels((75, 130)), compression="zlib", tile=(32, 32))
    with open_tiff(str(path)) as images:
        source = images.images[0].source
        copy = pickle.loads(pickle.dumps(source))
        np.testing.assert_array_equal(copy.read(whole(copy)), source.read(whole(source)))
        assert (copy.axes, copy.shape, copy.read_alignment) == (source.axes, source.shape, source.read_alignment)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path):
    path = write(tmp_path / "a.tif", pixels((75, 130)))
    with open_tiff(str(path)) as images:
        source = images.images[0].source
        source.read(whole(source))
        images.files.check_unchanged()
        with open(path, "ab") as file:
            file.write(b"more")
        with pytest.raises(FormatError, match="changed while it was read"):
            images.files.check_unchanged()


@needs_samples
@pytest.mark.parametrize(
    "name",
    [
        "4D-series.ome.tif",
        "multi-channel-z-series.ome.tif",
        "multi-channel.ome.tif",
        "single-channel.ome.tiff",
        "Channel1-01-A-01.tif",
    ],
)
def test_real_files(name):
    check(sample(name))


@needs_samples
def test_a_real_companion_file():
    with open_tiff(str(sample("multifile.companion.ome"))) as images:
        source = images.images[0].source
        planes = [tifffile.imread(sample(f"multifile-Z{number}.ome.tiff")) for number in range(1, 6)]
        np.testing.assert_array_equal(source.read(whole(source)), planes)
