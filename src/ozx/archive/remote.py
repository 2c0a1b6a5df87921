"""An archive behind a URL, read by range requests: the only module that imports obstore.

obstore is imported at the first use of a `RemoteSource`, and nothing is asked of the server before. That first use is
one request for the last MiB; it also tells the length, and the mark by which a change of the file is noticed. Why
obstore, and what may be asked for what, stands in docs/decisions/0009-remote-by-obstore.md.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from ozx.archive.remote_errors import changed, explain, explain_options, missing_extra, printable_url
from ozx.errors import UsageError

__all__ = ["SCHEMES", "Answer", "Mark", "RemoteSource", "Transport", "is_remote", "open_transport"]

SCHEMES = ("https", "http", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")

# What the first request brings: the whole directory of an archive of some thousand entries.
_TAIL = 1 << 20
# What `remember` keeps at most.
_HEAD_LIMIT = 64 << 20

# obstore ends every request after 30 seconds, in which a slow line does not bring a large shard: a request may take
# long here, but not stand still. Its own limits for repeating a request, ten times in three minutes, are shortened so
# that a wrong host name is an error before its user gives up.
_CLIENT_OPTIONS = {"timeout": "1h", "read_timeout": "30s", "connect_timeout": "10s"}
_RETRY_CONFIG = {
    "max_retries": 10,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
}

# What obstore says where a suffix range is not answered by one, as it cannot be where the file is empty.
_UNCLEAR = ("status code: 416", "ContentRange", "NotPartial")


class Mark(NamedTuple):
    """What tells whether two answers speak of the same bytes.

    Attributes
    ----------
    size
        Length of the whole file.
    identity
        Its ETag, else the time of its last modification, else nothing.
    """

    size: int
    identity: str


class Answer(NamedTuple):
    """Bytes from `offset` of a file that `mark` describes."""

    offset: int
    data: bytes
    mark: Mark


class Transport(Protocol):
    """What carries requests to the server; belongs to one process."""

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Answer:
        """Return up to `length` bytes from `offset`, or the last `length` where `offset` is None.

        Raises
        ------
        FormatError
            The file has another mark than `expected` (``zip/changed``).
        ResourceError
            The server does not give the bytes.
        """

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Answer:
        """Return what `fetch` returns."""

    def close(self) -> None:
        """Let go of what the transport holds."""


class _OfProcess:
    """What a process may not share with those it forks: a lock and a transport."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.transport: Transport | None = None


class _Known(NamedTuple):
    """What the first answer told; the bytes from `tail_offset` to the end are `tail`."""

    mark: Mark
    tail_offset: int
    tail: bytes


