"""Pictures: levels that are made, tiles at edges, axes in any order, types of pixels."""

import numpy as np
import pytest
import zarr
from pictures import add_image, new_group

from ozx.desktop.viewer.descriptions import describe_picture
from ozx.desktop.viewer.pictures import ChunkCache, Pictures, image_samples, label_samples, sample_type
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.images.pictures.render import percentile_window
from ozx.store.level import Level


def picture(data, axes="yx", chunks=None, *, label=False, omero=None, levels=()):
    """Return the picture of an image in memory."""
    scales = [[1.0] * len(axes)] * (1 + len(levels))
    ome = ({"image-label": {}} if label else {}) | ({"omero": omero} if omero else {})
    group = add_image(new_group(), [data, *levels], axes, scales=scales, chunks=chunks or data.shape, **ome)
    return Pictures(group).image("")


def test_levels_are_made_where_an_image_has_none():
    data = np.arange(5001, dtype="uint16")[None, :] + np.zeros((3, 1), "uint16")
    made = picture(data, chunks=(3, 512))
    assert made.sizes == ((3, 5001), (2, 2501), (1, 1251))
    assert made.factor(2) == (4, 4)
    whole = np.concatenate([made.tile(2, 0, column, 0, []) for column in range(3)], axis=1)
    assert np.array_equal(whole, data[::4, ::4])


def test_tiles_at_the_edges_are_smaller_and_axes_stand_anywhere():
    data = np.arange(520 * 600, dtype="uint32").reshape(520, 600)
    assert np.array_equal(picture(data, chunks=(100, 70)).tile(0, 1, 1, 0, []), data[512:, 512:])
    assert np.array_equal(picture(data, "xy").tile(0, 0, 1, 0, []), data.T[:512, 512:])
    coloured = data[:6, :4].reshape(2, 3, 4)
    assert np.array_equal(picture(coloured, "yxc").tile(0, 0, 0, 3, []), coloured[..., 3])


def test_neighbouring_tiles_decode_a_chunk_once():
    made = picture(np.zeros((1024, 1024), "uint8"))
    for row, column in np.ndindex(2, 2):
        made.tile(0, row, column, 0, [])
    assert made.cache.decoded == 1


def test_sizes_that_do_not_halve_evenly():
    full, half = np.zeros((101, 5), "uint8"), np.zeros((51, 3), "uint8")
    made = picture(full, levels=[half])
    assert [made.factor(level) for level in range(2)] == [(1, 1), (2, 2)]


def test_three_undescribed_channels_of_bytes_are_a_photograph():
    told = describe_picture(picture(np.zeros((3, 4, 4), "uint8"), "cyx"))
    assert [channel["color"] for channel in told["channels"]] == ["FF0000", "00FF00", "0000FF"]
    assert [channel["window"] for channel in told["channels"]] == [{"start": 0, "end": 255}] * 3


def test_a_window_over_the_whole_of_a_wide_type_tells_nothing():
    window = {"start": 0, "end": 65535, "min": 0, "max": 65535}
    told = describe_picture(picture(np.zeros((4, 4), "uint16"), omero={"channels": [{"window": window}]}))
    assert (told["channels"][0]["window"], told["channels"][0]["reach"]) == (None, (0, 65535))


def test_contrast_is_that_of_pictures_of_the_image():
    data = np.arange(1200 * 1200, dtype="uint32").reshape(1200, 1200)
    made = picture(data, levels=[data[::4, ::4]])
    window = percentile_window(data[::4, ::4])
    assert made.contrast(0, []) == window
    assert made.contrast(0, [], (0, 0, 1200, 1200)) == window
    assert made.contrast(0, [], (100, 300, 200, 301)) == percentile_window(data[100:200, 300:301])


def test_contrast_without_levels_is_that_of_a_part_of_the_pixels():
    data = np.arange(5000, dtype="uint16")[None, :]
    assert picture(data, chunks=(1, 512)).contrast(0, []) == percentile_window(data[:, ::4])


@pytest.mark.parametrize("part", [(0, 0, 0, 4), (0, 0, 5, 4), (3, 0, 2, 4)])
def test_contrast_beside_the_image_is_refused(part):
    with pytest.raises(UsageError, match="expected a part inside the 4 × 4 pixels"):
        picture(np.zeros((4, 4), "uint8")).contrast(0, [], part)


