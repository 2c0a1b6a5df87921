"""Which levels a new image has, and where their pixels are."""

import numpy as np
import pytest

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