class RemoteSource:
    """An object behind a URL as a source of bytes; safe with threads, event loops, fork and pickle.

    Every answer is compared with the first one, so that a file that changes is an error and never wrong bytes.

    Parameters
    ----------
    url
        ``https://``, ``http://``, ``s3://bucket/key``, ``gs://bucket/key`` or ``az://container/key``. Characters are
        escaped as in any URL (``%20``).
    options
        Keyword arguments for obstore: `client_options` and `retry_config` for every scheme; for object stores also
        their configuration, such as ``{"region": "eu-central-1", "skip_signature": True}``.

    Attributes
    ----------
    name
        The URL without its query, in which a signature may stand.
    requests
        How many requests were made; repetitions after a failure are not counted.

    Examples
    --------
    >>> source = RemoteSource("https://example.org/cells.ozx?signature=secret")
    >>> source.name, source.requests
    ('https://example.org/cells.ozx', 0)
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        try:
            parts = urlsplit(url)
        except ValueError as error:  # http://[
            raise UsageError(f"expected a URL; {error}", path=printable_url(url)) from None
        if parts.scheme.lower() not in SCHEMES or not parts.netloc:
            raise UsageError(
                f"expected a URL that begins with https://, http://, s3://, gs:// or az://; got {printable_url(url)!r}"
            )
        self.url = url
        self.name = printable_url(url)
        self.requests = 0
        self._options = dict(options or {})
        self._expected: Mark | None = None
        self._known: _Known | None = None
        self._head: tuple[int, bytes] = (0, b"")
        self._of_process = _OfProcess()

    def __getstate__(self) -> dict[str, Any]:
        # A copy asks for the tail itself, and finds what the original found or raises.
        return {"url": self.url, "options": self._options, "expected": self._mark()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["url"], state["options"])  # type: ignore[misc]
        self._expected = state["expected"]

    def size(self) -> int:
        """Return the length in bytes, as it was when the source was first used."""
        return self._first().mark.size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`, by one request at most; fewer only where the file ends.

        Raises
        ------
        FormatError
            The file changed (``zip/changed``).
        ResourceError
            The server cannot be reached, does not give the bytes, or knows no ranges; or obstore is not installed.
        """
        remembered, ask = self._look(self._first(), offset, length)
        if ask == 0:
            return remembered
        self._count()
        return self._transport().fetch(offset, ask, self._mark()).data + remembered

    async def read_at_async(self, offset: int, length: int) -> bytes:
        """Return what `read_at` returns, without blocking the event loop."""
        known = self._known
        if known is None:
            known = await asyncio.to_thread(self._first)
        remembered, ask = self._look(known, offset, length)
        if ask == 0:
            return remembered
        self._count()
        return (await self._transport().fetch_async(offset, ask, known.mark)).data + remembered

    def remember(self, offset: int, length: int) -> None:
        """Read up to 64 MiB of these bytes by one request, and serve later reads inside of them from memory."""
        length = min(length, _HEAD_LIMIT)
        if self._look(self._first(), offset, length)[1]:
            self._head = (offset, self.read_at(offset, length))

    def check_unchanged(self) -> None:
        """Do nothing: every answer was compared with the first when it came."""

    def close(self) -> None:
        """Let go of connections and remembered bytes; a later read begins anew, and expects the same file."""
        self._expected, self._known, self._head = self._mark(), None, (0, b"")
        transport, self._of_process = self._of_process.transport, _OfProcess()
        if transport is not None:
            transport.close()

    def _mark(self) -> Mark | None:
        return self._expected if self._known is None else self._known.mark

    def _first(self) -> _Known:
        """Make the first request unless it was made."""
        known = self._known
        if known is not None:
            return known
        transport = self._transport()
        with self._own().lock:
            if self._known is None:
                self.requests += 1
                offset, data, mark = transport.fetch(None, _TAIL, self._expected)
                self._known = _Known(mark, offset, data)
            return self._known

    def _look(self, known: _Known, offset: int, length: int) -> tuple[bytes, int]:
        """Return how many bytes to ask for from `offset`, and what is remembered of the end behind them."""
        stop = min(offset + length, known.mark.size)
        if stop <= offset:
            return b"", 0
        for start, data in ((known.tail_offset, known.tail), self._head):
            if start <= offset and stop <= start + len(data):
                return data[offset - start : stop - start], 0
        ask = min(stop, known.tail_offset) if offset < known.tail_offset else stop
        return known.tail[: stop - ask], ask - offset

    def _own(self) -> _OfProcess:
        if self._of_process.pid != os.getpid():
            self._of_process = _OfProcess()
        return self._of_process

    def _transport(self) -> Transport:
        own = self._own()
        with own.lock:
            if own.transport is None:
                own.transport = open_transport(self.url, self._options)
            return own.transport

    def _count(self) -> None:
        with self._own().lock:
            self.requests += 1


def is_remote(path: str) -> bool:
    """Tell whether `path` is a URL that a `RemoteSource` takes.

    Examples
    --------
    >>> is_remote("s3://bucket/cells.ozx"), is_remote("cells.ozx")
    (True, False)
    """
    scheme, separator, _ = path.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def open_transport(url: str, options: Mapping[str, Any]) -> Transport:
    """Return what carries requests from this process: obstore itself where it works here, else a helping process."""
    if _FORKED:
        from ozx.archive.remote_helper import HelperTransport  # noqa: PLC0415 (few programs fork)

        return HelperTransport(url, options)
    return _ObstoreTransport(url, options)


