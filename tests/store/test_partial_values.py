"""Writes to parts of values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx import UsageError
from ozx.store.ozx_store import grouped_writes, overwritten

writes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.binary(min_size=1, max_size=12)), max_size=6)


@given(writes)
def test_writes_are_grouped_or_refused_as_a_byte_by_byte_check_says(writes):
    touched = [(key, place) for key, start, data in writes for place in range(start, start + len(data))]
    if len(touched) != len(set(touched)):
        with pytest.raises(UsageError, match="overlaps"):
            grouped_writes(writes)
        return
    grouped = grouped_writes(iter(writes))
    assert sorted((key, *piece) for key, pieces in grouped.items() for piece in pieces) == sorted(writes)
    assert all(pieces == sorted(pieces) for pieces in grouped.values())


@pytest.mark.parametrize(
    ("first", "second"), [((0, b"abc"), (2, b"x")), ((2, b"x"), (0, b"abc")), ((1, b"x"), (1, b"x"))]
)
def test_overlapping_writes_are_refused(first, second):
    with pytest.raises(UsageError, match="overlaps"):
        grouped_writes([("a", *first), ("a", *second)])
    grouped_writes([("a", *first), ("b", *second)])


def test_writes_side_by_side_are_accepted():
    assert grouped_writes([("a", 3, b"de"), ("a", 0, b"abc")]) == {"a": [(0, b"abc"), (3, b"de")]}


def test_a_write_before_the_value_is_refused():
    with pytest.raises(UsageError, match="an offset of 0 or more"):
        grouped_writes([("a", -1, b"x")])


@given(st.binary(max_size=20), st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=12)), max_size=4))
def test_pieces_are_written_over_byte_by_byte(value, pieces):
    expected = dict(enumerate(value))
    for start, data in pieces:
        expected |= dict(enumerate(data, start)) | {
            place: expected.get(place, 0) for place in range(len(expected), start)
        }
    assert overwritten(value, pieces) == bytes(expected[place] for place in sorted(expected))
