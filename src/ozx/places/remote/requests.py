"""Requests to one URL, repeated after random, growing pauses, or after the pause in the header ``Retry-After``.

obstore repeats requests, too, but does not pass on this header (docs/decisions/0009-remote-by-obstore.md). obstore runs
on threads that a forked child does not have: the child's first call would wait forever, so forks are noticed.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from ozx.errors import OzxError
from ozx.file_changes import Mark
from ozx.places.byte_source import MemorySource
from ozx.places.remote.cache import Record
from ozx.places.remote.deadline import DEADLINE, Deadline, call_in_time
from ozx.places.remote.errors import changed_error, explain, folder_error, printable_url
from ozx.places.remote.object_store import import_obstore, open_object_store
from ozx.places.remote.retries import BUSY, SILENT, ask_headers, ask_retry_after, pause_after, retry_limits

_T = TypeVar("_T")

# obstore's messages if a server does not answer a suffix range as expected, for example for an empty file.
_UNCLEAR = ("status code: 416", "ContentRange", "NotPartial")
# Filled in a child whose parent had loaded obstore, for ozx or for zarr-python's own object store.
_FORKED: list[bool] = []


def _note_fork() -> None:
    if not _FORKED and any(name in sys.modules for name in ("obstore", "obstore._obstore")):
        _FORKED.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def is_forked() -> bool:
    """Return whether this process was forked from a process that had loaded obstore."""
    return bool(_FORKED)


# If a longer answer breaks off, obstore itself requests the missing bytes. Requests for shorter answers are repeated by
# `Requests.run`, which can follow the header Retry-After.
_LONG = 32 << 20
# How long a signed URL is valid. It serves only to request the header Retry-After of a busy server.
_SIGNED_FOR = timedelta(seconds=60)


class Requests:
    """Requests for the object or folder at a URL, and for what is below it, with repetitions; thread-safe.

    Each process needs its own. Errors are raised outside of the ``except`` blocks: inside, Python would attach
    obstore's errors, which quote the URL with its query, as ``__context__``, which logs and pickled errors contain.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self.name = printable_url(url)
        self.module = import_obstore(self.name)
        #: The types of the errors that obstore raises; FileNotFoundError stands for 404.
        self.failures: tuple[type[Exception], ...] = (self.module.exceptions.BaseError, OSError)
        self.unsupported: type[Exception] = self.module.exceptions.NotSupportedError
        self._url, self._options = url, dict(options)
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._patient: Any = None
        self._deadline: Deadline | None = self._options.get(DEADLINE)
        self._store = open_object_store(url, self._options, repeats=False)
        self._limits = retry_limits(options)
        # Times of time.monotonic. The pause that the server sets for one request applies to all requests.
        self._not_before = self._not_asked_before = 0.0

    def run(self, request: Callable[[Any], _T], length: int | None = 0) -> _T:
        """Call `request` with obstore's store and return the result; repeat the request after temporary failures.

        `length` is the number of requested bytes, or None for a whole object.
        """
        store = self._store_for(length)
        begun, waited = time.monotonic(), 0.0
        for count in itertools.count():
            waited += self._sleep(self._not_before - time.monotonic())
            error: Exception
            try:
                return call_in_time(partial(request, store), self._deadline, self.name)
            except OzxError:
                raise
            except self.failures as failure:
                error = failure
            pause = self._pause(error, count, time.monotonic() - begun - waited)
            if pause is None:
                break
            waited += self._sleep(pause)
        raise error

    async def run_async(self, request: Callable[[Any], Awaitable[_T]], length: int = 0) -> _T:
        """Return the same result as `run`, without blocking the event loop."""
        store = self._store_for(length)
        begun, waited = time.monotonic(), 0.0
        for count in itertools.count():
            waited += await asyncio.to_thread(self._sleep, rest) if (rest := self._rest()) > 0 else 0.0
            error: Exception
            is_late = False
            try:
                if self._deadline is None:
                    return await request(store)
                async with asyncio.timeout(self._deadline.left()) as limit:
                    return await request(store)
            except OzxError:
                raise
            except TimeoutError as failure:
                is_late, error = limit.expired(), failure
            except self.failures as failure:
                error = failure
            if self._deadline is not None and (is_late or not self._deadline.left()):
                raise self._deadline.error(self.name)
            pause = await asyncio.to_thread(self._pause, error, count, time.monotonic() - begun - waited)
            if pause is None:
                break
            waited += await asyncio.to_thread(self._sleep, pause)
        raise error

    def ask(self, request: Callable[[Any], _T], name: str, length: int | None = 0, key: str | None = None) -> _T:
        """Return the same result as `run`; errors are those of ozx, about the file `name`.

        If a `key` is given and nothing exists at the URL, raise a `KeyError` with this key.
        """
        try:
            return self.run(request, length)
        except OzxError:
            raise
        except self.failures as error:
            is_missing = key is not None and isinstance(error, FileNotFoundError)
            failure = KeyError(key) if is_missing else explain(error, name)
        raise failure

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Record:
        """Return up to `length` bytes from `offset`, or the last `length` bytes if `offset` is None."""
        span: Any = {"suffix": length} if offset is None else (offset, offset + length)

        def request(store: Any) -> Record:
            result = self.module.get(store, "", options={"range": span})
            mark = self._compare(result.meta, expected)
            return Record(mark, (MemorySource(memoryview(result.bytes()), start=result.range[0]),))

        try:
            return self.run(request, length)
        except OzxError:
            raise
        except self.failures as error:
            unclear = isinstance(error, self.unsupported) or any(word in str(error) for word in _UNCLEAR)
            is_missing = isinstance(error, FileNotFoundError)
            failure = explain(error, self.name)
        if offset is None and unclear:
            return self._fetch_end(length, expected)
        raise folder_error(self.name) if offset is None and is_missing and self.has_children() else failure

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Record:
        """Return the same result as `fetch`, without blocking the event loop."""

        async def request(store: Any) -> Record:
            result = await self.module.get_async(store, "", options={"range": (offset, offset + length)})
            mark = self._compare(result.meta, expected)
            return Record(mark, (MemorySource(memoryview(await result.bytes_async()), start=result.range[0]),))

        try:
            return await self.run_async(request, length)
        except OzxError:
            raise
        except self.failures as error:
            failure = explain(error, self.name)
        raise failure

    def close(self) -> None:
        """Do nothing: obstore closes idle connections itself."""

    def _fetch_end(self, length: int, expected: Mark | None) -> Record:
        """Return the last bytes of a file; use no suffix range, which fails for empty files and on some servers."""
        mark = self.ask(lambda store: self._compare(self.module.head(store, ""), expected), self.name)
        start = max(0, mark.size - length)
        return self.fetch(start, mark.size - start, mark) if mark.size else Record(mark, (MemorySource(b""),))

    def _compare(self, meta: Any, expected: Mark | None) -> Mark:
        # Compare before the body is read, so that a changed file is not downloaded. If-Match would do the same, but
        # accepts no weak ETag (RFC 9110, 13.1.1), and servers without ETags do not support it.
        mark = Mark(meta["size"], meta["e_tag"] or meta["last_modified"].isoformat())
        if expected is not None and mark != expected:
            raise changed_error(self.name, expected.size, mark.size)
        return mark

    def iter_pages(self, listing: Callable[[Any], Iterator[_T]]) -> Iterator[_T]:
        """Yield the pages of a listing; obstore repeats failed requests itself."""
        pages = iter(listing(self._store_for(None)))
        end = object()
        while True:
            page: Any = call_in_time(lambda: next(pages, end), self._deadline, self.name)
            if page is end:
                return
            yield page

    def has_children(self) -> bool:
        """Return whether objects exist below the URL; False if the server cannot list them."""
        if self._url.lower().startswith(("http://", "https://")):
            return False
        try:
            return bool(next(self.iter_pages(lambda store: self.module.list(store, chunk_size=1)), None))
        except self.failures:
            return False

    def _store_for(self, length: int | None) -> Any:
        if length is not None and length <= _LONG:
            return self._store
        with self._lock:
            if self._patient is None:
                self._patient = open_object_store(self._url, self._options)
            return self._patient

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the headers of an object, which obstore does not show; none if the server does not answer."""
        return ask_headers(self._http_url(key))[1]

    def _http_url(self, key: str) -> str:
        """Return the URL of an object below the store's root for plain HTTP, or an empty string."""
        parts = urlsplit(self._url)._replace(fragment="")
        if parts.scheme.lower() in ("http", "https"):
            return parts._replace(path=f"{parts.path}/{quote(key)}").geturl() if key else parts.geturl()
        if str(self._options.get("skip_signature", "")).lower() in ("true", "1"):
            return ""
        try:
            return str(self.module.sign(self._store, "GET", key, _SIGNED_FOR))
        except Exception:  # noqa: BLE001 (obstore's own kinds; a guess at the time serves as well)
            return ""

    def _rest(self) -> float:
        return self._not_before - time.monotonic()

    def _sleep(self, seconds: float) -> float:
        """Wait for this number of seconds, and return it; raise the error of the deadline if this comes earlier."""
        if seconds <= 0:
            return 0.0
        if self._deadline is not None and seconds >= self._deadline.left():
            time.sleep(self._deadline.left())
            raise self._deadline.error(self.name)
        time.sleep(seconds)
        return seconds

    def _pause(self, error: Exception, count: int, spent: float) -> float | None:
        """Return the number of seconds until the next attempt, or None if the request is not repeated."""
        found = pause_after(str(error), count, spent, self._limits)
        if found is None:
            return None
        status, pause = found
        if status in BUSY and self._wait_as_told():
            return 0.0  # `run` waits until `_not_before`
        # Without time for another attempt, the error of this attempt says more than the error of the deadline.
        return None if self._deadline is not None and pause >= self._deadline.left() else pause

    def _wait_as_told(self) -> bool:
        """Ask the server how long to wait, unless its last answer is still valid; return whether it named a time."""
        with self._asking:
            if self._rest() > 0:
                return True
            if time.monotonic() < self._not_asked_before:
                return False
            seconds = ask_retry_after(self._http_url(""), self.name)
            if seconds is None or seconds <= 0:
                self._not_asked_before = time.monotonic() + SILENT
                return False
            self._not_before = time.monotonic() + seconds
            return True
