"""The time limit for all requests of a caller, and counts of requests and received bytes."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, TypeVar

from ozx.errors import ResourceError, UsageError

_T = TypeVar("_T")

#: The key of the deadline among the options of `ozx.places.remote.access.storage_options`.
DEADLINE = "ozx_deadline"


#: The numbers of requests and received bytes.
Traffic = tuple[int, int]


class Deadline(NamedTuple):
    """The time at which all requests must be complete; worker processes receive a copy."""

    end: float  # in seconds since 1970
    seconds: float  # from its beginning to its end
    before: Traffic  # at its beginning

    def left(self) -> float:
        """Return the number of seconds until the deadline, at least 0."""
        return max(0.0, self.end - time.time())

    def error(self, name: str | None, *, writes: bool = False) -> ResourceError:
        """Return the error for a missed deadline; of a reader, it contains the number of bytes read so far."""
        passed = f"the time limit of {self.seconds:g} s has passed (ozx.storage_options(timeout=…))"
        if writes:
            hint = "Set a longer limit. An upload that did not end leaves no object; the next run sends it again."
            return ResourceError(passed, path=name, hint=hint)
        now = traffic()
        # The counts of a worker process begin at 0, and may be lower than `before`.
        requests, size = (max(0, new - old) for new, old in zip(now, self.before, strict=True))
        return ResourceError(
            f"{passed}; {requests:,} requests received {size:,} bytes",
            path=name,
            hint="Set a longer limit, or read less (ozx extract --dry-run counts bytes). No incomplete file is left.",
        )


_LOCK = threading.Lock()
_COUNTS = [0, 0]


def count_traffic(size: int) -> None:
    """Count a request, and the bytes that it received."""
    with _LOCK:
        _COUNTS[0] += 1
        _COUNTS[1] += size


def traffic() -> Traffic:
    """Return the numbers of requests and received bytes of this process; retries after failures are not counted."""
    requests, size = _COUNTS
    return requests, size


def new_deadline(timeout: Any, present: Deadline | None = None) -> Deadline:
    """Return the deadline `timeout` seconds from now, or the `present` deadline if it is earlier."""
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"expected a time-out as a positive number of seconds; got {timeout!r}")
    deadline = Deadline(time.time() + seconds, seconds, traffic())
    return deadline if present is None or deadline.end < present.end else present


def in_background(call: Callable[[], _T]) -> Future[_T]:
    """Return the future result of `call`, which runs in a thread that does not keep the program from ending."""
    result: Future[_T] = Future()

    def work() -> None:
        try:
            result.set_result(call())
        except BaseException as error:  # noqa: BLE001 (raised in the thread that asks for the result)
            result.set_exception(error)

    threading.Thread(target=work, daemon=True, name="ozx-request").start()
    return result


def call_in_time(call: Callable[[], _T], deadline: Deadline | None, name: str) -> _T:
    """Return the result of `call`; stop waiting for the result at the deadline."""
    if deadline is None:
        return call()
    left = deadline.left()
    if left > 0:
        result = in_background(call)
        # Clients get the same limit: their own error, in the same moment, says less than that of the deadline.
        if wait([result], left).done and (result.exception() is None or deadline.left()):
            return result.result()
    raise deadline.error(name)
