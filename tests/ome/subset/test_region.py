"""Regions and levels as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import UsageError
from ozx.ome.subset.region import IndexRange, centred_range, parse_levels, parse_region

ENDS = st.none() | st.integers(-30, 30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y=0:2048,x=0:2048", {"y": (0, 2048), "x": (0, 2048)}),
        (" y = 0 : 4 , x = : ", {"y": (0, 4), "x": (None, None)}),
        ("t=3", {"t": (3, 4)}),
        ("t=-1", {"t": (-1, None)}),
        ("t=-2", {"t": (-2, -1)}),
        ("z=-4:", {"z": (-4, None)}),
        ("länge=:7", {"länge": (None, 7)}),
    ],
)
def test_text(text, expected):
    assert parse_region(text) == {axis: IndexRange(*ends) for axis, ends in expected.items()}


@pytest.mark.parametrize(
    "text",
    ["", ",", "y", "y=", "=0:3", "y=0:3:2", "y=a:b", "y=0:3,y=1:2", "y=1.5:3", "y=0:3,", "y=1 2", "y=0-3", "y=+1"],
)
def test_what_is_no_region(text):
    with pytest.raises(UsageError):
        parse_region(text)


@pytest.mark.parametrize(
    "value", [*({"y": part} for part in ((1,), "0:3", 1.5, True, (0, 1.5), slice(0, 4, 2))), {3: (0, 1)}, {"": 1}, [0]]
)
def test_what_is_no_region_in_python(value):
    with pytest.raises(UsageError):
        parse_region(value)


def test_regions_in_python():
    assert parse_region({"y": [0, None], "x": slice(3), "t": 0}) == parse_region("y=0:,x=:3,t=0")
    assert parse_region(None) == {}


@given(ENDS, ENDS, st.integers(1, 25))
def test_a_range_is_a_slice_that_is_not_clipped(start, stop, length):
    ends = [0 if start is None else start, length if stop is None else stop]
    is_inside = all(-length <= end <= length for end in ends)
    expected = range(length)[start:stop]
    asked = IndexRange(start, stop)
    if is_inside and expected:
        assert range(*asked.resolve("y", length, "A/1/0")) == expected
        return
    with pytest.raises(UsageError, match=f"A/1/0.*{length}"):
        asked.resolve("y", length, "A/1/0")


@given(st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9), st.integers(1, 6))
def test_levels_are_those_of_a_slice(start, stop, count):
    choice = parse_levels(f"{'' if start is None else start}:{'' if stop is None else stop}")
    assert choice.choose(count) == list(range(count))[start:stop]
    assert choice.nearest(count)
    assert set(choice.nearest(count)) <= set(range(count))
    assert parse_levels(slice(start, stop)) == choice
    assert parse_levels(str(choice)) == choice


def test_one_level():
    assert parse_levels("0") == parse_levels(0) == IndexRange(0, 1)
    assert parse_levels("-1").choose(4) == [3]
    assert parse_levels("-2").choose(4) == [2]


@pytest.mark.parametrize("value", ["", "a", "1:2:3", "1.5", "1,2", "1 2", slice(0, 4, 2), slice("a"), 1.5, None, True])
def test_what_are_no_levels(value):
    with pytest.raises(UsageError, match="levels"):
        parse_levels(value)


@given(
    length=st.integers(1, 60),
    scale=st.sampled_from([0.1, 0.25, 0.325, 1.0, 2.5]),
    translation=st.sampled_from([0.0, -3.0, 0.1625, 1000.0]),
    ends=st.tuples(st.integers(-2, 140), st.integers(-2, 140)),
)
def test_centred_range_has_the_pixels_whose_centres_lie_in_the_bounds(length, scale, translation, ends):
    halves = sorted(ends)  # the bounds lie on centres, and halfway between two
    bounds = tuple(translation + half / 2 * scale for half in halves)
    expected = [pixel for pixel in range(-1, 71) if halves[0] <= 2 * pixel < halves[1]]
    if not expected or expected[0] < 0 or expected[-1] >= length:
        with pytest.raises(UsageError):
            centred_range(bounds, length, scale, translation, axis="x")
    else:
        assert list(range(*centred_range(bounds, length, scale, translation, axis="x"))) == expected


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_region_in_units_needs_a_pixel_size(scale):
    with pytest.raises(UsageError, match="no pixel size"):
        centred_range((0, 1), 10, scale, axis="x")


@pytest.mark.parametrize("bounds", [(float("nan"), 1), (0, float("inf"))])
def test_a_region_in_units_has_finite_bounds(bounds):
    with pytest.raises(UsageError, match="finite"):
        centred_range(bounds, 10, 1.0, axis="x")
