"""Pictures of hierarchies, pixel by pixel, and what is read for them."""

import numpy as np
import zarr
from pictures import add_image, new_group, quarter_colors, quarters

import ozx
from ozx.images.pictures.thumbnail import draw_thumbnail

BLACK, WHITE = (0, 0, 0), (255, 255, 255)


def test_the_first_of_a_series_that_is_there():
    root = new_group({"bioformats2raw.layout": 3})
    root.create_group("OME", attributes={"ome": {"version": "0.5", "series": ["0", "1", "2"]}})
    add_image(root.create_group("1"), [quarters(16, [1, 0, 0, 0]).astype("u1")], "yx")
    add_image(root.create_group("2"), [quarters(16, [0, 0, 0, 1]).astype("u1")], "yx")
    thumbnail = draw_thumbnail(root, 16)
    assert (thumbnail.image, thumbnail.level) == ("1", "1/0")
    assert thumbnail.notes == ("0: an image is listed here, but does not exist",)
    assert quarter_colors(thumbnail.pixels) == [WHITE, BLACK, BLACK, BLACK]


def test_a_list_of_labels_in_the_group_of_an_image_does_not_make_it_one(tmp_path):
    ozx.write_image(tmp_path / "a.ozx", np.arange(64, dtype="uint16").reshape(8, 8))
    plain = draw_thumbnail(ozx.open(tmp_path / "a.ozx"), 64).pixels
    with ozx.OzxStore(tmp_path / "a.ozx", mode="a") as store:
        group = zarr.open_group(store, mode="r+")
        group.attrs["ome"] = {**group.attrs["ome"], "labels": ["cells"]}
    assert (draw_thumbnail(ozx.open(tmp_path / "a.ozx"), 64).pixels == plain).all()
