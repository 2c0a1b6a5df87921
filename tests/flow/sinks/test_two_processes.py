"""Work shared with a forked process, which may fail or be killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from counting_progress import CountingProgress

from ozx.errors import ResourceError
from ozx.flow.sinks import two_processes
from ozx.progress import NO_PROGRESS

pytestmark = pytest.mark.skipif(not two_processes.are_possible(), reason="only on Linux, and without other threads")


def no_child_is_left():
    """Tell whether no copy of this process is left; other tests leave helpers of the multiprocessing module."""
    own = Path("/proc/self/cmdline").read_bytes()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return not [child for child in children if Path(f"/proc/{child}/cmdline").read_bytes() in (own, b"")]


def test_every_number_is_done_once_and_both_take_part(tmp_path):
    def work(numbers, advance):
        for number in numbers:
            time.sleep(0.001)
            with open(tmp_path / str(number), "x", encoding="ascii") as file:
                file.write(str(os.getpid()))

    two_processes.run(work, range(200), NO_PROGRESS.advance)
    assert sorted(map(int, os.listdir(tmp_path))) == list(range(200))
    workers = {path.read_text(encoding="ascii") for path in tmp_path.iterdir()}
    assert len(workers) == 2
    assert no_child_is_left()


def test_as_many_numbers_as_allowed_fit_the_pipe(tmp_path):
    def work(numbers, advance):
        with open(tmp_path / str(os.getpid()), "w", encoding="ascii") as file:
            file.write(str(sum(1 for _ in numbers)))

    two_processes.run(work, range(two_processes.MOST_NUMBERS), NO_PROGRESS.advance)
    assert sum(int(path.read_text(encoding="ascii")) for path in tmp_path.iterdir()) == two_processes.MOST_NUMBERS


@pytest.mark.parametrize("failing", ["parent", "child"])
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(28, "full")])
def test_an_error_of_either_is_raised_and_no_process_stays(failing, error):
    parent = os.getpid()

    def work(numbers, advance):
        if (os.getpid() == parent) == (failing == "parent"):
            raise error
        for _ in numbers:
            time.sleep(0.001)

    with pytest.raises(type(error)):
        two_processes.run(work, range(10), NO_PROGRESS.advance)
    assert no_child_is_left()


def test_a_killed_child_is_an_error():
    parent = os.getpid()

    def work(numbers, advance):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        list(numbers)

    with pytest.raises(ResourceError, match="ended with status 9"):
        two_processes.run(work, range(10), NO_PROGRESS.advance)


def test_progress_counts_for_both():
    count, parent = CountingProgress(), os.getpid()

    def work(numbers, advance):
        if os.getpid() == parent:
            advance(7)
        list(numbers)

    two_processes.run(work, range(3), count.advance)
    assert count.done == 14


def test_they_are_not_possible_beside_another_thread():
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        assert not two_processes.are_possible()
    finally:
        release.set()
        thread.join()
