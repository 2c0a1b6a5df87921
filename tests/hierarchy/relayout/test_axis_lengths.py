"""Lengths by axis, as requested."""

import pytest

from ozx.errors import UsageError
from ozx.hierarchy.relayout.rechunking import check_axes, parse_axis_lengths, requested_axes


@pytest.mark.parametrize(
    "value", ["", "512", "y=", "y=-1", "y=0", "y=512,y=256", "y=1.5", {}, {"y": 0}, {"y": True}, {"y": "1"}]
)
def test_what_is_not_understood(value):
    assert parse_axis_lengths(value) is None


def test_text_and_mappings_mean_the_same():
    assert parse_axis_lengths(" y = 512 ,x=64") == parse_axis_lengths({"y": 512, "x": 64}) == {"y": 512, "x": 64}


def test_dimensions_without_a_name_go_by_their_number():
    assert requested_axes({"1": 8, "y": 4}, ["y", None, "1"]) == ["y", "1", "1"]
    assert requested_axes({"0": 8}, ["y", None]) == [None, None]


def test_an_axis_is_missing_only_where_no_array_has_it():
    check_axes({"c": 1}, [("y", "x"), ("c", "y", "x")])
    check_axes({"c": 1}, [])
    with pytest.raises(UsageError, match="unknown axis 't'") as failed:
        check_axes({"c": 1, "t": 1}, [("y", "x"), ("c", "y", "x")])
    assert str(failed.value).endswith("; the axes are y, x, c")
    with pytest.raises(UsageError) as failed:
        check_axes({"c": 1}, [(None, None)])
    assert "numbered" in failed.value.hint
