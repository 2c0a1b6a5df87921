"""The images of a stream: positions of a series, and fields of a plate."""

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.streaming.stream_images import Positions, plate_fields, position_series
from ozx.images.writing.new_image import NewImage

IMAGE = NewImage("p", (), ())


def names_of(plate, shape=None):
    described = plate_fields(IMAGE, plate, shape).groups[""]["plate"]
    return [[item["name"] for item in described[key]] for key in ("rows", "columns")]


def test_fields_of_wells_in_their_order():
    hierarchy = plate_fields(IMAGE, {"B/3": 1, "A/2": 2})
    assert [(path, image.name) for path, image in hierarchy.images.items()] == [
        (path, path) for path in ("B/3/0", "A/2/0", "A/2/1")
    ]
    plate = hierarchy.groups[""]["plate"]
    assert plate["wells"][0] == {"path": "B/3", "rowIndex": 1, "columnIndex": 2}
    assert (plate["name"], plate["field_count"]) == ("p", 2)
    assert hierarchy.groups["A/2"]["well"]["images"] == [{"path": "0"}, {"path": "1"}]


def test_the_number_of_fields_may_come_from_numpy():
    assert list(plate_fields(IMAGE, {"A/1": np.int64(2)}).images) == ["A/1/0", "A/1/1"]


@pytest.mark.parametrize(
    ("wells", "shape", "rows", "columns"),
    [
        (["B/3"], None, ["A", "B"], ["1", "2", "3"]),
        (["A/03", "C/01"], None, ["A", "B", "C"], ["01", "02", "03"]),
        (["A/1"], (2, 3), ["A", "B"], ["1", "2", "3"]),
        (["top/1", "low/2"], None, ["top", "low"], ["1", "2"]),
        (["A/left", "B/right"], None, ["A", "B"], ["left", "right"]),
        (["A/01", "A/2"], None, ["A"], ["01", "2"]),
        (["A/0"], None, ["A"], ["0"]),
    ],
)
def test_rows_and_columns_of_the_physical_plate(wells, shape, rows, columns):
    assert names_of(dict.fromkeys(wells, 1), shape) == [rows, columns]


def test_rows_after_z():
    rows, columns = names_of({"AF/48": 1}, (32, 48))
    assert (len(rows), rows[25:27], rows[-1], len(columns)) == (32, ["Z", "AA"], "AF", 48)


@pytest.mark.parametrize(
    ("plate", "shape", "message"),
    [
        ({}, None, "expected wells with their number of fields"),
        (["A/1"], None, "expected wells with their number of fields"),
        ({"A1": 1}, None, "a well as ROW/COLUMN, letters and digits, as in B/3; got 'A1'"),
        ({"A/1/0": 1}, None, "a well as ROW/COLUMN"),
        ({"A/é": 1}, None, "a well as ROW/COLUMN"),
        ({"A/1": 0}, None, "a whole number of fields, at least 1, for the well A/1; got 0"),
        ({"A/1": True}, None, "got True"),
        ({"A/1": 1.5}, None, "got 1.5"),
        ({"C/1": 1}, (2, 3), "a plate of at least 3 rows, because C is in use; got 2"),
        ({"A/4": 1}, (2, 3), "a plate of at least 4 columns"),
        ({"top/1": 1}, (2, 3), "rows of one or two capital letters if plate_shape is given; got top"),
        ({"A/01": 1, "A/2": 1}, (2, 3), "usual names of columns"),
    ],
)
def test_wrong_plates(plate, shape, message):
    with pytest.raises(UsageError, match=message):
        plate_fields(IMAGE, plate, shape)


def test_names_of_positions():
    assert [image.name for image in position_series(IMAGE, ["a", "b"]).images.values()] == ["a", "b"]
    with pytest.raises(UsageError, match="a list of distinct names"):
        position_series(IMAGE, ["a", "a"])


NAMED = Positions({"left": 1, "right": 2})


@pytest.mark.parametrize("position", ["right", np.str_("right"), 1, np.uint8(1)])
def test_positions_have_names_and_numbers(position):
    assert NAMED.find(position) == 2


@pytest.mark.parametrize("position", [None, True, -1, 2, 1.0, "", "up", [0], np.array([0, 1]), 2**70])
def test_other_values_are_no_positions(position):
    with pytest.raises(UsageError, match="expected one of the 2 positions; got ") as caught:
        NAMED.find(position)
    assert caught.value.hint == "Give a number or name, such as 'left', 'right'."


def test_the_position_of_a_single_image():
    with pytest.raises(UsageError, match="expected one of the 1 positions; got None") as caught:
        Positions({"": 1}).find(None)
    assert caught.value.hint == "Give position 0."
