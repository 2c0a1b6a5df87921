"""Serve values by HTTP, as a whole or in ranges.

RFC 9110, 14.2: an invalid range is ignored; a range beyond the end is answered with 416.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus

from ozx.desktop.viewer.loopback import Answer, Request

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def answer_range(
    request: Request, etag: str, size: int, iterate: Callable[[int, int], Iterator[bytes]], content_type: str
) -> Answer:
    """Return a response with `size` bytes or the requested range; `iterate(offset, length)` yields blocks of bytes."""
    headers = {"Accept-Ranges": "bytes", "ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Answer(HTTPStatus.NOT_MODIFIED, headers=headers)
    found = None
    if request.headers.get("if-range", etag) == etag:
        found = _RANGE.fullmatch(request.headers.get("range", ""))
    if found is None or found[0] == "bytes=-" or (found[1] and found[2] and int(found[2]) < int(found[1])):
        return Answer(HTTPStatus.OK, iterate(0, size), content_type, headers, size)
    start = int(found[1]) if found[1] else max(0, size - int(found[2]))
    stop = min(size, int(found[2]) + 1) if found[1] and found[2] else size
    if start >= stop:
        headers["Content-Range"] = f"bytes */{size}"
        return Answer(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return Answer(HTTPStatus.PARTIAL_CONTENT, iterate(start, stop - start), content_type, headers, stop - start)


def value_type(key: str) -> str:
    """Return the media type of the value of a key.

    Examples
    --------
    >>> value_type("0/zarr.json"), value_type("0/c/0/0")
    ('application/json', 'application/octet-stream')
    """
    is_json = key.endswith((".json", ".zattrs", ".zarray", ".zgroup"))
    return "application/json" if is_json else "application/octet-stream"
