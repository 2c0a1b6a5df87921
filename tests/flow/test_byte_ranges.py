"""What zarr asks for, in a value that may be shorter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from ozx import UsageError
from ozx.flow.byte_ranges import requested_span

numbers = st.integers(0, 40)


@given(numbers, numbers, numbers)
def test_spans_are_those_of_slices(size, first, second):
    value = bytes(range(size))
    for wanted, expected in (
        (None, value),
        (RangeByteRequest(first, second), value[first:second]),
        (OffsetByteRequest(first), value[first:]),
        (SuffixByteRequest(first), value[max(0, size - first) :]),
    ):
        offset, length = requested_span(wanted, size)
        assert value[offset : offset + length] == expected
        assert 0 <= offset <= offset + length <= size


@pytest.mark.parametrize(
    "wanted", [RangeByteRequest(-1, 3), RangeByteRequest(0, -1), OffsetByteRequest(-1), SuffixByteRequest(-1)]
)
def test_negative_numbers_are_refused(wanted):
    with pytest.raises(UsageError, match="without negative numbers"):
        requested_span(wanted, 10)


def test_other_requests_are_refused():
    with pytest.raises(TypeError, match="Unexpected byte_range"):
        requested_span((0, 3), 10)
