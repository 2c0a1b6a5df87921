"""Pictures of hierarchies, pixel by pixel, and what is read for them."""

import numpy as np
import zarr
from pictures import add_image, counted, new_group, new_plate, omero, quarter_colors, quarters

import ozx
from ozx.images.thumbnail import draw_thumbnail

BLACK, WHITE, GROUND = (0, 0, 0), (255, 255, 255), (48, 48, 48)


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


def plate_of(wells, rows, columns):
    """Return a plate whose wells, by path, have a first field with an even picture of a value."""
    root = new_plate(dict.fromkeys(wells, 2), rows, columns)
    for path, value in wells.items():
        levels = [np.full((1, 32 >> n, 32 >> n), value, "u1") for n in range(2)]
        add_image(root.create_group(f"{path}/0"), levels, "cyx", omero=omero(("FF0000", 0, 100)))
        add_image(root.create_group(f"{path}/1"), [np.full((1, 32, 32), 255, "u1")], "cyx")
    return root


def color_at(picture, row, column, rows, columns):
    height, width = picture.shape[:2]
    return tuple(picture[(2 * row + 1) * height // (2 * rows), (2 * column + 1) * width // (2 * columns)].tolist())


def test_a_field_of_any_claimed_size_costs_no_memory():
    plate = plate_of({"A/1": 10, "A/2": 100}, "A", "12")
    for level in "01":
        shape = (1, 1 << 40, 1 << 40)
        plate["A/2/0"].create_array(level, shape=shape, chunks=(1, 1 << 10, 1 << 10), dtype="u1", overwrite=True)
    thumbnail = draw_thumbnail(plate, 64)
    assert len(thumbnail.notes) == 1
    assert color_at(thumbnail.pixels, 0, 1, 1, 2) == GROUND


def test_a_plate_with_more_wells_than_fit_shows_some(monkeypatch):
    monkeypatch.setattr("ozx.images.pictures.drawing._MOST_WELLS", 4)
    rows, columns = "ABCD", "1234"
    wells = {
        f"{row}/{column}": 100 if row == "D" else 0 for row in rows for column in columns if f"{row}/{column}" != "A/1"
    }
    group, store = counted(plate_of(wells, rows, columns))
    thumbnail = draw_thumbnail(group, 64)
    assert thumbnail.notes == ("one well is shown for each 2 × 2 wells",)
    assert [color_at(thumbnail.pixels, 0, column, 2, 2) for column in range(2)] == [(0, 0, 0)] * 2
    assert {key[:3] for key in store.chunks} <= {"A/2", "A/3", "C/1", "C/3"}
