"""The places of frames, and the memory in which they wait."""

import threading

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.streaming.frame_ring import FrameRing
from ozx.streaming.frames import FrameOrder


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


UINT8 = np.dtype("uint8")
KIND = (3, 4), UINT8


def test_a_large_frame_is_not_overtaken():
    ring = FrameRing(32)
    for number in range(4):
        ring.acquire(number, (2, 4), UINT8)
    order = []

    def take(name, shape):
        ring.acquire(name, shape, UINT8)
        order.append(name)

    threads = []
    for name, shape in (("large", (4, 4)), ("small", (2, 4))):
        threads.append(threading.Thread(target=take, args=[name, shape]))
        threads[-1].start()
        while len(ring._queue) < len(threads):
            pass
    for number in range(3):
        ring.release(number)
    for thread in threads:
        thread.join()
    assert order == ["large", "small"]
    assert not ring._queue


def test_an_interrupted_wait_does_not_hold_up_later_frames(monkeypatch):
    ring = FrameRing(12)
    first = ring.acquire("a", *KIND)

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ring._changed, "wait_for", interrupted)
        ring.acquire("b", *KIND)
    ring.release("a")
    assert ring.acquire("c", *KIND) is first
