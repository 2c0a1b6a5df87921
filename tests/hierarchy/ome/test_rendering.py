"""Display settings of images: channels, windows, planes; malformed metadata is left out."""

import pytest

from ozx.hierarchy.ome.colors import ShownPlane, Window, default_color, parse_shown_channels, parse_shown_plane
from ozx.hierarchy.ome.units import SPACE_UNITS, TIME_UNITS


def channels(*items):
    return parse_shown_channels({"ome": {"omero": {"channels": list(items)}}}, 3)


def test_a_channel_in_full():
    window = {"min": 0, "max": 255, "start": 5, "end": 9.5}
    (channel,) = channels({"label": "DAPI", "color": "0000ff", "active": False, "window": window})
    assert (channel.label, channel.color, channel.active) == ("DAPI", "0000FF", False)
    assert channel.window == Window(5.0, 9.5, 0.0, 255.0)


@pytest.mark.parametrize(
    ("color", "expected"),
    [("#00ff00", "00FF00"), ("00FF0080", "00FF00"), ("red", None), (255, None), ("", None), ("00FF0", None)],
)
def test_colours(color, expected):
    assert channels({"color": color})[0].color == expected


@pytest.mark.parametrize(
    "window",
    [None, [], {}, {"start": 0}, {"start": 3, "end": 3}, {"start": 0, "end": float("nan")}, {"start": "0", "end": 1}],
)
def test_windows_that_say_nothing(window):
    assert channels({"window": window})[0].window is None


@pytest.mark.parametrize("value", [None, 1, [], {"channels": 3}])
def test_no_channels(value):
    assert parse_shown_channels({"ome": {"omero": value}}, 3) == ()
    assert parse_shown_channels({"omero": {"channels": [{}]}}, 2)[0].active is True


def test_the_units_of_the_specification():
    assert (len(SPACE_UNITS), len(TIME_UNITS)) == (26, 23)
    assert {"meter", "micrometer", "angstrom"} <= SPACE_UNITS
    assert {"second", "millisecond", "hour"} <= TIME_UNITS


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ({"defaultZ": 3, "defaultT": 1, "model": "color"}, ShownPlane(3, 1)),
        ({"model": "greyscale"}, ShownPlane(is_gray=True)),
        ({"defaultZ": -1, "defaultT": 1.0, "model": 7}, ShownPlane()),
        ({"defaultZ": True}, ShownPlane()),
        (None, ShownPlane()),
        ([], ShownPlane()),
    ],
)
def test_the_plane_to_begin_with(defaults, expected):
    omero = {"omero": {"rdefs": defaults}}
    assert parse_shown_plane({"ome": omero}, 3) == parse_shown_plane(omero, 2) == expected


def test_neighbours_have_different_colours_and_a_single_channel_is_gray():
    assert default_color(0, 1) == "FFFFFF"
    assert len({default_color(number, 6) for number in range(6)}) == 6
