"""The places of frames."""

import tracemalloc
from itertools import islice
from random import Random

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.streaming.frames import FrameOrder


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


@pytest.mark.parametrize(
    "index", [1.5, (1.5,), (1.0,), "1", ("1",), (None,), object(), np.array([[1]]), True, (True,), np.bool_(1)]
)
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


def test_many_frames_in_any_order():
    order, random = FrameOrder("tc", (None, 3)), Random(3)
    places = [divmod(number, 3) for number in random.sample(range(9000), 6000)]
    for place in places:
        take(order, place)
    every = {divmod(number, 3) for number in range(order.length * 3)}
    assert (order.count, order.length) == (6000, max(places)[0] + 1)
    assert list(order.iter_missing()) == sorted(every - set(places))
    assert order.missing_count == len(every) - 6000
    for place in places:
        with pytest.raises(UsageError, match="already received"):
            order.place(place)


@pytest.mark.parametrize("index", [10**8 + 3, 2**40, 2**63, 2**70])
def test_a_wrong_counter_of_a_camera_is_refused(index):
    order = FrameOrder("t", (None,))
    take(order, 1)
    with pytest.raises(UsageError, match=f"an index of at most 100,000,001 along t, .*; got {index:,}") as caught:
        order.place(index)
    assert "the frame counter" in caught.value.hint
    assert (take(order), take(order, 10**8 + 2)) == ((2,), (10**8 + 2,))
