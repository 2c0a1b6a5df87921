"""Plates as one picture: each well in its place."""

import numpy as np
import pytest
from pictures import add_image, counted, new_group, omero

from ozx.errors import FormatError
from ozx.images.pictures.thumbnail import draw_thumbnail

GROUND = (48, 48, 48)


def new_plate(wells, rows, columns):
    """Return a plate whose wells, by path, have one field with an even picture of a value; None is no image at all."""
    root = new_group(
        {
            "plate": {
                "rows": [{"name": name} for name in rows],
                "columns": [{"name": name} for name in columns],
                "wells": [{"path": path} for path in wells],
            }
        }
    )
    for path, value in wells.items():
        fields = {"well": {"images": [{"path": "0"}, {"path": "1"}]}}
        well = root.create_group(path, attributes={"ome": {"version": "0.5", **fields}})
        if value is not None:
            levels = [np.full((1, 32 >> n, 32 >> n), value, "u1") for n in range(2)]
            add_image(well.create_group("0"), levels, "cyx", omero=omero(("FF0000", 0, 100)))
            add_image(well.create_group("1"), [np.full((1, 32, 32), 255, "u1")], "cyx")
    return root


def color_at(picture, row, column, rows, columns):
    height, width = picture.shape[:2]
    return tuple(picture[(2 * row + 1) * height // (2 * rows), (2 * column + 1) * width // (2 * columns)].tolist())


def test_wells_stand_in_their_places_and_what_is_missing_is_empty():
    plate = new_plate({"A/1": 0, "A/3": 50, "B/2": 100}, "AB", "123")
    thumbnail = draw_thumbnail(plate, 64)
    colors = [[color_at(thumbnail.pixels, row, column, 2, 3) for column in range(3)] for row in range(2)]
    assert colors == [[(0, 0, 0), GROUND, (128, 0, 0)], [GROUND, (255, 0, 0), GROUND]]
    assert (thumbnail.image, thumbnail.level, thumbnail.notes) == ("", "A/1/0/0", ())
    assert thumbnail.pixels.shape == (2 * 20 + 3, 3 * 20 + 4, 3)


def test_of_each_well_one_small_level_of_the_first_field_is_read():
    group, store = counted(new_plate({"A/1": 0, "A/2": 50}, "A", "12"))
    draw_thumbnail(group, 32)
    assert store.chunks == ["A/1/0/1/c/0/0/0", "A/2/0/1/c/0/0/0"]
    assert "A/2/0/zarr.json" not in store.keys


def test_contrast_is_that_of_all_wells_where_nobody_set_it():
    plate = new_plate({"A/1": 10, "A/2": 60, "A/3": 110}, "A", "123")
    for well in "123":
        image = plate[f"A/{well}/0"]
        image.attrs["ome"] = {key: value for key, value in image.attrs["ome"].items() if key != "omero"}
    picture = draw_thumbnail(plate, 96).pixels
    assert [color_at(picture, 0, column, 1, 3)[0] for column in range(3)] == [0, 128, 255]


def test_wells_that_cannot_be_shown_are_named():
    plate = new_plate({"A/1": 10, "A/2": 60, "A/3": None, "B/1": 100}, "AB", "123")
    plate["A/2/0"].create_array("0", data=np.ones((2, 32, 32), "u1"), overwrite=True)
    plate["A/2/0"].create_array("1", data=np.ones((2, 16, 16), "u1"), overwrite=True)
    thumbnail = draw_thumbnail(plate, 64)
    (note,) = thumbnail.notes
    assert note.startswith(
        "no picture of the wells A/2, A/3: A/2/0/0: expected (1, 32, 32) as in the first well, found (2"
    )
    assert color_at(thumbnail.pixels, 0, 1, 2, 3) == GROUND
    assert color_at(thumbnail.pixels, 1, 0, 2, 3) == (255, 0, 0)


def test_fields_of_other_sizes_fill_their_tiles():
    plate = new_plate({"A/1": 10, "A/2": 100}, "A", "12")
    for level in "01":
        plate["A/2/0"].create_array(level, data=np.full((1, 9, 21), 100, "u1"), overwrite=True)
    thumbnail = draw_thumbnail(plate, 64)
    assert thumbnail.notes == ()
    assert color_at(thumbnail.pixels, 0, 1, 1, 2) == (255, 0, 0)


def test_a_field_of_any_claimed_size_costs_no_memory():
    plate = new_plate({"A/1": 10, "A/2": 100}, "A", "12")
    for level in "01":
        shape = (1, 1 << 40, 1 << 40)
        plate["A/2/0"].create_array(level, shape=shape, chunks=(1, 1 << 10, 1 << 10), dtype="u1", overwrite=True)
    thumbnail = draw_thumbnail(plate, 64)
    assert len(thumbnail.notes) == 1
    assert color_at(thumbnail.pixels, 0, 1, 1, 2) == GROUND


def test_a_plate_with_more_wells_than_fit_shows_some(monkeypatch):
    monkeypatch.setattr("ozx.images.pictures.montage._MOST_WELLS", 4)
    rows, columns = "ABCD", "1234"
    wells = {
        f"{row}/{column}": 100 if row == "D" else 0 for row in rows for column in columns if f"{row}/{column}" != "A/1"
    }
    group, store = counted(new_plate(wells, rows, columns))
    thumbnail = draw_thumbnail(group, 64)
    assert thumbnail.notes == ("one well is shown for each 2 × 2 wells",)
    assert [color_at(thumbnail.pixels, 0, column, 2, 2) for column in range(2)] == [(0, 0, 0)] * 2
    assert {key[:3] for key in store.chunks} <= {"A/2", "A/3", "C/1", "C/3"}


@pytest.mark.parametrize(("rows", "columns"), [(3, 200), (200, 3), (1, 1)])
@pytest.mark.parametrize("size", [16, 17, 100])
def test_any_plate_fits_into_any_size(rows, columns, size):
    names = [[f"{kind}{n}" for n in range(count)] for kind, count in (("R", rows), ("C", columns))]
    plate = new_plate({f"R{rows - 1}/C{columns - 1}": 100}, *names)
    picture = draw_thumbnail(plate, size).pixels
    assert max(picture.shape) <= size
    assert (picture == (255, 0, 0)).all(axis=-1).any()


def test_a_plate_whose_wells_are_all_broken():
    plate = new_plate({"A/1": 10}, "A", "1")
    store = plate.store
    for key in [key for key in store._store_dict if "/c/" in key]:
        store._store_dict[key] = type(store._store_dict[key]).from_bytes(b"broken")
    with pytest.raises(FormatError, match="chunk cannot be decoded"):
        draw_thumbnail(plate, 64)


def test_a_plate_without_images():
    with pytest.raises(FormatError, match="expected a plate with at least one image, found none"):
        draw_thumbnail(new_plate({"A/1": None}, "A", "1"), 64)
