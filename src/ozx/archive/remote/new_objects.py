"""Concurrent writing of many objects below a URL: a small object by one request, a larger object in parts."""

from __future__ import annotations

import contextlib
import io
import uuid
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from urllib.parse import quote

from ozx.archive.remote.folder import RemoteFolder
from ozx.archive.remote.s3 import S3Object, was_made
from ozx.archive.remote.upload import Upload
from ozx.archive.remote.urls import check_object_url
from ozx.errors import ResourceError, UsageError

_REQUESTS = 32
# A longer value is uploaded in parts.
_SMALL = 8 << 20
# The largest number of bytes of small values that are sent at the same time.
_ROOM = 128 << 20


class NewObjects:
    """Objects that are being written below a URL."""

    def __init__(self, url: str, *, replace: bool) -> None:
        self._folder = RemoteFolder(url)
        self.url, self.name = self._folder.url, self._folder.name
        # The keys of all requests that have begun.
        self._begun: set[str] = set()
        # All objects of a run have this mark, by which `abort` recognises them.
        self._mark = uuid.uuid4().hex
        self._replace = replace
        check_object_url(self._url_of("x"))
        self._client = S3Object(self._url_of("x"))
        self._threads = ThreadPoolExecutor(_REQUESTS, "ozx-put")
        self._sending: dict[Future[None], int] = {}

    def list_keys(self) -> list[str]:
        """Return the keys of all objects below the URL."""
        return [key for key, _ in self._folder.list_objects()]

    def add(self, key: str, size: int, blocks: Iterable[bytes]) -> None:
        """Write a value of `size` bytes as an object; small values may be complete only after `wait`."""
        if size > _SMALL:
            self._upload(key, size, blocks)
            return
        data = b"".join(blocks)
        self._wait(_REQUESTS - 1, _ROOM - len(data))
        self._sending[self._threads.submit(self._put, key, data)] = len(data)

    def wait(self) -> None:
        """Wait until all values are written; raise the same errors as `add`."""
        self._wait(0, 0)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; ignore missing objects."""
        list(self._threads.map(self._remove, keys))

    def abort(self) -> int:
        """Remove the objects that `add` wrote; return the number of objects that may remain.

        An object without the mark of this run stays: another program wrote it, or the request of `add` failed before
        it replaced the object.
        """
        for future in self._sending:
            future.cancel()
        wait(self._sending)
        self._sending.clear()
        left = set(self._begun)
        # After the first failure the other objects are not tried: each attempt may take as long as all retries.
        with contextlib.suppress(ResourceError):
            for key in self._threads.map(self._withdraw, self._begun):
                left.discard(key)
        return len(left)

    def close(self) -> None:
        """End the threads that send requests."""
        self._threads.shutdown()

    def _upload(self, key: str, size: int, blocks: Iterable[bytes]) -> None:
        with Upload(self._url_of(key), expected=size, force=self._replace, mark=self._mark) as upload:
            self._begun.add(key)
            offset = 0
            for block in blocks:
                upload.write_at(offset, block)
                offset += len(block)

    def _put(self, key: str, data: bytes) -> None:
        client = self._client.at(self._url_of(key))
        self._begun.add(key)
        try:
            client.put(io.BytesIO(data), self._mark, replace=self._replace)
        except (UsageError, ResourceError):
            if not was_made(client, self._mark):  # a lost reply: the object may be there
                raise

    def _withdraw(self, key: str) -> str:
        """Remove an object if this run wrote it; return its key."""
        client = self._client.at(self._url_of(key))
        found = client.find()
        if found is not None and found.mark == self._mark:
            client.remove()
        return key

    def _remove(self, key: str) -> None:
        self._client.at(self._url_of(key)).remove()

    def _url_of(self, key: str) -> str:
        return f"{self.url}/{quote(key)}"

    def _wait(self, most: int, room: int) -> None:
        while self._sending and (len(self._sending) > most or sum(self._sending.values()) > room):
            for future in wait(self._sending, return_when=FIRST_COMPLETED).done:
                del self._sending[future]
                future.result()
