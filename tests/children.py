"""Run functions in forked processes, for tests."""

import os
import signal
import time
import traceback
import warnings


def in_child(function) -> int:
    """Run `function` in a forked process; return the process id. The process exits with 0; after an exception, with 1.

    An interrupt reaches the child only while `function` runs: at other times it would end a copy of the test run.
    """
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of a fork beside threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
            function()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            code = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_SETMASK, usual)
    return child


def wait(child: int, seconds: float = 120) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_in_child(function) -> int:
    """Return the exit code of `function` in a forked process."""
    return wait(in_child(function))


def shortest_duration(function, start_anew=lambda: None) -> float:
    """Return the shortest of three times of `function` in a forked process: the first run may wait for the disk.

    The time of `start_anew`, which runs before each, does not count.
    """
    seconds = []
    for _ in range(3):
        start_anew()
        start = time.perf_counter()
        assert run_in_child(function) == 0
        seconds.append(time.perf_counter() - start)
    return min(seconds)
