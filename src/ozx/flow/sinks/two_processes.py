"""Share work with a forked process, for loops of system calls that Python threads cannot run concurrently.

Sharing works only on Linux, and only while the program has one thread: a fork would copy locks that other threads hold.
docs/decisions/0006-unpacking-by-two-processes.md gives the reasons.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NoReturn

from ozx.errors import ResourceError
from ozx.progress import NO_PROGRESS

#: Maximal number of pieces: their numbers wait in a pipe, which holds 64 KiB.
MOST_NUMBERS = 4096

_PR_SET_PDEATHSIG = 1

#: Processes numbers, and passes the number of processed bytes to a function.
Work = Callable[[Iterable[int], Callable[[int], None]], None]


def are_possible() -> bool:
    """Return whether a second process can be started now."""
    return sys.platform == "linux" and threading.active_count() == 1


def run(work: Work, numbers: Iterable[int], advance: Callable[[int], None]) -> None:
    """Run `work` on all `numbers` in this process and a child process; a process that is free takes the next number."""
    queue, filling = os.pipe()
    os.write(filling, array("q", numbers).tobytes())
    os.close(filling)
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of foreign threads; numpy's idle threads hold no lock needed here.
        warnings.simplefilter("ignore", DeprecationWarning)
        parent, child = os.getpid(), os.fork()
    if child == 0:
        _be_the_child(work, queue, sending, parent)
    os.close(sending)
    try:
        # The child reports no progress, but handles about as many bytes as this process: each byte counts twice.
        work(_take(queue), lambda amount: advance(2 * amount))
        with open(receiving, "rb", closefd=False) as pipe:
            failure = pipe.read()
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(queue)
        os.close(receiving)
    _, status = os.waitpid(child, 0)
    if failure:
        raise pickle.loads(failure)  # noqa: S301 (written by our own child)
    if status:
        raise ResourceError(f"the second process ended with status {status}", hint="Try again with more free memory.")


def _take(queue: int) -> Iterator[int]:
    """Yield numbers from the shared pipe until it is empty; reading eight bytes of a pipe is atomic."""
    while number := os.read(queue, 8):
        yield array("q", number)[0]


def _be_the_child(work: Work, queue: int, sending: int, parent: int) -> NoReturn:
    """Run the child's share of the work; exit without running the parent's exit handlers."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # prctl(2): kills the child if the parent is killed
    if os.getppid() != parent:  # the parent was killed before the call
        os._exit(1)
    code = 1
    try:
        work(_take(queue), NO_PROGRESS.advance)
        code = 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (all are handed to the parent)
        os.write(sending, pickle.dumps(error))
    finally:
        os._exit(code)
