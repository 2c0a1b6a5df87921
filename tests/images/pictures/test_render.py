"""Planes to colours, value by value."""

import numpy as np
import pytest

from ozx.errors import UnsupportedError
from ozx.hierarchy.ome.colors import LabelDisplay, ShownChannel, Window
from ozx.images.pictures.render import overlay, render_channels, render_labels

NONE = LabelDisplay({}, {})


def white(start, end):
    return ShownChannel(None, "FFFFFF", True, Window(start, end, start, end))


def gray_levels(values, start, end):
    """Return the red of a row of pixels, which is green and blue as well."""
    picture = render_channels([np.asarray(values)[None]], [white(start, end)])
    assert (picture == picture[..., :1]).all()
    return picture[0, :, 0].tolist()


@pytest.mark.parametrize(
    "dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", ">u2", ">f4"]
)
def test_every_type_of_numbers(dtype):
    assert gray_levels(np.array([0, 25, 50, 100, 120], dtype), 0, 100) == [0, 64, 128, 255, 255]


def test_truth_values():
    assert render_channels([np.array([[False, True]])], [ShownChannel(None, None, True, None)])[0].tolist() == [
        [0, 0, 0],
        [255, 255, 255],
    ]


def test_negative_values_and_windows():
    assert gray_levels(np.array([-300, -100, 0, 100], "i2"), -100, 100) == [0, 0, 128, 255]


def test_what_is_no_number_is_dark_and_infinities_are_the_ends():
    assert gray_levels([np.nan, np.inf, -np.inf, 0.5], 0, 1) == [0, 255, 0, 128]


@pytest.mark.parametrize(("start", "end"), [(-1.7e308, 1.7e308), (0.0, 1e-320)])
def test_the_largest_and_the_smallest_windows(start, end):
    assert gray_levels(np.array([start, end]), start, end) == [0, 255]


def test_colours_add_up_and_stop_at_white():
    planes = [np.array([[0, 1, 1]]), np.array([[0, 1, 0]])]
    window = Window(0, 1, 0, 1)
    channels = [ShownChannel(None, "FF8000", True, window), ShownChannel(None, "10FF20", True, window)]
    assert render_channels(planes, channels)[0].tolist() == [[0, 0, 0], [255, 255, 32], [255, 128, 0]]


def test_a_window_that_tells_nothing_gives_way_to_the_pixels():
    plane = np.arange(100, 201, dtype="u2")[None]
    channel = ShownChannel(None, "FFFFFF", True, Window(0, 65535, 0, 65535))
    row = render_channels([plane], [channel])[0, :, 0]
    assert (row[0], row[-1]) == (0, 255)
    assert render_channels([plane], [channel], windows=[Window(0, 400, 0, 400)])[0, -1, 0] == 128


def test_pixels_that_are_no_numbers():
    with pytest.raises(UnsupportedError, match=r"expected pixels that are numbers; found <U1"):
        render_channels([np.array([["a"]])], [white(0, 1)])


def test_labels_have_their_colours():
    display = LabelDisplay({1: (1, 2, 3, 255), 5: (9, 9, 9, 40)}, {})
    values = np.array([[0, 1], [5, 6]], "i4")
    assert render_labels(values, display).tolist() == [
        [[0, 0, 0, 0], [1, 2, 3, 255]],
        [[9, 9, 9, 40], [128, 128, 128, 255]],
    ]


def test_the_background_may_have_a_colour():
    assert render_labels(np.array([[0]]), LabelDisplay({0: (1, 2, 3, 4)}, {})).tolist() == [[[1, 2, 3, 4]]]


@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "u8"])
def test_labels_without_colours_get_different_ones(dtype):
    colors = render_labels(np.arange(40, dtype=dtype)[None], NONE)[0]
    assert colors[0].tolist() == [0, 0, 0, 0]
    assert len({tuple(color) for color in colors[1:].tolist()}) == 39
    assert (colors[1:, :3].max(axis=1) > 150).all()


@pytest.mark.parametrize("values", [[[0, 2**64 - 1]], [[-1, 2**62]], [[False, True]]])
def test_any_label_value_is_visible(values):
    values = np.array(values, "u8" if values[0][1] > 2**63 else None)
    assert render_labels(values, NONE)[0, 1, :3].any()


def test_label_values_are_integers():
    with pytest.raises(UnsupportedError, match="expected label values that are integers; found float32"):
        render_labels(np.zeros((1, 1), "f4"), NONE)


def test_labels_over_a_picture():
    picture = np.full((1, 2, 3), 200, np.uint8)
    labels = np.array([[[0, 0, 0, 0], [0, 100, 0, 255]]], np.uint8)
    assert overlay(picture, labels).tolist() == [[[200, 200, 200], [0, 100, 0]]]
    assert overlay(picture, labels, 0.25).tolist() == [[[200, 200, 200], [150, 175, 150]]]
