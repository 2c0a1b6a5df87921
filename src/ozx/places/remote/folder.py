"""A directory in a bucket or on a web server, as a folder of objects below one URL.

Object stores list their keys; plain HTTP has no listing. Every response comes with the length and the identity (ETag or
modification time) of the object. A caller that reads an object in parts passes those of the first response: a changed
object then raises an error, never gives wrong bytes.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from ozx.errors import OzxError, ResourceError
from ozx.file_changes import Mark
from ozx.places.remote.access import access_options
from ozx.places.remote.deadline import count_traffic
from ozx.places.remote.errors import changed_error, explain, printable_url
from ozx.places.remote.requests import Requests, is_forked
from ozx.places.remote.urls import split_key_url
from ozx.threads import map_ahead

#: Number of requests at a time.
REQUESTS = 64
# The number of keys in one answer of a server.
_PAGE = 1000
# Folders are split into their sub-folders until this many can be listed at the same time.
_FOLDERS = 16

# S3 makes other ETags for uploads in parts, which contain a hyphen, and for objects with the encryption SSE-KMS or
# SSE-C, which only headers tell.
_MD5 = re.compile("[0-9a-f]{32}", re.IGNORECASE)
# After this many objects with ETags that are no MD5, no more are compared: each costs a second read.
_MOST_OTHERS = 3
_ENCRYPTION = "x-amz-server-side-encryption"


class RemoteFolder:
    """A folder of objects at a URL; thread-safe.

    `url`: ``s3://bucket/key``, ``gs://…``, ``az://…``, ``https://…`` or ``http://…``. A query, such as a signature of a
    container, is part of every request.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        parts = split_key_url(url)
        self.url = parts._replace(path=parts.path.rstrip("/")).geturl()
        self.name = printable_url(self.url)
        self.requests = self.bytes_read = 0
        self._is_http = parts.scheme in ("http", "https")
        self._options = access_options(parts.scheme, options or {})
        self._lock = threading.Lock()
        self._opened: Requests | None = None
        # Whether an ETag was the MD5 of its object, how many were not, and an object that has an MD5 if any object has.
        self._has_md5, self._others, self._doubtful = False, 0, ""

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["url"], state["options"])  # type: ignore[misc]

    @property
    def can_list(self) -> bool:
        """Whether the server can list the keys of the folder."""
        return not self._is_http

    def name_of(self, key: str) -> str:
        """Return the URL of an object for messages."""
        return f"{self.name}/{key}"

    def find(self, key: str) -> Mark | None:
        """Return the mark of an object, or None if it does not exist; make one request for its headers."""
        store = self._store()
        self._count()
        try:
            mark = _mark(store.ask(lambda opened: store.module.head(opened, key), self.name_of(key), key=key))
        except KeyError:
            return None
        count_traffic(0)
        return mark

    def find_all(self, keys: Iterable[str]) -> Iterator[tuple[str, Mark]]:
        """Yield those of the keys that exist, in order, with their marks; make up to 64 requests at a time."""

        def find(key: str) -> tuple[str, Mark | None]:
            return key, self.find(key)

        return ((key, mark) for key, mark in map_ahead(find, keys, REQUESTS) if mark is not None)

    def read(self, key: str, offset: int = 0, length: int | None = None, expected: Mark | None = None) -> bytes:
        """Return the bytes of an object from `offset`, to its end if `length` is None; `KeyError` if it is missing."""
        return self.fetch(key, offset, length, expected)[1]

    def fetch(
        self, key: str, offset: int = 0, length: int | None = None, expected: Mark | None = None
    ) -> tuple[Mark, bytes]:
        """Return the same bytes as `read`, and the mark of their object; compare a whole object with its MD5."""
        mark, data = self._fetch(key, offset, length, expected)

        def again() -> bytes:
            nonlocal data
            data = self._fetch(key, 0, mark.size, mark)[1]
            return md5_of([data])

        if data and offset == 0 and len(data) == mark.size and self.may_have_md5(mark):
            self._compare(key, mark, md5_of([data]), again)
        return mark, data

    def may_have_md5(self, mark: Mark) -> bool:
        """Return whether the ETag of an object may be the MD5 of its bytes."""
        return self._others < _MOST_OTHERS and _MD5.fullmatch(mark.identity) is not None

    def check_md5(self, key: str, mark: Mark, read: bytes, blocks: Callable[[], Iterable[bytes]]) -> None:
        """Compare the MD5 `read` of an object that was read in blocks; `blocks` reads them once more."""

        def again() -> bytes:
            second = md5_of(blocks())
            if second != read:
                raise _damaged_error(self.name_of(key))
            return second

        self._compare(key, mark, read, again)

    def _compare(self, key: str, mark: Mark, read: bytes, again: Callable[[], bytes]) -> None:
        """Compare the MD5 `read` of all bytes of an object with its ETag.

        If they differ, `again` reads the object once more, and returns its MD5 or raises an error. If both reads agree
        with each other only, the ETag may be no MD5. The bytes are then accepted, unless the headers of the object are
        known and tell of no encryption, and the ETag of another object is an MD5.
        """
        tag = mark.identity.lower()
        second = None if read.hex() == tag else again()
        if second is None or second.hex() == tag:
            self._has_md5 = True
            if self._doubtful:
                raise _damaged_error(self._doubtful)
        elif second != read:
            raise _damaged_error(self.name_of(key))
        else:
            self._others += 1
            headers = self._store().headers(key)
            if headers and not _is_encrypted(headers):
                self._doubtful = self.name_of(key)
                if self._has_md5:
                    raise _damaged_error(self._doubtful)

    def _fetch(self, key: str, offset: int, length: int | None, expected: Mark | None) -> tuple[Mark, bytes]:
        if length == 0 and expected is not None:
            return expected, b""
        store = self._store()
        is_whole = offset == 0 and (length is None or (expected is not None and length == expected.size))
        span: Any = None if is_whole else {"offset": offset} if length is None else (offset, offset + length)
        self._count()

        def request(opened: Any) -> tuple[Mark, bytes]:
            result = store.module.get(opened, key, options={} if span is None else {"range": span})
            mark = _mark(result.meta)
            if expected is not None and mark != expected:
                raise changed_error(self.name_of(key), expected.size, mark.size)
            return mark, bytes(result.bytes())

        most = length if expected is None else min(length or expected.size, expected.size)
        try:
            mark, data = store.ask(request, self.name_of(key), most, key)
        except KeyError:
            if expected is None:
                raise
            raise changed_error(self.name_of(key), expected.size, 0) from None  # the object existed before
        self._count(0, len(data))
        count_traffic(len(data))
        return mark, data

    def missing(self, offset: int, length: int) -> int:
        """Return the number of bytes that a read would request, which is always `length`."""
        del offset
        return length

    def list_objects(self) -> list[tuple[str, Mark]]:
        """Return the keys and marks of all objects in the folder and its sub-folders, in any order."""
        pages = self._iter_pages("")
        found = next(pages, [])
        if len(found) < _PAGE or (following := next(pages, None)) is None:
            return found
        del found, following  # there are many objects: list the folders again, several at a time
        found, seen = [], 1
        with ThreadPoolExecutor(_FOLDERS, "ozx-list") as threads:
            pending = {threads.submit(self._list_level, "")}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    objects, folders = future.result()
                    found += objects
                    seen += len(folders)
                    visit = self._list_level if seen < _FOLDERS else self._list_below
                    pending |= {threads.submit(visit, folder) for folder in folders}
        return found

    def _list_level(self, prefix: str) -> tuple[list[tuple[str, Mark]], list[str]]:
        """Return the objects directly in a folder, and the sub-folders that must still be listed."""
        store = self._store()
        self._count()
        name = self.name_of(prefix) if prefix else self.name
        result = store.ask(lambda opened: store.module.list_with_delimiter(opened, prefix or None), name, None)
        count_traffic(0)
        return list(map(_object, result["objects"])), list(result["common_prefixes"])

    def _list_below(self, prefix: str) -> tuple[list[tuple[str, Mark]], list[str]]:
        """Return all objects below a folder; the second list, for its sub-folders, is always empty."""
        return [found for page in self._iter_pages(prefix) for found in page], []

    def _iter_pages(self, prefix: str) -> Iterator[list[tuple[str, Mark]]]:
        store = self._store()
        try:
            for page in store.iter_pages(lambda opened: store.module.list(opened, prefix or None, chunk_size=_PAGE)):
                self._count()
                count_traffic(0)
                yield list(map(_object, page))
        except OzxError:
            raise
        except store.failures as error:
            failure = explain(error, self.name_of(prefix) if prefix else self.name)
        else:
            return
        raise failure

    def _store(self) -> Requests:
        if is_forked():
            raise ResourceError(
                "a directory at a URL cannot be read in a forked process",
                path=self.name,
                hint="Start worker processes by 'spawn' or 'forkserver' instead of 'fork'.",
            )
        with self._lock:
            if self._opened is None:
                self._opened = Requests(self.url, self._options)
            return self._opened

    def _count(self, requests: int = 1, size: int = 0) -> None:
        with self._lock:
            self.requests += requests
            self.bytes_read += size


