"""Requests for parts of a remote file; the only module that imports obstore."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from ozx.archive.remote.access import allows_http
from ozx.archive.remote.errors import changed, explain, explain_options, missing_extra, printable_url
from ozx.archive.remote.profiles import profile_options

__all__ = ["Answer", "Mark", "ObstoreTransport", "Transport", "open_object_store"]

# obstore ends every request after 30 seconds, too short for a large shard on a slow line: a request may take long, but
# not pause for long. obstore repeats a request ten times in three minutes; the limit is shorter here, so that a wrong
# host name fails soon.
_CLIENT_OPTIONS = {"timeout": "1h", "read_timeout": "30s", "connect_timeout": "10s"}
_RETRY_CONFIG = {
    "max_retries": 10,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
}

# obstore's messages if a suffix range gets another answer, as for an empty file.
_UNCLEAR = ("status code: 416", "ContentRange", "NotPartial")


class Mark(NamedTuple):
    """Identity of the file from which a response comes."""

    size: int  # length of the whole file
    identity: str  # its ETag, else the time of its last modification, else nothing


class Answer(NamedTuple):
    """A response: bytes of a file from `offset` on, and the identity of the file."""

    offset: int
    data: bytes | memoryview
    mark: Mark


class Transport(Protocol):
    """Interface of the requests to a server; each process needs its own transport."""

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Answer:
        """Return up to `length` bytes from `offset`, or the last `length` bytes if `offset` is None.

        Raises
        ------
        FormatError
            The file has another mark than `expected` (``zip/changed``).
        ResourceError
            The server refuses the bytes.
        """

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Answer:
        """Return the same result as `fetch`, without blocking the event loop."""

    def close(self) -> None:
        """Release all resources of the transport."""


class ObstoreTransport:
    """A transport that makes requests with obstore in this process.

    obstore's errors quote the URL with its query. Ours are raised outside of the ``except`` blocks: inside, Python
    would attach obstore's as ``__context__``, which logs and pickled errors contain.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        try:
            import obstore  # noqa: PLC0415 (an extra)
            import obstore.exceptions  # noqa: PLC0415
        except ImportError as error:
            raise missing_extra(printable_url(url), error) from None
        self._name = printable_url(url)
        self._module = obstore
        # obstore raises FileNotFoundError for 404.
        self._failures = (obstore.exceptions.BaseError, OSError)
        self._unsupported = obstore.exceptions.NotSupportedError
        self._store = open_object_store(url, options)

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Answer:
        """Fetch bytes with obstore; see `Transport.fetch`.

        Raises
        ------
        FormatError, ResourceError
            As for `Transport.fetch`.
        """
        span: Any = {"suffix": length} if offset is None else (offset, offset + length)
        try:
            result = self._module.get(self._store, "", options={"range": span})
            mark = self._compare(result.meta, expected)
            return Answer(result.range[0], bytes(result.bytes()), mark)
        except self._failures as error:
            unclear = isinstance(error, self._unsupported) or any(word in str(error) for word in _UNCLEAR)
            failure = explain(error, self._name)
        if offset is None and unclear:
            return self._fetch_end(length, expected)
        raise failure

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Answer:
        """Fetch bytes with obstore; see `Transport.fetch_async`.

        Raises
        ------
        FormatError, ResourceError
            As for `Transport.fetch`.
        """
        try:
            result = await self._module.get_async(self._store, "", options={"range": (offset, offset + length)})
            mark = self._compare(result.meta, expected)
            return Answer(result.range[0], memoryview(await result.bytes_async()), mark)
        except self._failures as error:
            failure = explain(error, self._name)
        raise failure

    def close(self) -> None:
        """Do nothing: obstore closes idle connections itself."""

    def _fetch_end(self, length: int, expected: Mark | None) -> Answer:
        """Return the last bytes of a file that is empty, or whose server does not support suffix ranges."""
        try:
            mark = self._compare(self._module.head(self._store, ""), expected)
        except self._failures as error:
            failure = explain(error, self._name)
        else:
            start = max(0, mark.size - length)
            return self.fetch(start, mark.size - start, mark) if mark.size else Answer(0, b"", mark)
        raise failure

    def _compare(self, meta: Any, expected: Mark | None) -> Mark:
        # Before the body is read, so that a changed file is not downloaded. If-Match would do the same, but accepts no
        # weak ETag (RFC 9110, 13.1.1), and servers without ETags do not know it.
        mark = Mark(meta["size"], meta["e_tag"] or meta["last_modified"].isoformat())
        if expected is not None and mark != expected:
            raise changed(self._name, expected.size, mark.size)
        return mark


def open_object_store(url: str, options: Mapping[str, Any]) -> Any:
    """Return an obstore store with the object or folder as its root, so that the URL is requested unchanged.

    Raises
    ------
    UsageError
        The URL and the options do not fit together.
    """
    from obstore.store import HTTPStore, from_url  # noqa: PLC0415

    scheme = urlsplit(url).scheme.lower()
    client_options = _CLIENT_OPTIONS | ({"allow_http": True} if allows_http(scheme, options) else {})
    client_options |= dict(options.get("client_options") or {})
    retry_config = _RETRY_CONFIG | dict(options.get("retry_config") or {})
    of_profile = profile_options(options) if scheme in ("s3", "s3a") else {}
    arguments = {**of_profile, **options, "client_options": client_options, "retry_config": retry_config}
    # `from_url` takes https://bucket.s3.amazonaws.com/… for S3 and looks for credentials; an https:// URL, signed or
    # public, is requested unchanged.
    make: Any = HTTPStore.from_url if scheme in ("http", "https") else from_url
    try:
        return make(url, **arguments)
    except Exception as error:  # noqa: BLE001 (obstore raises TypeError, ValueError and its own kinds)
        failure = explain_options(error, printable_url(url))
    raise failure  # outside, as in ObstoreTransport
