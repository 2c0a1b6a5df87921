"""Which requests are repeated after a failure, how often, and after which pause.

A busy server states in the HTTP header ``Retry-After`` when a client may send the next request.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import email.utils
import http.client
import math
import random
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from ozx.errors import ResourceError

#: A separate generator: pauses do not change the random numbers of the calling program.
RANDOM = random.Random()  # noqa: S311
_TIMEOUT = 10

# By default, obstore repeats a request for three minutes.
_RETRY_CONFIG = {
    "max_retries": 10,
    "retry_timeout": dt.timedelta(seconds=60),
    "backoff": {"init_backoff": dt.timedelta(milliseconds=100), "max_backoff": dt.timedelta(seconds=5), "base": 2},
}
_STATUS = re.compile(r"status code: (\d{3})")
_MAY_PASS = (408, 429, 500, 502, 503, 504)
#: The states of a server that may name the time of the next request.
BUSY = (429, 503)
# The state of a connection in obstore's errors. A wrong certificate is no temporary failure.
_CONNECTION = re.compile(r"HttpError\s*{\s*kind: (?:Connect|Request|Timeout|Interrupted)\b")
_NOT_TLS = re.compile(r"InvalidCertificate|InvalidMessage")
# These errors more often mean a wrong server name, or a computer without a role in a cloud, than a temporary failure.
_SOON = re.compile(r"dns error|169\.254\.169\.254")
_MOST_SOON = 2
# The longest pause, in seconds, that ozx accepts from a server.
_LONGEST_WAIT = 300.0
#: How often boto3 repeats a request of an upload, and its longest pause in seconds.
MOST_UPLOAD_RETRIES = 8
LONGEST_UPLOAD_PAUSE = 20.0
#: After an answer without the header, ozx requests the header again only after this number of seconds.
SILENT = 10.0

#: How often a request is repeated, for how many seconds in all, the first and the longest pause in seconds, and the
#: factor by which pauses grow.
Limits = tuple[int, float, float, float, float]


def retry_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return obstore's settings of repetitions: those given, else the usual ones."""
    return _RETRY_CONFIG | dict(options.get("retry_config") or {})


def retry_limits(options: Mapping[str, Any]) -> Limits:
    """Return the limits of the repetitions that ozx makes itself."""
    config = retry_config(options)
    backoff = config["backoff"]
    first, longest = _seconds(backoff["init_backoff"]), _seconds(backoff["max_backoff"])
    return int(config["max_retries"]), _seconds(config["retry_timeout"]), first, longest, float(backoff.get("base", 2))


def pause_after(error: str, count: int, spent: float, limits: Limits) -> tuple[int, float] | None:
    """Return the HTTP status in obstore's error, 0 without one, and the number of seconds until the next attempt.

    None if the request is not repeated. `count` attempts failed before this one; all of them took `spent` seconds,
    without their pauses.
    """
    most, limit, first, longest, base = limits
    status = _status_that_may_pass(error, count)
    if status is None or count >= most or spent >= limit:
        return None
    # Requests that failed together are not repeated together.
    return status, RANDOM.uniform(first, max(first, min(longest, first * base**count * base)))


def _status_that_may_pass(error: str, count: int) -> int | None:
    """Return the HTTP status in obstore's error after `count` attempts, 0 without one; None if none should follow."""
    found = _STATUS.search(error)
    status = int(found[1]) if found else 0
    is_broken = _CONNECTION.search(error) is not None and not _NOT_TLS.search(error)
    may_pass = status in _MAY_PASS if status else is_broken
    return status if may_pass and not (count >= _MOST_SOON and _SOON.search(error)) else None


def parse_retry_after(text: str | None, now: dt.datetime | None = None) -> float | None:
    """Return the number of seconds that a ``Retry-After`` header asks to wait; None if the header is invalid."""
    # RFC 9110, 10.2.3: a number of seconds, or a date.
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) < 12 else math.inf
    with contextlib.suppress(TypeError, ValueError):
        until = email.utils.parsedate_to_datetime(text)
        until = until if until.tzinfo else until.replace(tzinfo=dt.UTC)
        return max(0.0, (until - (now or dt.datetime.now(dt.UTC))).total_seconds())
    return None


def pause_of_upload(response: tuple[Any, Any] | None, attempts: int, **_: Any) -> float | None:
    """Return the pause in seconds before a request with the response 429 is repeated; None for other responses.

    botocore before 1.44 repeats such a request only if the response also contains an error code that botocore lists.
    """
    if response is None or response[0].status_code != 429 or attempts > MOST_UPLOAD_RETRIES:
        return None
    told = parse_retry_after(response[0].headers.get("Retry-After"))
    pause = RANDOM.uniform(0, 2.0 ** (attempts - 1)) if told is None else told
    return min(pause, LONGEST_UPLOAD_PAUSE)


def ask_retry_after(url: str, name: str) -> float | None:
    """Request one byte, and return the number of seconds that the server asks to wait; None if it does not.

    Raise `ResourceError`, about the file `name`, if it asks to wait for too long.
    """
    # obstore does not return the headers of failed requests, so this is a second request.
    code, headers = ask_headers(url)
    seconds = parse_retry_after(headers.get("Retry-After")) if code in BUSY else None
    if seconds is not None and seconds > _LONGEST_WAIT:
        raise ResourceError(
            f"the server is busy, and asks to wait {seconds:,.0f} s before the next request",
            path=name,
            hint="Try again later.",
        )
    return seconds


def ask_headers(url: str) -> tuple[int, Mapping[str, str]]:
    """Request one byte, and return the status code and the headers of the answer; 0 and no headers if there is none."""
    if url.lower().startswith(("http://", "https://")):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            try:
                answer = _OPENER.open(_request(url), timeout=_TIMEOUT)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                return answer.status, answer.headers
    return 0, {}


def _seconds(value: Any) -> float:
    return value.total_seconds() if isinstance(value, dt.timedelta) else float(value)


def _request(url: str) -> urllib.request.Request:
    """Return a request for the first byte of a URL; user and password are sent as a header, as obstore sends them."""
    parts = urlsplit(url)
    headers = {"Range": "bytes=0-0"}
    if "@" in parts.netloc:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    return urllib.request.Request(plain, headers=headers)  # noqa: S310 (see ask_retry_after)


# Without the handler that follows redirects, so that no other server receives the password.
_OPENER = urllib.request.OpenerDirector()
for _handler in (
    urllib.request.ProxyHandler(),
    urllib.request.HTTPHandler(),
    urllib.request.HTTPSHandler(),
    urllib.request.HTTPDefaultErrorHandler(),
    urllib.request.HTTPErrorProcessor(),
):
    _OPENER.add_handler(_handler)