def test_channels_that_nobody_described():
    told = describe_picture(picture(np.zeros((9, 4, 4), "float32"), "cyx"))
    assert sum(channel["active"] for channel in told["channels"]) == 6
    assert told["channels"][0] == {
        "label": "Channel 0",
        "color": "00FFFF",
        "active": True,
        "window": None,
        "reach": None,
    }


def test_the_plane_shown_first():
    stack = np.zeros((3, 9, 4, 4), "uint8")
    starts = lambda omero: [s["start"] for s in describe_picture(picture(stack, "tzyx", omero=omero))["sliders"]]
    assert starts(None) == [0, 4]
    assert starts({"rdefs": {"defaultZ": 7, "defaultT": 2}}) == [2, 7]
    assert starts({"rdefs": {"defaultZ": 70, "defaultT": "x"}}) == [0, 4]


@pytest.mark.parametrize(
    "name", ["bool", "int8", ">i2", "uint32", "float16", "float64", "int64", "uint64", "complex64"]
)
def test_every_type_of_numbers_is_sent_in_one_that_graphics_cards_have(name):
    values = np.array([0, 1, 1, 100 if name != "bool" else 1], name)
    sent = image_samples(values)
    assert sent.dtype.name == sample_type(values.dtype, is_label=False)
    assert sent.dtype.byteorder in "<|="
    assert sent.dtype.itemsize <= 4
    assert sent.tolist() == [0, 1, 1, 100 if name != "bool" else 1]


def test_floats_that_are_no_numbers_stay_such():
    sent = image_samples(np.array([np.nan, np.inf, 1e300]))
    assert [np.isnan(sent).tolist(), np.isinf(sent).tolist()] == [[True, False, False], [False, True, True]]


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint64"])
def test_no_label_becomes_the_background(name):
    info = np.iinfo(name)
    values = np.array([info.min, info.max, 1, 0], name)
    sent = label_samples(values)
    assert (sent != 0).tolist() == (values != 0).tolist()


@pytest.mark.parametrize(("dtype", "is_label"), [("S3", False), ("float32", True), ("datetime64[s]", False)])
def test_what_is_no_picture_is_refused(dtype, is_label):
    with pytest.raises(UnsupportedError, match="found"):
        sample_type(np.dtype(dtype), is_label=is_label)


def test_an_image_of_nothing_is_refused():
    with pytest.raises(FormatError, match="expected pixels"):
        picture(np.zeros((0, 4), "uint8"), chunks=(1, 4))


def test_memory_for_chunks_is_bounded():
    array = zarr.create_array({}, shape=(8, 10), chunks=(1, 10), dtype="uint8")
    cache = ChunkCache(25)
    source = Level(array, "0")
    for _ in range(2):
        cache.read(source, [range(8), range(10)])
    assert cache.decoded == 16
    cache.read(source, [range(6, 8), range(10)])
    assert cache.decoded == 16


@pytest.mark.parametrize("step", [1, 4])
def test_outlines_are_those_of_the_whole_picture(step):
    blocks = np.random.default_rng(0).integers(0, 4, (9, 2501), dtype="uint16")
    data = np.repeat(np.repeat(blocks, 120, 0), 2, 1)[:1030, :5001]
    made = picture(data, chunks=(103, 512), label=True)
    level = {1: 0, 4: 2}[step]
    values = np.pad(data[::step, ::step], 1, mode="edge")
    inner = values[1:-1, 1:-1]
    neighbours = values[:-2, 1:-1], values[2:, 1:-1], values[1:-1, :-2], values[1:-1, 2:]
    expected = np.where(np.all([inner == other for other in neighbours], axis=0), 0, inner)
    height, width = (-(-length // 512) for length in inner.shape)
    rows = [
        np.concatenate([made.tile(level, row, column, 0, [], outlines=True) for column in range(width)], axis=1)
        for row in range(height)
    ]
    assert np.array_equal(np.concatenate(rows), expected)
    assert 0 < np.count_nonzero(expected) < np.count_nonzero(inner)