# obstore runs on threads that a forked child does not have: there its first call would wait forever. The list is
# filled in a child whose parent had loaded obstore, be it for us or for zarr-python's own object store.
_FORKED: list[bool] = []


def _note_fork() -> None:
    if not _FORKED and any(name in sys.modules for name in ("obstore", "obstore._obstore")):
        _FORKED.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class _ObstoreTransport:
    """Requests made by obstore in this process.

    obstore's errors quote the URL with its query. Ours are raised outside of the ``except`` blocks: inside, Python
    would hang obstore's on them as ``__context__``, where logs and programs that pickle whole errors find it.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        try:
            import obstore  # noqa: PLC0415 (an extra)
            import obstore.exceptions  # noqa: PLC0415
        except ImportError as error:
            raise missing_extra(printable_url(url), error) from None
        self._name = printable_url(url)
        self._module = obstore
        # FileNotFoundError is what obstore raises for 404.
        self._failures = (obstore.exceptions.BaseError, OSError)
        self._unsupported = obstore.exceptions.NotSupportedError
        self._store = _open_store(url, options)

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Answer:
        """Fulfil `Transport.fetch`."""
        wanted: Any = {"suffix": length} if offset is None else (offset, offset + length)
        try:
            result = self._module.get(self._store, "", options={"range": wanted})
            mark = self._compare(result.meta, expected)
            return Answer(result.range[0], bytes(result.bytes()), mark)
        except self._failures as error:
            unclear = isinstance(error, self._unsupported) or any(word in str(error) for word in _UNCLEAR)
            failure = explain(error, self._name)
        if offset is None and unclear:
            return self._fetch_end(length, expected)
        raise failure

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Answer:
        """Fulfil `Transport.fetch_async`."""
        try:
            result = await self._module.get_async(self._store, "", options={"range": (offset, offset + length)})
            mark = self._compare(result.meta, expected)
            return Answer(result.range[0], bytes(await result.bytes_async()), mark)
        except self._failures as error:
            failure = explain(error, self._name)
        raise failure

    def close(self) -> None:
        """Do nothing: obstore closes its connections when they are idle."""

    def _fetch_end(self, length: int, expected: Mark | None) -> Answer:
        """Return the last bytes where the server knows no suffix ranges (Azure does not), or the file is empty."""
        try:
            mark = self._compare(self._module.head(self._store, ""), expected)
        except self._failures as error:
            failure = explain(error, self._name)
        else:
            start = max(0, mark.size - length)
            return self.fetch(start, mark.size - start, mark) if mark.size else Answer(0, b"", mark)
        raise failure

    def _compare(self, meta: Any, expected: Mark | None) -> Mark:
        # Before the body is read: what changed is not downloaded. If-Match would say the same, but takes no weak ETag
        # (RFC 9110, 13.1.1), and servers without ETags do not know it.
        mark = Mark(meta["size"], meta["e_tag"] or meta["last_modified"].isoformat())
        if expected is not None and mark != expected:
            raise changed(self._name, expected.size, mark.size)
        return mark


def _open_store(url: str, options: Mapping[str, Any]) -> Any:
    """Return obstore's store whose root is the object itself, so that the URL is asked for as it stands."""
    from obstore.store import HTTPStore, from_url  # noqa: PLC0415

    scheme = urlsplit(url).scheme.lower()
    client_options = _CLIENT_OPTIONS | ({"allow_http": True} if scheme == "http" else {})
    client_options |= dict(options.get("client_options") or {})
    retry_config = _RETRY_CONFIG | dict(options.get("retry_config") or {})
    arguments = {**options, "client_options": client_options, "retry_config": retry_config}
    # `from_url` takes https://bucket.s3.amazonaws.com/… for S3 and looks for credentials; what is given as https://,
    # signed or public, is asked for as it stands.
    make: Any = HTTPStore.from_url if scheme in ("http", "https") else from_url
    try:
        return make(url, **arguments)
    except Exception as error:  # noqa: BLE001 (obstore raises TypeError, ValueError and its own kinds)
        failure = explain_options(error, printable_url(url))
    raise failure  # outside, as in _ObstoreTransport
