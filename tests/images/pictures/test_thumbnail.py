"""Pictures of hierarchies, pixel by pixel, and what is read for them."""

from io import BytesIO

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES, tree
from packed import PROMISE, pack_tree, sort_values, write_archive
from pictures import add_image, counted, new_group, omero, quarter_colors, quarters
from PIL import Image

import ozx
from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.keys import THUMBNAIL, is_metadata_key
from ozx.images.pictures.thumbnail import draw_thumbnail, make_thumbnail_entry
from ozx.store.opening import opened_hierarchy

BLACK, WHITE = (0, 0, 0), (255, 255, 255)


def colors_of(levels, axes, size=64, **options):
    return quarter_colors(draw_thumbnail(add_image(new_group(), levels, axes, **options), size).pixels)


def test_two_channels_in_their_colours_and_windows():
    data = np.stack([quarters(64, [0, 100, 200, 0]), quarters(64, [0, 1000, 0, 2000])]).astype("u2")
    display = omero(("FF0000", 0, 200), ("00FF00", 1000, 2000))
    assert colors_of([data], "cyx", omero=display) == [BLACK, (128, 0, 0), (255, 0, 0), (0, 255, 0)]


def test_an_inactive_channel_is_not_read():
    data = np.stack([quarters(64, [0, 1, 1, 1]), quarters(64, [9, 9, 9, 9])]).astype("u1")
    display = omero(("0000FF", 0, 1), ("FFFFFF", 0, 9))
    display["channels"][1]["active"] = False
    group, store = counted(add_image(new_group(), [data], "cyx", chunks=(1, 64, 64), omero=display))
    assert quarter_colors(draw_thumbnail(group, 64).pixels) == [BLACK, *[(0, 0, 255)] * 3]
    assert store.chunks == ["0/c/0/0/0"]


def test_gray_where_omero_says_so():
    data = np.stack([quarters(8, [0, 1, 2, 2]), quarters(8, [9, 9, 9, 9])]).astype("u1")
    display = omero(("0000FF", 0, 2), ("FF0000", 0, 9), model="greyscale")
    assert colors_of([data], "cyx", omero=display) == [BLACK, (128, 128, 128), WHITE, WHITE]


def test_rgb_pictures_are_what_they_were():
    wanted = [(10, 20, 30), (200, 100, 0), (255, 255, 255), (0, 0, 255)]
    data = np.stack([quarters(32, [color[part] for color in wanted]) for part in range(3)]).astype("u1")
    assert colors_of([data], "cyx") == wanted
    display = omero(("FF0000", 0, 255), ("00FF00", 0, 255), ("0000FF", 0, 255))
    assert colors_of([data], "cyx", omero=display) == wanted


