"""The places of frames."""

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.streaming.frame_order import FrameOrder


def take(order, index=None):
    place = order.place(index)
    order.record(place)
    return place


def test_frames_come_in_the_order_of_the_axes():
    order = FrameOrder("tzc", (None, 2, 2))
    assert [take(order) for _ in range(5)] == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0)]
    assert (order.count, order.length) == (5, 2)
    assert list(order.iter_missing()) == [(1, 0, 1), (1, 1, 0), (1, 1, 1)]


def test_any_order_and_then_on():
    order = FrameOrder("tc", (4, 2))
    assert [take(order, (3, 0)), take(order), take(order, [0, 1])] == [(3, 0), (3, 1), (0, 1)]
    assert list(order.iter_missing()) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert take(order) == (1, 0)


def test_a_plane_alone():
    order = FrameOrder("", ())
    assert (take(order), order.length) == ((), 1)
    with pytest.raises(UsageError, match="expected 1 frames"):
        take(order)


def test_a_forgotten_place_is_free_again():
    order = FrameOrder("t", (None,))
    take(order)
    order.forget(take(order, 5))
    assert (order.length, order.count) == (1, 1)
    assert take(order) == (1,)
    assert take(order, 5) == (5,)
    order.forget(order.place())  # an interrupt came before `record`
    assert (order.count, take(order)) == (3, (6,))


@pytest.mark.parametrize("index", [3, np.int64(3), np.uint8(3), np.array(3), (np.int64(3),), np.array([3])])
def test_integers_of_numpy_are_numbers_too(index):
    place = FrameOrder("t", (None,)).place(index)
    assert (place, type(place[0])) == ((3,), int)


@pytest.mark.parametrize("index", [1.5, (1.5,), (1.0,), "1", ("1",), (None,), object(), np.array([[1]]), np.bool_(1)])
def test_other_values_are_no_numbers(index):
    with pytest.raises(UsageError, match="expected whole numbers as the index of a frame; got"):
        FrameOrder("t", (None,)).place(index)


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


def test_one_frame_too_many():
    order = FrameOrder("t", (2,))
    take(order)
    take(order)
    with pytest.raises(UsageError, match=r"expected 2 frames \(t=2\)"):
        take(order)
