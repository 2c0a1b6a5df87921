"""Which levels a new image has, and where their pixels are."""

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.hierarchy.ome.model import Axis
from ozx.images.writing.downsampling import halve
from ozx.images.writing.new_image import PyramidChoice, PyramidLevel, plan_pyramid

KINDS = {"t": "time", "c": "channel"}


def plan(names, shape, scale=None, unit="micrometer", moved=None, **choice):
    axes = [Axis(name, kind := KINDS.get(name, "space"), unit if kind == "space" else None) for name in names]
    first = PyramidLevel(shape, tuple(scale or [1.0] * len(shape)), tuple(moved or [0.0] * len(shape)))
    return plan_pyramid(first, axes, PyramidChoice(**choice))


def shapes(levels):
    return [level.shape for level in levels]


def test_planes_are_halved_to_256_pixels():
    assert shapes(plan("yx", (20_000, 20_000)))[-2:] == [(313, 313), (157, 157)]
    assert shapes(plan("yx", (256, 256))) == [(256, 256)]
    assert shapes(plan("yx", (257, 3))) == [(257, 3), (129, 2)]
    assert shapes(plan("yx", (5000, 1)))[-1] == (157, 1)


def test_channels_and_times_stay():
    assert shapes(plan("tczyx", (3, 2, 9, 512, 600)))[-1] == (3, 2, 3, 128, 150)


@pytest.mark.parametrize(
    ("scale", "unit", "is_halved"),
    [
        ((1.0, 1.0, 1.0), "micrometer", True),
        ((1.4, 1.0, 1.0), "micrometer", True),
        ((1.5, 1.0, 1.0), "micrometer", False),
        ((0.3, 1.0, 1.0), "micrometer", True),
        ((1.0, 1.0, 1.0), None, False),  # nobody knows
        ((0.5, 0.5, 0.5), None, True),
    ],
)
def test_z_is_halved_where_the_voxel_is_nearly_a_cube(scale, unit, is_halved):
    levels = plan("zyx", (100, 400, 400), scale, unit)
    assert shapes(levels)[1] == (50 if is_halved else 100, 200, 200)


def test_z_is_halved_from_where_pixels_have_become_as_wide_as_it_is_deep():
    assert shapes(plan("zyx", (64, 2048, 2048), (2.0, 0.5, 0.5))) == [
        (64, 2048, 2048), (64, 1024, 1024), (64, 512, 512), (32, 256, 256)
    ]  # fmt: skip


def test_units_that_differ_are_not_compared():
    axes = [Axis("z", "space", "nanometer"), *(Axis(name, "space", "micrometer") for name in "yx")]
    first = PyramidLevel((64, 512, 512), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    assert shapes(plan_pyramid(first, axes, PyramidChoice()))[-1] == (64, 256, 256)


def test_axes_that_are_asked_for():
    assert shapes(plan("zyx", (600, 600, 600), axes=("z", "x")))[-1] == (150, 600, 150)
    assert shapes(plan("zyx", (600, 600, 600), axes=())) == [(600, 600, 600)]


@pytest.mark.parametrize("method", ["mean", "nearest", "mode"])
def test_pixels_are_where_their_level_says(method):
    """A ramp whose values are its own places shows where each pixel of a lower level lies."""
    scale, moved = (0.5, 0.25), (3.0, -1.0)
    levels = plan("yx", (1024, 2048), scale, moved=moved, method=method)
    x = np.tile(moved[1] + scale[1] * np.arange(2048), (1024, 1))
    for level in levels:
        if level.halved:
            x = halve(x, level.halved, "mean" if method == "mode" else method)
        assert x[0, 0] == level.translation[1]
        assert x[0, 1] - x[0, 0] == level.scale[1]
    assert len(levels) == 4


def test_what_options_mean():
    assert PyramidChoice.parse() == PyramidChoice("mean", None) == PyramidChoice.parse("mean", "auto")
    assert PyramidChoice.parse("nearest", "none").axes == ()
    assert PyramidChoice.parse(downsample=["z", "y"]).axes == ("z", "y")


@pytest.mark.parametrize("downsample", ["", "y,y", "y,", ["x", ""]])
def test_options_that_mean_nothing(downsample):
    with pytest.raises(UsageError, match="as in z,y,x"):
        PyramidChoice.parse(downsample=downsample)


def test_axes_that_cannot_be_halved():
    with pytest.raises(UsageError, match="no axis 'q'"):
        plan("yx", (900, 900), axes=("q",))
    with pytest.raises(UsageError, match="'c' is the channel axis"):
        plan("cyx", (900, 900, 900), axes=("c",))