@pytest.mark.parametrize("dtype", ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_every_type_without_omero_is_gray(dtype):
    values = [0, 1, 1, 0] if dtype == "?" else [3, 100, 100, 3]
    assert colors_of([quarters(16, values).astype(dtype)], "yx") == [BLACK, WHITE, WHITE, BLACK]


def test_floats_that_are_no_numbers():
    data = quarters(16, [np.nan, 0.0, 1.0, np.inf]).astype("f4")
    assert colors_of([data], "yx") == [BLACK, BLACK, WHITE, WHITE]


def test_pixels_that_are_no_squares():
    data = quarters(40, [1, 0, 0, 1]).astype("u1")
    group = add_image(new_group(), [data], "yx", scales=[(1.0, 2.0)])
    picture = draw_thumbnail(group, 60).pixels
    assert picture.shape == (30, 60, 3)
    assert quarter_colors(picture) == [WHITE, BLACK, BLACK, WHITE]


def test_small_images_are_not_enlarged():
    assert draw_thumbnail(add_image(new_group(), [np.ones((5, 7), "u1")], "yx"), 256).pixels.shape == (5, 7, 3)


def test_only_the_chunks_of_one_plane_of_a_small_level_are_read():
    levels = [np.ones((3, 2, 5, 256 >> n, 256 >> n), "u2") for n in range(4)]
    group, store = counted(add_image(new_group(), levels, "tczyx", chunks=(1, 1, 1, 32, 32)))
    assert draw_thumbnail(group, 64).level == "2"
    assert sorted(store.chunks) == [f"2/c/0/{c}/2/{y}/{x}" for c in range(2) for y in range(2) for x in range(2)]
    documents = [key for key in store.keys if key.endswith("zarr.json")]
    assert len(documents) <= 2 * len(levels) + 4


def test_a_hidden_middle_plane_is_the_one_shown():
    data = np.zeros((5, 16, 16), "u1")
    data[2] = quarters(16, [0, 1, 0, 1])
    assert colors_of([data], "zyx") == [BLACK, WHITE, BLACK, WHITE]


def test_labels_have_their_colours():
    colors = [{"label-value": 1, "rgba": [255, 0, 0, 255]}, {"label-value": 7, "rgba": [0, 0, 200, 128]}]
    label = {"image-label": {"colors": colors}}
    assert colors_of([quarters(16, [0, 1, 7, 9]).astype("i4")], "yx", **label) == [
        BLACK,
        (255, 0, 0),
        (0, 0, 100),
        (128, 128, 128),
    ]


def test_the_labels_of_a_labels_group_may_not_say_that_they_are_some():
    root = new_group({"labels": ["cells"]})
    add_image(root.create_group("cells"), [quarters(16, [0, 1, 2, 3]).astype("u1")], "yx")
    colors = quarter_colors(draw_thumbnail(root, 16).pixels)
    assert colors[0] == BLACK
    assert len(set(colors)) == 4


def test_the_first_of_a_series_that_is_there():
    root = new_group({"bioformats2raw.layout": 3})
    root.create_group("OME", attributes={"ome": {"version": "0.5", "series": ["0", "1", "2"]}})
    add_image(root.create_group("1"), [quarters(16, [1, 0, 0, 0]).astype("u1")], "yx")
    add_image(root.create_group("2"), [quarters(16, [0, 0, 0, 1]).astype("u1")], "yx")
    thumbnail = draw_thumbnail(root, 16)
    assert (thumbnail.image, thumbnail.level) == ("1", "1/0")
    assert thumbnail.notes == ("0: an image is listed here, but does not exist",)
    assert quarter_colors(thumbnail.pixels) == [WHITE, BLACK, BLACK, BLACK]


@pytest.mark.parametrize(
    ("ome", "message"),
    [
        ({}, "expected an image to draw; found a hierarchy of kind other without images"),
        ({"labels": []}, "found a hierarchy of kind labels without images"),
        ({"bioformats2raw.layout": 3}, "found a hierarchy of kind series without images"),
        (None, "found no OME-Zarr metadata"),
    ],
)
def test_hierarchies_without_images(ome, message):
    with pytest.raises(UnsupportedError, match=message) as raised:
        draw_thumbnail(new_group(ome), 64)
    assert raised.value.hint == "Show the contents with ozx info."


def test_levels_that_are_missing():
    group = add_image(new_group(), [np.ones((64, 64), "u1"), np.ones((32, 32), "u1")], "yx")
    del group["1"]
    assert draw_thumbnail(group, 32).level == "0"
    del group["0"]
    with pytest.raises(FormatError, match="0: this path is listed as a level, but it has no array"):
        draw_thumbnail(group, 32)


@pytest.mark.parametrize(
    ("name", "shape", "level"),
    [("image", (128, 128, 3), "1"), ("plate", (127, 127, 3), "A/1/0/0"), ("series", (48, 80, 3), "0/0"),
     ("sharded", (72, 88, 3), "0"), ("legacy", (100, 120, 3), "0")],
)  # fmt: skip
def test_the_fixtures(name, shape, level):
    version = 2 if name == "legacy" else 3
    group = zarr.open_group(FIXTURES / f"{name}.ome.zarr", mode="r", zarr_format=version)
    thumbnail = draw_thumbnail(group, 128)
    assert (thumbnail.pixels.shape, thumbnail.level, thumbnail.notes) == (shape, level, ())
    assert thumbnail.pixels.max() > 200
    assert thumbnail.pixels.min() < 60


def test_the_image_fixture_agrees_with_its_full_resolution():
    """Cells are where they are: the picture made of level 1 is close to that of level 0, made without our code."""
    group = zarr.open_group(FIXTURES / "image.ome.zarr", mode="r")
    total = np.zeros((256, 256, 3))
    for plane, channel in zip(group["0"][:], group.attrs["ome"]["omero"]["channels"], strict=True):
        window = channel["window"]
        light = np.clip((plane - float(window["start"])) / (window["end"] - window["start"]), 0, 1)
        total += light[..., None] * np.array(list(bytes.fromhex(channel["color"])))
    expected = np.minimum(total, 255).reshape(128, 2, 128, 2, 3).mean(axis=(1, 3))
    assert np.abs(draw_thumbnail(group, 128).pixels - expected).mean() < 4


def test_a_thumbnail_inside_its_archive(tmp_path):
    source = FIXTURES / "image.ome.zarr"
    with opened_hierarchy(source) as group:
        entry = make_thumbnail_entry(group)
    assert entry.key == THUMBNAIL
    data = b"".join(entry.iter_blocks())
    assert Image.open(BytesIO(data)).size == (256, 256)
    values = sort_values(tree(source))
    metadata = {key: value for key, value in values.items() if is_metadata_key(key)}
    path = write_archive(tmp_path / "a.ozx", {**metadata, THUMBNAIL: data, **values}, PROMISE)
    plain = pack_tree(source, tmp_path / "plain.ozx")
    for profile in ("rfc9", "strict"):
        assert ozx.validate(path, profile=profile).findings == ozx.validate(plain, profile=profile).findings
    with opened_hierarchy(path) as group:
        assert make_thumbnail_entry(group) == entry
    assert b"".join(ozx.read_value(path, THUMBNAIL)) == data
    assert ozx.inspect(path).notes == ()


def test_a_list_of_labels_in_the_group_of_an_image_does_not_make_it_one(tmp_path):
    ozx.write_image(tmp_path / "a.ozx", np.arange(64, dtype="uint16").reshape(8, 8))
    plain = draw_thumbnail(ozx.open(tmp_path / "a.ozx"), 64).pixels
    with ozx.OzxStore(tmp_path / "a.ozx", mode="a") as store:
        group = zarr.open_group(store, mode="r+")
        group.attrs["ome"] = {**group.attrs["ome"], "labels": ["cells"]}
    assert (draw_thumbnail(ozx.open(tmp_path / "a.ozx"), 64).pixels == plain).all()
