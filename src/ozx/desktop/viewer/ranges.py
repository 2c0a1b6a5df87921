"""Serve values by HTTP, as a whole or in ranges.

RFC 9110, 14.2: an invalid range is ignored; a range beyond the end is answered with 416.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus

import zarr
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from ozx.archive.names.decoding import name_fault
from ozx.desktop.viewer.loopback import Answer, Request, refusal

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class StoreValues:
    """The values below a zarr group, by keys relative to the group; `etag` changes with the values.

    Examples
    --------
    >>> import ozx
    >>> values = StoreValues(ozx.open("cells.ozx"), '"1"')
    >>> values.answer("0/zarr.json", Request("GET", "", headers={"range": "bytes=0-0"})).status.value
    206
    """

    def __init__(self, group: zarr.Group, etag: str) -> None:
        self._store = group.store
        self._prefix = f"{group.path}/" if group.path else ""
        self._etag = etag

    def answer(self, key: str, request: Request) -> Answer:
        """Return a response with the value of `key`, or the requested range of it; 404 if there is no such key."""
        where = f"{self._prefix}{key}"
        # Invalid names of entries may lead out of a directory.
        if name_fault(key) or not sync(self._store.exists(where)):
            return refusal(HTTPStatus.NOT_FOUND, "there is no such key")
        size = sync(self._store.getsize(where))

        def iter_value(offset: int, length: int) -> Iterator[bytes]:
            wanted = None if (offset, length) == (0, size) else RangeByteRequest(offset, offset + length)
            value = sync(self._store.get(where, default_buffer_prototype(), wanted))
            yield b"" if value is None else value.to_bytes()

        return answer_range(request, self._etag, size, iter_value, value_type(key))


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
