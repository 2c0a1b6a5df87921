"""A plugin for zarr-python's own tests: all arrays are `ozx.Array`, and those in memory stand in an archive.

Before each request that reads, the archive is finished under another name, so that the pixels come from a real file.
"""

import itertools
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest
import zarr.storage
from numpy.typing import NDArray
from zarr.core.buffer import Buffer, cpu

import ozx
from ozx.places.byte_source import FileSource
from ozx.store.reading import ArchiveSession
from ozx.store.writing import WriteSession

_numbers = itertools.count()
_folder = tempfile.TemporaryDirectory(prefix="ozx-zarr-suite-", ignore_cleanup_errors=True)
_requests = {"read": 0, "write": 0, "read without zarr-python": 0, "write without zarr-python": 0}


class SuiteStore(ozx.OzxStore):
    """An archive that takes the place of zarr-python's `MemoryStore`."""

    #: Whether an array is about to write, so that it takes the session that writes.
    is_written = False

    def __init__(self, store_dict: dict[str, Buffer] | None = None, *, read_only: bool = False) -> None:
        super().__init__(_path(), "w", sync=False, keep_partial=False)
        for key, value in (store_dict or {}).items():
            self.set_sync(key, value)
        self._is_open = False  # setting opens a store
        self._read_only = read_only
        weakref.finalize(self, self._write.abort)

    def with_read_only(self, read_only: bool = False) -> Self:  # noqa: FBT001, FBT002 (zarr-python's own signature)
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _read_only=read_only, _is_open=False, _original=self)
        return twin

    async def set(self, key: str, value: Buffer, byte_range: None = None) -> None:
        """Set a value; the method of zarr-python's store in memory has one more argument."""
        del byte_range
        await super().set(key, value)

    @property
    def _store_dict(self) -> dict[str, Buffer]:
        """All values, as the dictionary that zarr-python's store in memory has."""
        with self._write.keys() as keys:
            found = [*keys.below("")]
        return {key: cpu.Buffer.from_bytes(self._write.read(key) or b"") for key in found}

    @property
    def archive_session(self) -> ArchiveSession | None:
        """The present values, in a separate archive."""
        if SuiteStore.is_written:
            return None
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
        _requests["write"] += 1
        return super().write_session


class SuiteArray(ozx.Array):
    """An array that takes the place of `zarr.Array`; each request reads the archive of the present values."""

    def __class_getitem__(cls, kind: object) -> type[Self]:
        """Return the class for an annotation like ``Array[Any]``."""
        del kind
        return cls

    def _read(self, selections: Sequence[Any], out: NDArray[Any] | None = None) -> list[NDArray[Any]] | None:
        self._access = None
        found = super()._read(selections, out)
        _requests["read without zarr-python"] += found is not None
        return found

    def _write(self, selection: Any, value: Any) -> bool:
        self._access, SuiteStore.is_written = None, True
        try:
            is_written = super()._write(selection, value)
        finally:
            SuiteStore.is_written = False
        _requests["write without zarr-python"] += is_written
        return is_written


def _path() -> str:
    return str(Path(_folder.name) / f"{next(_numbers)}.ozx")


def pytest_configure() -> None:
    """Replace store and array; the environment names the pipeline, because the tests reset zarr-python's settings."""
    SuiteStore.__name__ = "MemoryStore"  # as the tests expect in messages
    replaced = {"MemoryStore": (zarr.storage.MemoryStore, SuiteStore), "Array": (zarr.Array, SuiteArray)}
    for name, module in [*sys.modules.items()]:
        for attribute, (original, ours) in replaced.items():
            if name.partition(".")[0] == "zarr" and getattr(module, attribute, None) is original:
                setattr(module, attribute, ours)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the pipeline was not used."""
    if not all(_requests.values()):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"requests to the pipeline of ozx: {_requests}")