def _mark(meta: Any) -> Mark:
    # In the listings of some servers, ETags lack the quotes of headers, and times have fractions of seconds.
    tag = str(meta["e_tag"] or "").removeprefix('"').removesuffix('"')
    return Mark(meta["size"], tag or meta["last_modified"].replace(microsecond=0).isoformat())


def _object(meta: Any) -> tuple[str, Mark]:
    return meta["path"], _mark(meta)


def md5_of(blocks: Iterable[bytes]) -> bytes:
    """Return the MD5 of the bytes of all blocks."""
    digest = hashlib.md5(usedforsecurity=False)
    for block in blocks:
        digest.update(block)
    return digest.digest()


def _is_encrypted(headers: Mapping[str, str]) -> bool:
    """Return whether an object is encrypted by SSE-KMS or SSE-C, so that its ETag is no MD5."""
    values = {name.lower(): value for name, value in headers.items()}
    return values.get(_ENCRYPTION, "AES256") != "AES256" or f"{_ENCRYPTION}-customer-algorithm" in values


def _damaged_error(name: str) -> ResourceError:
    """Return the error for an object whose bytes differ from its ETag."""
    return ResourceError(
        "the bytes that arrived do not have the MD5 of the object, which the server gives as its ETag",
        path=name,
        hint="Try again. If the error comes again, a device on the way or the server damages bytes.",
    )
