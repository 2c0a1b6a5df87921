"""Colours of channels by dye and emission, display settings, and colours of labels; malformed metadata is left out."""

import pytest

from ozx.ome.colors import (
    ShownPlane,
    default_color,
    dye_color,
    parse_label_display,
    parse_shown_channels,
    parse_shown_plane,
)

BLUE, CYAN, GREEN, YELLOW, RED, MAGENTA, ORANGE, GRAY = (
    *("0000FF", "00FFFF", "00FF00", "FFFF00"),
    *("FF0000", "FF00FF", "FF8000", "FFFFFF"),
)


@pytest.mark.parametrize(
    ("label", "color"),
    [
        *((label, BLUE) for label in ("DAPI", "dapi ", "Hoechst", "Hoechst 33342", "ch00_DAPI", "Alexa 405", "405 nm")),
        *((label, CYAN) for label in ("CFP", "mCerulean")),
        *(
            (label, GREEN)
            for label in ("GFP", "EGFP", "H2B-GFP", "FITC", "Alexa Fluor 488", "AF488", "ATTO 488", "488")
        ),
        *((label, GREEN) for label in ("MitoTracker Green", "mNeonGreen", "GCaMP6f", "AlexaFluor488", "Alexa 488/GFP")),
        *((label, YELLOW) for label in ("YFP", "mVenus")),
        *((label, RED) for label in ("mCherry", "RFP", "TRITC", "tdTomato", "Texas Red", "Alexa-568", "Cy3", "561nm")),
        *((label, MAGENTA) for label in ("Cy5", "Cy5.5", "Alexa 647", "ATTO647N", "MitoTracker Deep Red", "far red")),
        *((label, ORANGE) for label in ("Cy7", "Alexa 750")),
        *((label, GRAY) for label in ("Brightfield", "DIC", "Phase contrast", "TL")),
        *((label, RED) for label in ("red", "Red")),
    ],
)
def test_a_dye_has_its_colour(label, color):
    assert dye_color(label) == color


@pytest.mark.parametrize(
    "label", [None, "", "Channel 1", "ch00", "0", "Position 488", "cells", "A3", "Reference", "infrared?", "spider"]
)
def test_a_name_without_a_dye_has_none(label):
    assert dye_color(label) is None


@pytest.mark.parametrize(
    ("emission", "color"),
    [
        *((461, BLUE), (475, CYAN), (509, GREEN), (525, GREEN), (535, GREEN), (550, YELLOW), (580, RED), (610, RED)),
        *((666, MAGENTA), (775, ORANGE), (350, None), (2000, None)),
    ],
)
def test_a_wavelength_has_a_colour(emission, color):
    assert dye_color("Channel 1", float(emission)) == color


def test_the_name_comes_before_the_wavelength():
    assert dye_color("YFP", 527.0) == YELLOW


def test_other_channels_go_through_the_cycle():
    assert [default_color(number, 8) for number in range(8)] == [CYAN, MAGENTA, YELLOW, RED, GREEN, BLUE, CYAN, MAGENTA]
    assert default_color(0, 1) == GRAY
    assert default_color(0, 1, "DAPI") == BLUE


def channels(*items):
    return parse_shown_channels({"omero": {"channels": list(items)}})


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
    assert parse_shown_channels({"omero": value}) == ()
    assert parse_shown_channels({"omero": {"channels": [{}]}})[0].active is True


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
    assert parse_shown_plane({"omero": {"rdefs": defaults}}) == expected


def test_label_colours_and_properties_that_are_malformed_are_left_out():
    colors = [
        {"label-value": 1, "rgba": [1, 2, 3, 4]},
        {"label-value": 2, "rgba": [1, 2, 3]},
        {"label-value": 3, "rgba": [1, 2, 3, 256]},
        {"label-value": 4.5, "rgba": [1, 2, 3, 4]},
        {"rgba": [1, 2, 3, 4]},
        7,
    ]
    label = {"colors": colors, "properties": [{"label-value": True}]}
    display = parse_label_display({"image-label": label})
    assert display.colors == {1: (1, 2, 3, 4)}
    assert display.properties == {}
