"""Base of zarr stores that read or write an archive through a session: `SessionStore`."""

from __future__ import annotations

import builtins
import os
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from zarr.abc.store import Store

from ozx.errors import ResourceError, UsageError
from ozx.flow.sources.location import Location, format_location, printable_location
from ozx.store.reading import ArchiveSession
from ozx.store.sorted_keys import SortedKeys
from ozx.store.writing import WriteSession

# Open writers: a store pickled and unpickled within one process writes to the same one.
_writing: weakref.WeakValueDictionary[str, WriteSession] = weakref.WeakValueDictionary()


class SessionStore(Store):
    """A zarr store for the values of one session; `mode` is ``r`` for reading, another mode for writing.

    Stores with the same path, mode and `read_only` are equal. An unpickled store reads in any process, but writes only
    in the process that created its session. With `read_only`, the store refuses changes in any mode.
    """

    def __init__(self, path: str, mode: str, *, read_only: bool, session: ArchiveSession | WriteSession) -> None:
        super().__init__(read_only=read_only)
        self.path = path
        self.mode = mode
        self._read = session if isinstance(session, ArchiveSession) else None
        self._write = session if isinstance(session, WriteSession) else None
        self._detached_from: int | None = None

    @property
    def archive_session(self) -> ArchiveSession | None:
        """The session that reads values; None for a store that writes, and for a store whose file still grows."""
        return self._read if self._read is not None and self._read.has_reader else None

    @property
    def write_session(self) -> WriteSession | None:
        """The session that writes values.

        None for a read-only store, and in any process except the writer's process.
        """
        return None if self.read_only else self._write

    @property
    def state(self) -> str:
        """The state of the file of a store with ``live=True`` (see `ozx.open`); ``finished`` for other stores."""
        return "finished" if self._read is None else self._read.state

    def refresh(self) -> bool:
        """For a store with ``live=True``, make new data of the writer visible; return whether data or state changed."""
        return self._read is not None and self._read.refresh()

    def __str__(self) -> str:
        return self._printable if "://" in self.path else format_location(Location(self.path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._printable!r}, mode={self.mode!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionStore) and self._identity() == other._identity()

    __hash__ = None  # type: ignore[assignment]

    @property
    def _printable(self) -> str:
        return printable_location(self.path)

    def _identity(self) -> tuple[str, str, bool]:
        return self.path, self.mode, self.read_only

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_write"] = None
        if self._write is not None:
            state["_detached_from"] = os.getpid()
            state["_token"] = token = self._write.token
            _writing[token] = self._write
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        token = state.pop("_token", None)
        self.__dict__.update(state)
        if token is not None and self._detached_from == os.getpid():
            self._write = _writing.get(token)

    # Opening and closing, called by zarr.

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        self._is_open = True

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is not None and self._write is not None and not self.read_only:
            self._write.abort()
        self.close()

    @property
    def _supports_sync_io(self) -> bool:
        # zarr 3.2 and later read without an event loop where possible; remote files need one to read in parallel.
        return self._read is None or not self._read.is_remote

    # Use of the two kinds of sessions.

    @property
    def _values(self) -> ArchiveSession | WriteSession:
        if self._read is not None:
            return self._read
        if self._write is None:
            raise ResourceError(
                f"the store is written by process {self._detached_from}; this is process {os.getpid()}",
                path=self.path,
                hint="Write from threads of one process, or let each process write a file of its own.",
            )
        return self._write

    def _writer(self) -> WriteSession:
        self._check_writable()
        self._is_open = True
        values = self._values
        if isinstance(values, ArchiveSession):
            raise self._opened_for_reading()
        return values

    def _opened_for_reading(self) -> UsageError:
        return UsageError(
            "the store was opened for reading", path=self._printable, hint='Open it with mode="a" to change it.'
        )

    def _has_key(self, key: str) -> bool:
        return self._values.size(key) is not None

    async def _size(self, key: str) -> int | None:
        self._is_open = True
        if self._read is not None:
            await self._read.ensure_open()
        return self._values.size(key)

    async def _look_up(self, question: Callable[[SortedKeys], builtins.list[str]]) -> builtins.list[str]:
        self._is_open = True
        if self._read is not None:
            await self._read.ensure_open()
        with self._values.keys() as keys:
            return question(keys)
