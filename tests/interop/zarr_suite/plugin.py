"""A plugin for zarr-python's own tests: arrays in memory become arrays in an archive, read and written by ozx.

Before each request that reads, the archive is finished under another name, so that the pixels come from a real file.
"""

from __future__ import annotations

import itertools
import tempfile
import weakref
from pathlib import Path
from typing import Self

import pytest
import zarr.storage
from zarr.core.buffer import Buffer

import ozx
from ozx.archive.byte_source import FileSource
from ozx.store.reading import ArchiveSession
from ozx.store.writing import WriteSession

_numbers = itertools.count()
_folder = tempfile.TemporaryDirectory(prefix="ozx-zarr-suite-", ignore_cleanup_errors=True)
_requests = {"read": 0, "write": 0}


class SuiteStore(ozx.OzxStore):
    """An archive that takes the place of zarr-python's `MemoryStore`."""

    def __init__(self, store_dict: dict[str, Buffer] | None = None, *, read_only: bool = False) -> None:
        super().__init__(_path(), "w", sync=False, keep_partial=False)
        for key, value in (store_dict or {}).items():
            self.set_sync(key, value)
        self._read_only = read_only
        weakref.finalize(self, self._write.abort)

    def with_read_only(self, read_only: bool = False) -> Self:  # noqa: FBT001, FBT002 (zarr-python's own signature)
        """Return a store with the same values."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _read_only=read_only, _is_open=False, _original=self)
        return twin

    async def set(self, key: str, value: Buffer, byte_range: None = None) -> None:
        """Set a value; the method of zarr-python's store in memory has one more argument."""
        del byte_range
        await super().set(key, value)

    @property
    def archive_session(self) -> ArchiveSession:
        """The present values, in a separate archive."""
        _requests["read"] += 1
        path, values = _path(), self._write
        with values.keys() as keys:
            found = {key: values.read(key) for key in keys.below("")}
        with ozx.OzxStore(path, "w", sync=False) as copy:
            for key, value in found.items():
                copy._write.set(key, memoryview(value))
        return ArchiveSession(FileSource(path))

    @property
    def write_session(self) -> WriteSession | None:
        """The session to which values are written."""
        _requests["write"] += 1
        return super().write_session


def _path() -> str:
    return str(Path(_folder.name) / f"{next(_numbers)}.ozx")


def pytest_configure() -> None:
    """Replace the store; the environment names the pipeline, because the tests reset zarr-python's configuration."""
    zarr.storage.MemoryStore = SuiteStore
    zarr.storage._memory.MemoryStore = SuiteStore


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the pipeline was not used."""
    if not all(_requests.values()):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how often the pipeline was used."""
    terminalreporter.write_line(f"requests to the pipeline of ozx: {_requests}")
