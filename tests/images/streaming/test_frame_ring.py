"""The memory in which frames wait."""

import threading

import numpy as np
import pytest

from ozx.errors import BufferFull
from ozx.images.streaming.frames import FrameRing

UINT8 = np.dtype("uint8")
KIND = (3, 4), UINT8


def test_frames_are_used_again():
    ring = FrameRing(24)
    first = ring.acquire("a", *KIND)
    ring.release("a")
    ring.release("a")  # a frame without an array
    assert ring.acquire("b", *KIND) is first
    assert (ring.used, ring.fullest) == (1, 1)


def test_a_full_ring_raises():
    ring = FrameRing(24, is_waiting=False)
    ring.acquire("a", *KIND)
    ring.acquire("b", *KIND)
    with pytest.raises(BufferFull, match="the memory is full with 2 frames"):
        ring.acquire("c", *KIND)
    ring.release("a")
    ring.acquire("c", *KIND)
    assert (ring.waits, ring.fullest) == (0, 2)


def test_a_full_ring_waits():
    ring = FrameRing(12)
    first = ring.acquire("a", *KIND)
    timer = threading.Timer(0.05, ring.release, ["a"])
    timer.start()
    assert ring.acquire("b", *KIND) is first
    timer.join()
    assert (ring.waits, ring.used) == (1, 1)
    assert ring.waited > 0.01


def test_stop_ends_the_waiting():
    ring = FrameRing(12)
    ring.acquire("a", *KIND)
    timer = threading.Timer(0.02, ring.stop)
    timer.start()
    ring.acquire("b", *KIND)
    timer.join()


def test_frames_of_several_kinds_share_the_bytes():
    ring = FrameRing(40, is_waiting=False)
    large = ring.acquire("large", (4, 4), np.dtype("uint16"))
    small = ring.acquire("small", (2, 4), UINT8)
    assert (large.nbytes, small.shape, ring.used) == (32, (2, 4), 2)
    with pytest.raises(BufferFull):
        ring.acquire("c", (1, 1), UINT8)
    ring.release("large")
    # The memory of the free frame is used for others: it is not kept beside them.
    others = [ring.acquire(number, (2, 4), UINT8) for number in range(4)]
    ring.release(0)
    assert ring.acquire("d", (2, 4), UINT8) is others[0]
    assert ring._free_bytes == 0


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
