"""The objects below a URL: a directory in a bucket or on a web server.

Object stores list their keys; plain HTTP has no listing. Every answer is compared with the mark of the object at its
first use, so that a change is an error and never wrong bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from ozx.archive.remote.access import access_options
from ozx.archive.remote.errors import changed, explain, missing_extra, printable_url
from ozx.archive.remote.forks import check_not_forked
from ozx.archive.remote.transport import Mark, open_object_store
from ozx.archive.remote.urls import split_url

__all__ = ["RemoteFolder", "RemoteObject"]

#: Number of requests at a time.
REQUESTS = 64
# The number of keys in one answer of a server.
_PAGE = 1000
# Folders are split into their sub-folders until this many can be listed side by side.
_FOLDERS = 16


class RemoteObject(NamedTuple):
    """An object below a folder: its key, and the length and identity to compare answers with."""

    key: str
    mark: Mark

    @property
    def size(self) -> int:
        """The length in bytes."""
        return self.mark.size


class RemoteFolder:
    """The objects below a URL; safe with threads.

    Parameters
    ----------
    url
        ``s3://bucket/key``, ``gs://…``, ``az://…``, ``https://…`` or ``http://…``. A query, such as a signature of a
        container, is part of every request.
    options
        Keyword arguments for obstore, over those of `ozx.archive.remote.access.storage_options`.

    Examples
    --------
    >>> folder = RemoteFolder("https://example.org/cells.zarr/?signature=secret")
    >>> folder.name, folder.can_list, folder.name_of("0/zarr.json")
    ('https://example.org/cells.zarr', False, 'https://example.org/cells.zarr/0/zarr.json')
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        parts = split_url(url)
        self.url = parts._replace(path=parts.path.rstrip("/")).geturl()
        self.name = printable_url(self.url)
        self.requests = self.bytes_read = 0
        self._is_http = parts.scheme in ("http", "https")
        self._options = access_options(parts.scheme, options or {})
        self._lock = threading.Lock()
        self._opened: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["url"], state["options"])  # type: ignore[misc]

    @property
    def can_list(self) -> bool:
        """Whether the server can list keys."""
        return not self._is_http

    def name_of(self, key: str) -> str:
        """Return the URL of an object for messages."""
        return f"{self.name}/{key}"

    def find(self, key: str) -> RemoteObject | None:
        """Return an object by one request for its head, or None if it does not exist.

        Raises
        ------
        ResourceError
            The server cannot be reached, or refuses.
        """
        store, module = self._store()
        self._count()
        try:
            return RemoteObject(key, _mark(module.head(store, key)))
        except FileNotFoundError:
            return None
        except _failures(module) as error:
            failure = explain(error, self.name_of(key))
        raise failure

    def find_all(self, keys: Iterable[str]) -> Iterator[RemoteObject]:
        """Yield the objects of those keys that exist, 64 requests at a time, in the order of the keys."""
        with ThreadPoolExecutor(REQUESTS, "ozx-head") as threads:
            for batch in _batched(keys, 16 * REQUESTS):
                yield from filter(None, threads.map(self.find, batch))

    def read(self, key: str, offset: int = 0, length: int | None = None, expected: Mark | None = None) -> bytes:
        """Return the bytes of an object, or a span of them; `length` None means to the end.

        Raises
        ------
        FormatError
            The object has another mark than `expected` (``zip/changed``).
        KeyError
            There is no such object.
        ResourceError
            The server cannot be reached, or refuses.
        """
        return self.fetch(key, offset, length, expected)[1]

    def fetch(
        self, key: str, offset: int = 0, length: int | None = None, expected: Mark | None = None
    ) -> tuple[RemoteObject, bytes]:
        """Return what `read` returns, and the object it comes from.

        Raises
        ------
        FormatError, KeyError, ResourceError
            As for `read`.
        """
        if length == 0 and expected is not None:
            return RemoteObject(key, expected), b""
        store, module = self._store()
        is_whole = offset == 0 and (length is None or (expected is not None and length == expected.size))
        span: Any = None if is_whole else {"offset": offset} if length is None else (offset, offset + length)
        self._count()
        missing = False
        try:
            result = module.get(store, key, options={} if span is None else {"range": span})
            mark = _mark(result.meta)
            if expected is not None and mark != expected:
                raise changed(self.name_of(key), expected.size, mark.size)
            data = bytes(result.bytes())
            with self._lock:
                self.bytes_read += len(data)
            return RemoteObject(key, mark), data
        except FileNotFoundError:
            missing = True
        except _failures(module) as error:
            failure = explain(error, self.name_of(key))
        if not missing:
            raise failure
        if expected is not None:  # it was there before
            raise changed(self.name_of(key), expected.size, 0)
        raise KeyError(key)

    def missing(self, offset: int, length: int) -> int:
        """Return how many bytes a read would request: all of them."""
        del offset
        return length

    def list_objects(self) -> list[RemoteObject]:
        """Return all objects below the folder, in any order; folders are listed side by side.

        Raises
        ------
        ResourceError
            The server cannot be reached, or refuses; the bucket does not exist.
        """
        pages = self._iter_pages("")
        found = next(pages, [])
        if len(found) < _PAGE or (following := next(pages, None)) is None:
            return found
        del found, following  # there are many: begin again, side by side
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

    def _list_level(self, prefix: str) -> tuple[list[RemoteObject], list[str]]:
        """Return the objects of a folder, and its sub-folders, which remain to be listed."""
        store, module = self._store()
        self._count()
        try:
            result = module.list_with_delimiter(store, prefix or None)
        except _failures(module) as error:
            failure = explain(error, self.name_of(prefix) if prefix else self.name)
        else:
            return list(map(_object, result["objects"])), list(result["common_prefixes"])
        raise failure

    def _list_below(self, prefix: str) -> tuple[list[RemoteObject], list[str]]:
        """Return all objects below a folder, and no sub-folders."""
        return [found for page in self._iter_pages(prefix) for found in page], []

    def _iter_pages(self, prefix: str) -> Iterator[list[RemoteObject]]:
        store, module = self._store()
        try:
            for page in module.list(store, prefix or None, chunk_size=_PAGE):
                self._count()
                yield list(map(_object, page))
        except _failures(module) as error:
            failure = explain(error, self.name_of(prefix) if prefix else self.name)
        else:
            return
        raise failure

    def _store(self) -> tuple[Any, Any]:
        try:
            import obstore  # noqa: PLC0415 (an extra)
            import obstore.exceptions  # noqa: PLC0415
        except ImportError as error:
            raise missing_extra(self.name, error) from None
        check_not_forked(self.name)
        with self._lock:
            if self._opened is None:
                self._opened = open_object_store(self.url, self._options)
            return self._opened, obstore

    def _count(self) -> None:
        with self._lock:
            self.requests += 1


def _mark(meta: Any) -> Mark:
    # Azure quotes ETags in headers and not in listings.
    return Mark(meta["size"], (meta["e_tag"] or "").strip('"') or meta["last_modified"].isoformat())


def _object(meta: Any) -> RemoteObject:
    return RemoteObject(meta["path"], _mark(meta))


def _failures(module: Any) -> tuple[type[Exception], ...]:
    return (module.exceptions.BaseError, OSError)  # obstore raises FileNotFoundError for 404


def _batched(keys: Iterable[str], count: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for key in keys:
        batch.append(key)
        if len(batch) == count:
            yield batch
            batch = []
    if batch:
        yield batch
