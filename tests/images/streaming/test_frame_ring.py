"""The memory in which frames wait."""

import threading

import numpy as np
import pytest

from ozx.errors import BufferFull
from ozx.images.streaming.frame_ring import FrameRing

UINT8 = np.dtype("uint8")


def test_frames_are_used_again():
    ring = FrameRing(2, (3, 4), UINT8)
    first = ring.acquire()
    ring.release(first)
    assert ring.acquire() is first
    assert (ring.used, ring.fullest, ring.frame_bytes) == (1, 1, 12)


def test_a_full_ring_raises():
    ring = FrameRing(2, (3, 4), UINT8, is_waiting=False)
    frames = [ring.acquire(), ring.acquire()]
    with pytest.raises(BufferFull, match="all 2 frames"):
        ring.acquire()
    ring.release(frames[0])
    ring.acquire()
    assert (ring.waits, ring.fullest) == (0, 2)


def test_a_full_ring_waits():
    ring = FrameRing(1, (3, 4), UINT8)
    frame = ring.acquire()
    timer = threading.Timer(0.05, ring.release, [frame])
    timer.start()
    assert ring.acquire() is frame
    timer.join()
    assert (ring.waits, ring.used) == (1, 1)
    assert ring.waited > 0.01


def test_stop_ends_the_waiting():
    ring = FrameRing(1, (3, 4), UINT8)
    ring.acquire()
    timer = threading.Timer(0.02, ring.stop)
    timer.start()
    ring.acquire()
    timer.join()
