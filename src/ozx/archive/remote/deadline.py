"""The time that a caller gives to all requests, and the count of requests and bytes so far."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, TypeVar

from ozx.errors import ResourceError, UsageError

__all__ = [
    "DEADLINE",
    "Deadline",
    "Traffic",
    "call_in_time",
    "count_traffic",
    "limited_in_time",
    "new_deadline",
    "traffic",
]

_T = TypeVar("_T")

#: The name of the deadline among the options of `ozx.archive.remote.access.storage_options`.
DEADLINE = "ozx_deadline"


class Traffic(NamedTuple):
    """The requests of this process, and the bytes that they brought; repetitions after failures are left out."""

    requests: int
    bytes: int


class Deadline(NamedTuple):
    """The end of the time for requests, in seconds since 1970; worker processes get a copy."""

    end: float
    seconds: float
    before: Traffic

    def left(self) -> float:
        """Return the remaining seconds, not less than 0."""
        return max(0.0, self.end - time.time())

    def error(self, name: str | None) -> ResourceError:
        """Return the error for time that is over; it says how much was read until now."""
        now = traffic()
        # A worker process began to count later.
        requests, size = (max(0, new - old) for new, old in zip(now, self.before, strict=True))
        return ResourceError(
            f"the time is over: {self.seconds:g} s were given (--timeout, ozx.storage_options(timeout=…)); "
            f"{requests:,} requests had brought {size:,} bytes by then",
            path=name,
            hint="Give more time, or request less (ozx extract --dry-run tells how much). No half file was left.",
        )


_LOCK = threading.Lock()
_COUNTS = [0, 0]


def count_traffic(requests: int, size: int) -> None:
    """Count requests, and bytes that they brought."""
    with _LOCK:
        _COUNTS[0] += requests
        _COUNTS[1] += size


def traffic() -> Traffic:
    """Return the requests and bytes of this process.

    Examples
    --------
    >>> traffic().requests >= 0
    True
    """
    return Traffic(*_COUNTS)


def new_deadline(timeout: Any, present: Deadline | None = None) -> Deadline:
    """Return the deadline in `timeout` seconds, or the present one if that is earlier.

    Raises
    ------
    UsageError
        It is no positive number of seconds.
    """
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"expected a time-out as a positive number of seconds; got {timeout!r}")
    deadline = Deadline(time.time() + seconds, seconds, traffic())
    return deadline if present is None or deadline.end < present.end else present


def call_in_time(call: Callable[[], _T], deadline: Deadline | None, name: str) -> _T:
    """Return the result of `call`, but do not wait for it beyond the deadline.

    Raises
    ------
    ResourceError
        The time is over. The call is left to a thread that does not keep the process from ending.
    """
    if deadline is None:
        return call()
    result: Future[_T] = Future()

    def work() -> None:
        try:
            result.set_result(call())
        except BaseException as error:  # noqa: BLE001 (raised in the caller's thread)
            result.set_exception(error)

    left = deadline.left()
    if left > 0:
        threading.Thread(target=work, daemon=True, name="ozx-in-time").start()
        if wait([result], left).done:
            return result.result()
    raise deadline.error(name)


def limited_in_time(client: Any, deadline: Deadline | None) -> Any:
    """Return boto3's client; its requests fail beyond the deadline, but for those that end uploads."""
    if deadline is not None:

        def check(event_name: str, **_: Any) -> None:
            if deadline.left() == 0 and not event_name.endswith(".AbortMultipartUpload"):
                raise deadline.error(None)

        client.meta.events.register("before-send.s3", check)
    return client
