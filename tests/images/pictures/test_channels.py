"""Which channels are shown, in which colours, between which values."""

import numpy as np
import pytest

from ozx.errors import UnsupportedError
from ozx.hierarchy.ome.colors import ShownChannel, Window
from ozx.images.pictures.channels import choose_channels, is_telling, percentile_window

U1, U2 = np.dtype("u1"), np.dtype("u2")


def channel(color=None, *, active=True, window=None):
    return ShownChannel(None, color, active, window)


def colors(*arguments, **options):
    return {number: channel.color for number, channel in choose_channels(*arguments, **options).items()}


@pytest.mark.parametrize(
    ("described", "count", "dtype", "expected"),
    [
        ([], 1, U2, {0: "FFFFFF"}),
        ([], 2, U2, {0: "00FFFF", 1: "FF00FF"}),
        ([], 3, U1, {0: "FF0000", 1: "00FF00", 2: "0000FF"}),
        ([], 4, U1, {0: "FF0000", 1: "00FF00", 2: "0000FF"}),
        ([], 3, U2, {0: "00FFFF", 1: "FF00FF", 2: "FFFF00"}),
        ([channel("ABCDEF")] * 3, 3, U1, dict.fromkeys(range(3), "ABCDEF")),
        ([channel("ABCDEF"), channel("123456", active=False)], 2, U2, {0: "ABCDEF"}),
        ([channel("ABCDEF", active=False)] * 2, 2, U2, {0: "ABCDEF"}),
        ([channel("ABCDEF")] * 5, 1, U2, {0: "ABCDEF"}),
        ([channel("ABCDEF")], 2, U2, {0: "ABCDEF", 1: "FF00FF"}),
    ],
)
def test_channels_that_are_shown(described, count, dtype, expected):
    assert colors(described, count, dtype) == expected


def test_a_spectrum_shows_its_first_channels():
    assert list(choose_channels([], 200, U2)) == [0, 1, 2, 3, 4, 5]
    described = [channel("FF0000", active=number in (3, 150)) for number in range(200)]
    assert list(choose_channels(described, 200, U2)) == [3, 150]


def test_gray_is_one_channel():
    assert colors([channel("FF0000", active=False), channel("00FF00")], 2, U2, is_gray=True) == {1: "FFFFFF"}


@pytest.mark.parametrize(
    ("window", "dtype", "telling"),
    [
        (Window(0, 65535, 0, 65535), "u2", False),
        (Window(-32768, 32767, None, None), "i2", False),
        (Window(0, 32767, None, None), "i2", True),
        (Window(0, 255, 0, 255), "u1", True),
        (Window(0, 1, 0, 1), "f4", True),
        (Window(0, 1, 0, 1), "?", True),
        (None, "u1", False),
    ],
)
def test_a_window_over_the_whole_of_a_wide_type_tells_nothing(window, dtype, telling):
    assert is_telling(window, np.dtype(dtype)) is telling


def test_hot_pixels_do_not_count():
    values = np.full((100, 100), 100, "u2")
    values[::2] = 200
    values[0, :5] = 65535
    values[1, :5] = 0
    window = percentile_window(values)
    assert (window.start, window.end, window.min, window.max) == (100, 200, 0, 65535)


@pytest.mark.parametrize(
    ("values", "start", "end"),
    [
        (np.zeros(9, "u2"), 0, 1),
        (np.full(9, 7, "u2"), 0, 7),
        (np.full(9, -7, "i2"), -7, 0),
        (np.array([True, True]), 0, 1),
        (np.array([0] * 5000 + [3], "u1"), 0, 3),
        (np.array([np.nan, np.inf, -np.inf], "f4"), 0, 1),
        (np.array([], "f4"), 0, 1),
        (np.array([np.nan, 2, 2, np.inf], "f2"), 0, 2),
        (np.array([3 + 4j, 0, 0, 0]), 0, 4.97),
    ],
)
def test_windows_of_odd_planes(values, start, end):
    window = percentile_window(values)
    assert (window.start, window.end) == pytest.approx((start, end), abs=0.01)
    assert window.min <= window.start < window.end <= window.max


def test_a_large_stack_is_sampled():
    values = np.broadcast_to(np.arange(1000, dtype="f8"), (8000, 1000))
    assert percentile_window(values).end == pytest.approx(997, abs=2)


@pytest.mark.parametrize("dtype", ["U4", "S3", "datetime64[s]", [("a", "u1"), ("b", "f4")]])
def test_a_window_of_values_that_are_no_numbers_is_refused(dtype):
    with pytest.raises(UnsupportedError, match="expected pixels that are numbers"):
        percentile_window(np.zeros((4, 4), dtype))


@pytest.mark.parametrize("dtype", ["uint16", "int8", "float32"])
@pytest.mark.parametrize("zeros", [0, 1, 500, 90_000, 3_000_000])
def test_zeros_count_like_values(dtype, zeros):
    values = np.random.default_rng(2).integers(-90, 120, 40_000).astype(dtype)
    together = np.concatenate([values, np.zeros(zeros, dtype)])
    assert percentile_window(values, zeros) == percentile_window(together)


def test_zeros_need_no_memory():
    values = np.array([5, 7], "uint16")
    assert percentile_window(values, 10**15) == Window(0, 5, 0, 65535)
    assert percentile_window(values[:0], 3) == percentile_window(np.array([0], "uint16"))
