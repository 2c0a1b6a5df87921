"""Regions that all levels show alike."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ozx.ome.subset.levels import AxisGrid, PixelRange, align, make_grid


def interval(start, stop):
    return PixelRange(Fraction(start), Fraction(stop))


def pyramid(length, chunk, levels, *, factor=2, scale=0.325, centred=True, round_up=False):
    """Grids of one axis as writers make them: sizes divided by `factor`, with or without the half-pixel shift."""
    grids, size = [], length
    for level in range(levels):
        own = scale * factor**level
        shift = (own - scale) / 2 if centred else 0.0
        grids.append({"x": make_grid(size, chunk, length, (scale, own), (0.0, shift))})
        size = max(1, -(-size // factor) if round_up else size // factor)
    return grids


def aligned(start, stop, grids):
    region, shares = align({"x": interval(start, stop)}, grids)
    return tuple(map(int, region["x"])), shares


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(
    ("asked", "expected", "shares"),
    [
        ((0, 64), (0, 64), 1),
        ((64, 128), (64, 128), 1),
        ((0, 100), (0, 128), 2),
        ((64, 192), (64, 192), 1),  # twice the length for the sake of level 1 is too much
        ((0, 256), (0, 256), 3),
        ((1, 255), (0, 256), 3),
        ((70, 500), (0, 512), 4),
        ((300, 700), (256, 768), 3),
        ((512, 1024), (512, 1024), 4),
        ((0, 1024), (0, 1024), 5),
    ],
)
def test_the_region_grows_by_half_at_most(asked, expected, shares, centred):
    grids = pyramid(1024, 64, 5, centred=centred)
    region, found = aligned(*asked, grids)
    assert region == expected
    assert found == [level < shares for level in range(5)]


def test_rounded_scales_still_meet():
    grids = [
        {"x": make_grid(4096 >> n, 64, 4096, (0.3333333, round(0.3333333 * 2**n, 6)), (0.0, 0.0))} for n in range(3)
    ]
    assert aligned(256, 1024, grids) == ((256, 1024), [True] * 3)


def test_grids_that_never_meet_are_not_waited_for():
    odd = [{"x": AxisGrid(10**6, 7, 10**6)}, {"x": AxisGrid(10**6, 7, 10**6, Fraction(1), Fraction("0.3"))}]
    assert aligned(400_000, 600_000, odd)[1] == [True, False]


@given(
    length=st.integers(1, 400),
    chunk=st.integers(1, 40),
    levels=st.integers(1, 5),
    factor=st.integers(1, 3),
    centred=st.booleans(),
    round_up=st.booleans(),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_what_is_taken_holds_what_is_asked_for(length, chunk, levels, factor, centred, round_up, ends):
    start, stop = sorted(int(end * length) for end in ends)
    stop = max(stop, start + 1)
    if stop > length:
        return
    grids = pyramid(length, chunk, levels, factor=factor, centred=centred, round_up=round_up)
    assume(all(grid["x"].length for grid in grids))  # rounded down, a level may be left without a pixel
    region, shares = align({"x": interval(start, stop)}, grids)
    taken = region["x"]
    assert 0 <= taken.start <= start < stop <= taken.stop <= length
    finest = grids[0]["x"]
    own = finest.last(taken) - finest.first(taken)
    assert own <= 1.5 * (-(-stop // chunk) - start // chunk) * chunk
    for grid, is_shared in zip(grids, shares, strict=True):
        first, last = grid["x"].nearest(taken)
        assert 0 <= first < last <= grid["x"].length
        assert first % chunk == 0
        assert last % chunk == 0 or last == grid["x"].length
        if is_shared:
            assert abs(grid["x"].origin + first * grid["x"].factor - taken.start) <= grid["x"].factor / 20
