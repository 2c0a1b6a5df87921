"""The places of frames."""

import pytest

from ozx.errors import UsageError
from ozx.images.streaming.frame_order import FrameOrder


def test_frames_come_in_the_order_of_the_axes():
    order = FrameOrder("tzc", (None, 2, 2))
    assert [order.take() for _ in range(5)] == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0)]
    assert (order.count, order.length, order.is_whole) == (5, 2, False)
    assert list(order.iter_missing()) == [(1, 0, 1), (1, 1, 0), (1, 1, 1)]


def test_any_order_and_then_on():
    order = FrameOrder("tc", (4, 2))
    assert [order.take((3, 0)), order.take(), order.take([0, 1])] == [(3, 0), (3, 1), (0, 1)]
    assert list(order.iter_missing()) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert order.take() == (1, 0)


def test_a_plane_alone():
    order = FrameOrder("", ())
    assert (order.take(), order.length, order.is_whole) == ((), 1, True)
    with pytest.raises(UsageError, match="expected 1 frames"):
        order.take()


def test_what_is_given_back_is_taken_again():
    order = FrameOrder("t", (None,))
    order.take()
    order.give_back(order.take(5))
    assert (order.length, order.count) == (1, 1)
    assert order.take(5) == (5,)


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
    order.take()
    with pytest.raises(UsageError, match=message):
        order.take(index)
    assert order.count == 1


def test_one_frame_too_many():
    order = FrameOrder("t", (2,))
    order.take()
    order.take()
    assert order.is_whole
    with pytest.raises(UsageError, match=r"expected 2 frames \(t=2\)"):
        order.take()
