"""Streams that Ctrl-C interrupts at any step, and that the program continues; forked processes; positions."""

import gc
import os
import sys
import threading
import warnings
from concurrent.futures import Future

import numpy as np
import pytest
from children import in_child, wait

import ozx
from ozx import streaming
from ozx.errors import ResourceError, UsageError
from ozx.streaming import encoding_threads

FRAMES = np.arange(1, 9, dtype="uint8")[:, None, None] * np.ones((1, 8, 8), "uint8")
WORDS = {"axes": "tyx", "shape": (None, 8, 8), "dtype": "uint8", "sync": False, "force": True}
needs_fork = pytest.mark.posix("needs fork")
FILES = (os.path.dirname(streaming.__file__), threading.__file__)


@pytest.mark.parametrize("position", [None, True, -1, 2, 1.0, "", "up", [0], np.array([0, 1]), 2**70])
def test_other_values_are_no_positions(tmp_path, position):
    stream = ozx.stream(tmp_path / "a.ozx", positions=["left", "right"], **WORDS)
    with pytest.raises(UsageError, match="expected one of the 2 positions; got ") as caught:
        stream.append(FRAMES[0], position=position)
    assert caught.value.hint == "Give a number or name, such as 'left', 'right'."
    stream.abort()


class Interrupt:
    """Raise KeyboardInterrupt at one step of streams or of threading.

    A step is the begin of a function or the end of a built-in call: there CPython looks for signals.
    """

    def __init__(self, step):
        self.left = step

    def __enter__(self):
        sys.setprofile(self._count)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def _count(self, frame, event, value):
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(FILES):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def end_in_time(work, step):
    """Call `work` with a step in a thread, and return its result; fail if it hangs."""
    future = Future()

    def run():
        try:
            future.set_result(work(step))
        except BaseException as error:  # noqa: BLE001 (raised by the test)
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(timeout=30)


def interrupt(call, step):
    """Interrupt a call at a step, and return whether the call has so many steps."""
    try:
        with Interrupt(step) as steps:
            call()
    except KeyboardInterrupt:
        return True
    assert steps.left > 0
    return False


def append_or_write(frames, kind):
    if kind == "append":
        frames.append(FRAMES[1], record={"time": 1})
    else:
        frames.write(FRAMES[1], 1, record={"time": 1})


@pytest.mark.parametrize("kind", ["append", "write"])
def test_an_append_that_is_interrupted_at_any_step_takes_its_frame_or_not(tmp_path, kind):
    def work(step):
        with ozx.stream(tmp_path / "a.ozx", **WORDS) as frames:
            frames.append(FRAMES[0], record={"time": 0})
            has_step = interrupt(lambda: append_or_write(frames, kind), step)
            before = frames.frames
            for number in range(before, len(FRAMES)):
                frames.append(FRAMES[number], record={"time": number})
            assert (frames.flush(), frames.buffered) == (len(FRAMES), 0)
        assert frames.result.missing_count == 0
        image = ozx.open(tmp_path / "a.ozx")
        np.testing.assert_array_equal(image["0"][...], FRAMES)
        np.testing.assert_array_equal(image["frames/time"][...], np.arange(len(FRAMES)))
        return has_step, before

    step, taken = 1, []
    while (result := end_in_time(work, step))[0]:
        taken.append(result[1])
        step += 1
    assert step > 30
    assert (taken[0], taken[-1]) == (1, 2)
    assert taken == sorted(taken)


def test_a_flush_that_is_interrupted_at_any_step_does_not_hold_up_the_stream(tmp_path):
    def work(step):
        with ozx.stream(tmp_path / "a.ozx", **WORDS) as frames:
            frames.append(FRAMES[0])
            has_step = interrupt(frames.flush, step)
            for frame in FRAMES[1:]:
                frames.append(frame)
        np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][...], FRAMES)
        return has_step

    step = 1
    while end_in_time(work, step):
        step += 1
    assert step > 10


@needs_fork
def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path):
    frames = ozx.stream(tmp_path / "a.ozx", **WORDS)
    frames.append(FRAMES[0])
    by_other = f"a.ozx: the stream is written by process {os.getpid()}; this is process"

    def work():
        calls = [
            lambda: frames.append(FRAMES[1]),
            lambda: frames.write(FRAMES[1], 1),
            lambda: frames.set_metadata(name="b"),
            frames.flush,
            frames.close,
        ]
        for call in calls:
            with pytest.raises(ResourceError, match=by_other):
                call()
        frames.abort()

    assert wait(in_child(work), 30) == 0
    frames.append(FRAMES[1])
    frames.flush()
    assert frames.close().frames == 2
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][...], FRAMES[:2])


@needs_fork
@pytest.mark.parametrize("end", ["block", "error", "garbage", "exit"])
def test_a_forked_child_ends_without_a_trace(tmp_path, end):
    frames = [ozx.stream(tmp_path / "a.ozx", **WORDS)]
    frames[0].append(FRAMES[0])
    frames[0].flush()

    def work():
        warnings.simplefilter("error")
        if end == "garbage":
            frames.clear()
            gc.collect()
        elif end == "exit":
            encoding_threads._end_all()
        elif end == "block":
            with frames[0]:
                pass
        else:
            with pytest.raises(ZeroDivisionError), frames[0]:
                1 / 0  # noqa: B018

    assert wait(in_child(work), 30) == 0
    with pytest.raises(ResourceError, match="another program is writing this file"):
        ozx.stream(tmp_path / "a.ozx", **WORDS)
    frames[0].append(FRAMES[1])
    assert frames[0].flush() == 2
    frames[0].close()
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][...], FRAMES[:2])
