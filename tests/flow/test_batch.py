"""Many sources: one that fails does not stop the others."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from counting_progress import CountingProgress

from ozx.flow.batch import describe_failure, run_batch
from ozx.progress import NO_PROGRESS, Cancelled


def work(source, target, progress):
    if source == "fault":
        raise TypeError("unsupported operand")
    if source == "memory":
        raise MemoryError
    return source


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_of_ozx_fails_one_source_only(jobs):
    pairs = [("fault", "1"), ("good", "2"), ("memory", "3")]
    fail = lambda source, target, error: describe_failure(error)
    fault, good, memory = run_batch(work, fail, pairs, jobs=jobs, what="", progress=NO_PROGRESS)
    assert good == "good"
    assert fault["message"].startswith("this is a fault of ozx, not of your files: TypeError: unsupported operand")
    assert fault["fault"].startswith("TypeError at ozx/flow/tasks.py:")
    assert memory["message"] == "this computer ran out of memory"
    assert "fault" not in memory


class Broken(CountingProgress):
    """A display that fails."""

    def advance(self, amount):
        raise ValueError("the display is broken")


def report(source, target, progress):
    progress.advance(1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_display_is_no_fault_of_a_file(jobs):
    with pytest.raises(ValueError, match="the display is broken"):
        run_batch(report, None, [("a", "b"), ("c", "d")], jobs=jobs, what="", progress=Broken())


class Cancelling(CountingProgress):
    """A display that cancels when the first file has begun."""

    def __init__(self, begun):
        super().__init__()
        self._begun = begun

    def advance(self, amount):
        if self._begun:
            raise Cancelled


def test_a_batch_of_an_executor_can_be_cancelled():
    gate, begun = threading.Event(), []

    def wait(source, target, progress):
        begun.append(source)
        gate.wait()

    pairs = [("/a", "/b"), ("/c", "/d"), ("/e", "/f")]
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(Cancelled):
            run_batch(wait, None, pairs, jobs=1, what="", progress=Cancelling(begun), executor=executor)
        gate.set()
    assert begun == [os.path.abspath("/a")]


def test_files_that_are_complete_when_a_batch_is_cancelled_are_told():
    both, told = threading.Barrier(2), []

    def work(source, target, progress):
        if source == "slow":
            both.wait()
            time.sleep(0.05)  # it ends after the other file has cancelled the batch
            return source
        both.wait()
        raise Cancelled

    words = {"jobs": 2, "what": "", "progress": NO_PROGRESS, "on_result": told.append}
    with pytest.raises(Cancelled):
        run_batch(work, None, [("slow", "1"), ("cancelling", "2")], **words)
    assert told == ["slow"]


def test_an_interrupt_ends_all():
    def interrupted(source, target, progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(interrupted, None, [("a", "b"), ("c", "d")], jobs=2, what="", progress=NO_PROGRESS)
