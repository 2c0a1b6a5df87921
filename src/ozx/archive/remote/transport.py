"""Requests for parts of one remote file; detection of forked processes, in which obstore does not work.

obstore runs on threads that a forked child does not have: the child's first call would wait forever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ozx.archive.byte_source import MemorySource
from ozx.archive.remote.cache import Record
from ozx.archive.remote.errors import changed_error, explain, folder_error
from ozx.archive.remote.retries import Requests
from ozx.errors import OzxError
from ozx.marks import Mark

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


class ObstoreTransport:
    """A transport that makes requests with obstore in this process; each process needs its own.

    Its errors are raised outside of the ``except`` blocks, see `Requests.ask`.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._store = Requests(url, options)
        self._name = self._store.name
        self._module = self._store.module

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Record:
        """Return up to `length` bytes from `offset`, or the last `length` bytes if `offset` is None."""
        span: Any = {"suffix": length} if offset is None else (offset, offset + length)

        def request(store: Any) -> Record:
            result = self._module.get(store, "", options={"range": span})
            mark = self._compare(result.meta, expected)
            return Record(mark, (MemorySource(memoryview(result.bytes()), start=result.range[0]),))

        try:
            return self._store.run(request, length)
        except OzxError:
            raise
        except self._store.failures as error:
            unclear = isinstance(error, self._store.unsupported) or any(word in str(error) for word in _UNCLEAR)
            is_missing = isinstance(error, FileNotFoundError)
            failure = explain(error, self._name)
        if offset is None and unclear:
            return self._fetch_end(length, expected)
        raise folder_error(self._name) if offset is None and is_missing and self._store.has_children() else failure

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Record:
        """Return the same result as `fetch`, without blocking the event loop."""

        async def request(store: Any) -> Record:
            result = await self._module.get_async(store, "", options={"range": (offset, offset + length)})
            mark = self._compare(result.meta, expected)
            return Record(mark, (MemorySource(memoryview(await result.bytes_async()), start=result.range[0]),))

        try:
            return await self._store.run_async(request, length)
        except OzxError:
            raise
        except self._store.failures as error:
            failure = explain(error, self._name)
        raise failure

    def close(self) -> None:
        """Do nothing: obstore closes idle connections itself."""

    def _fetch_end(self, length: int, expected: Mark | None) -> Record:
        """Return the last bytes of a file; use no suffix range, which fails for empty files and on some servers."""
        mark = self._store.ask(lambda store: self._compare(self._module.head(store, ""), expected), self._name)
        start = max(0, mark.size - length)
        return self.fetch(start, mark.size - start, mark) if mark.size else Record(mark, (MemorySource(b""),))

    def _compare(self, meta: Any, expected: Mark | None) -> Mark:
        # Compare before the body is read, so that a changed file is not downloaded. If-Match would do the same, but
        # accepts no weak ETag (RFC 9110, 13.1.1), and servers without ETags do not support it.
        mark = Mark(meta["size"], meta["e_tag"] or meta["last_modified"].isoformat())
        if expected is not None and mark != expected:
            raise changed_error(self._name, expected.size, mark.size)
        return mark
