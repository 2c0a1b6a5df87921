"""The places of frames."""

import tracemalloc
from itertools import islice

import pytest

from ozx.errors import UsageError
from ozx.images.streaming.frames import FrameOrder


def take(order, index=None):
    place = order.place(index)
    order.record(place)
    return place


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((0, 0), r"frame \(0, 0\) was already received"),
        ((0, 2), r"at least 0 and below 2 along c; got 2"),
        ((-1, 0), r"at least 0 along t; got -1"),
        (0, r"an index for each of the axes t, c; got 0"),
    ],
)
def test_no_place(index, message):
    order = FrameOrder("tc", (None, 2))
    take(order)
    with pytest.raises(UsageError, match=message):
        take(order, index)
    assert order.count == 1


def peak(work):
    """Return the largest number of bytes that Python has allocated during `work`."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_gaps_need_no_memory():
    def work():
        order = FrameOrder("tc", (10**12, 2))
        assert [take(order, (5, 1)), take(order, (10**12 - 1, 0)), take(order)] == [
            (5, 1), (10**12 - 1, 0), (10**12 - 1, 1),
        ]  # fmt: skip
        assert (order.count, order.length, order.missing_count) == (3, 10**12, 2 * 10**12 - 3)
        assert list(islice(order.iter_missing(), 10, 12)) == [(5, 0), (6, 0)]
        order.forget((10**12 - 1, 1))
        order.forget((10**12 - 1, 0))
        assert (order.count, order.length, order.missing_count) == (1, 6, 11)

    assert peak(work) < 1 << 20
