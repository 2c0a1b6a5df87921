"""Colours of channels by dye and emission."""

import pytest

from ozx.hierarchy.ome.colors import default_color, dye_color

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
