"""Display settings of images: channels, windows, planes; malformed metadata is left out."""

import pytest

from ozx.hierarchy.ome.colors import ShownPlane, parse_shown_channels, parse_shown_plane


def channels(*items):
    return parse_shown_channels({"ome": {"omero": {"channels": list(items)}}}, 3)


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
