"""`OzxStore`: the hierarchy in an .ozx file as a zarr Store."""

from __future__ import annotations

import asyncio
import builtins
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Literal

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from ozx.errors import ResourceError, UsageError
from ozx.flow.location import Location, format_location, given_path, parse_location, printable_location
from ozx.store.partial_values import grouped_writes, overwritten
from ozx.store.reading import ArchiveSession, open_source
from ozx.store.sorted_keys import SortedKeys
from ozx.store.writing import WriteOptions, WriteSession

__all__ = ["OzxStore"]

_MODES = ("r", "w", "x", "a")

# Archives being written, so that a store pickled and unpickled within one process writes to the same one.
_writing: weakref.WeakValueDictionary[str, WriteSession] = weakref.WeakValueDictionary()


class OzxStore(Store):
    """The values of an .ozx file by key, for zarr and everything built on it.

    Nothing is opened or locked before the first use. Reading is safe with threads, fork, pickle and process pools; a
    file that is replaced meanwhile gives an error. A writer sets, replaces and deletes keys in any order; `close`, or
    the end of the ``with`` block, makes the file conform to RFC-9: one entry per key, metadata first and
    breadth-first, comment, ZIP64. Until then nothing has the final name, and what is written stands in
    ``NAME.partial``; an exception or a kill leaves it there.

    Parameters
    ----------
    path
        A local .ozx (or other ZIP) file; for reading also a URL (extra ``remote``).
    mode
        ``r`` reads. ``w`` writes a new file, which replaces an existing one at `close`; ``x`` refuses an existing
        one. ``a`` adds to an existing file, or writes a new one: the old file stays until the new one is complete.
    read_only
        True refuses changes through this object, whatever the mode.
    require_ome
        Raise at `close` when the hierarchy has no root ``zarr.json`` with an OME-Zarr version, rather than write it
        as zipped Zarr with a `NotOmeZarrWarning`.
    keep_partial
        Whether what was written is kept as ``NAME.partial`` when an exception ends the ``with`` block.
    sync
        Whether `close` waits until the file is on the disk.
    options
        For URLs: what the object store is told, see `ozx.archive.remote`.

    Raises
    ------
    UsageError
        There is no such mode, only reading makes sense here, or `path` is empty.

    Examples
    --------
    >>> import zarr
    >>> with OzxStore("cells.copy.ozx", mode="w") as store:
    ...     group = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
    ...     group.create_array("0", shape=(4, 4), dtype="uint8")[:] = 7
    >>> int(zarr.open_group(OzxStore("cells.copy.ozx"), mode="r")["0"][0, 0])
    7
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "r",
        *,
        read_only: bool | None = None,
        require_ome: bool = False,
        keep_partial: bool = True,
        sync: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if mode not in _MODES:
            raise UsageError(f"expected one of the modes {', '.join(_MODES)}; got {mode!r}")
        if mode == "r" and read_only is False:
            raise UsageError('mode="r" only reads', hint='Give mode="a" to change a file, mode="w" to write one.')
        name = _file_part(path)
        is_url = "://" in name
        if is_url and mode != "r":
            raise UsageError(
                "remote files are only read", path=printable_location(name), hint="Write a local file, then upload it."
            )
        super().__init__(read_only=mode == "r" if read_only is None else read_only)
        # A link stays a link: what it points to is what is written anew.
        self.path = name if is_url else os.path.abspath(name) if mode == "r" else os.path.realpath(name)
        self.mode = mode
        self._options = WriteOptions(mode == "x", mode == "a", require_ome, keep_partial, sync)
        self._read: ArchiveSession | None = None
        self._write: WriteSession | None = None
        self._detached_from: int | None = None
        if mode == "r":
            self._read = ArchiveSession(open_source(self.path, options))
        else:
            self._write = WriteSession(self.path, self._options)

    def __str__(self) -> str:
        return self._printable if "://" in self.path else format_location(Location(self.path))

    def __repr__(self) -> str:
        return f"OzxStore({self._printable!r}, mode={self.mode!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OzxStore) and self._identity() == other._identity()

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

    # Opening and closing.

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

    def close(self) -> None:
        """Finish what is written, and release the file; a store in mode ``r`` can be used again.

        Raises
        ------
        FormatError
            `require_ome` was given and it is no OME-Zarr; or the file that is added to changed meanwhile. What was
            written stays as ``NAME.partial``.
        """
        super().close()
        if self._write is not None and not self.read_only:
            self._write.close()
        if self._read is not None:
            self._read.close()

    def with_read_only(self, read_only: bool = False) -> OzxStore:  # noqa: FBT001, FBT002 (zarr's signature)
        """Return the same store, with or without the right to change it; it writes to the same file.

        Raises
        ------
        UsageError
            Mode ``r`` cannot be changed into a writing one.
        """
        if self.mode == "r" and not read_only:
            raise _opened_for_reading(self._printable)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._is_open, other._read_only = False, read_only
        return other

    # Reading.

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return a value, or the requested bytes of it, or None where there is no such key."""
        self._is_open = True
        data = self._values.read(key, byte_range)
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return a value, or the requested bytes of it, or None where there is no such key."""
        if self._read is None:
            return self.get_sync(key, prototype=prototype, byte_range=byte_range)
        self._is_open = True
        data = await self._read.read_async(key, byte_range)
        return None if data is None else prototype.buffer.from_bytes(data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return what `get` returns for each key and range, in their order."""
        requests = list(key_ranges)
        if self._read is not None and self._read.is_remote:
            return list(await asyncio.gather(*(self.get(key, prototype, wanted) for key, wanted in requests)))
        return [self.get_sync(key, prototype=prototype, byte_range=wanted) for key, wanted in requests]

    async def exists(self, key: str) -> bool:
        """Tell whether there is a value under `key`."""
        return await self._size(key) is not None

    async def getsize(self, key: str) -> int:
        """Return a value's length in bytes.

        Raises
        ------
        FileNotFoundError
            There is no such key.
        """
        size = await self._size(key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys, in order."""
        for key in await self._look_up(lambda keys: keys.below("")):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with `prefix`, in order."""
        for key in await self._look_up(lambda keys: keys.below(prefix)):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield what stands directly below `prefix`: keys and folders, each once, without the prefix."""
        for child in await self._look_up(lambda keys: list(keys.children(prefix))):
            yield child

    # Writing.

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store a value; what was stored under `key` before is gone then."""
        self._writer().set(key, _bytes_of(value))

    async def set(self, key: str, value: Buffer) -> None:
        """Store a value; what was stored under `key` before is gone then."""
        self.set_sync(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store a value unless there is one."""
        self._writer().set_if_missing(key, _bytes_of(value))

    def delete_sync(self, key: str) -> None:
        """Remove a value; do nothing where there is none."""
        self._writer().delete(key)

    async def delete(self, key: str) -> None:
        """Remove a value; do nothing where there is none."""
        self.delete_sync(key)

    async def delete_dir(self, prefix: str) -> None:
        """Remove everything below a folder."""
        await self.delete_prefix(prefix.rstrip("/") + "/" if prefix.rstrip("/") else "")

    async def clear(self) -> None:
        """Remove everything."""
        await self.delete_prefix("")

    # What Zarr core's abstract store interface has and zarr's Store has not; docs/store.md has the table.

    async def delete_values(self, keys: Iterable[str]) -> None:
        """Remove several values (``erase_values``)."""
        for key in keys:
            self.delete_sync(key)

    async def delete_prefix(self, prefix: str) -> None:
        """Remove every key that begins with `prefix` (``erase_prefix``)."""
        writer = self._writer()
        for key in await self._look_up(lambda keys: keys.below(prefix)):
            writer.delete(key)

    async def set_partial_values(self, key_start_values: Iterable[tuple[str, int, bytes]]) -> None:
        """Write to parts of values: read, modify, write (``set_partial_values``).

        Parameters
        ----------
        key_start_values
            Key, offset and bytes. A missing value counts as empty, and one that is too short grows, with zeros where
            nothing was written.

        Raises
        ------
        UsageError
            Two writes to one key overlap; nothing is written then.
        """
        writer = self._writer()
        for key, pieces in grouped_writes(key_start_values).items():
            writer.update(key, partial(overwritten, pieces=pieces))

    @property
    def supports_writes(self) -> bool:
        """Whether the mode allows writing."""
        return self.mode != "r"

    @property
    def supports_deletes(self) -> bool:
        """Whether the mode allows deleting."""
        return self.mode != "r"

    @property
    def supports_listing(self) -> bool:
        """True."""
        return True

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """False, as of every store of zarr; `set_partial_values` is ours."""
        return False

    @property
    def _supports_sync_io(self) -> bool:
        # zarr 3.2 and later read without an event loop where they can; remote files need one to read in parallel.
        return self._read is None or not self._read.is_remote

    # How the two kinds of sessions are used.

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
            raise _opened_for_reading(self._printable)
        return values

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


def _file_part(path: str | os.PathLike[str]) -> str:
    """Return a path or a remote URL; ``ozx://`` is our own name for a local file."""
    name = given_path(path)
    if not name.startswith("ozx://"):
        return name
    location = parse_location(name)
    if location.node:
        raise UsageError(
            f"a store is a whole file; this is the node {location.node!r} in {location.path}",
            path=name,
            hint="Open the file, and give the node's path to zarr; or use ozx.open.",
        )
    return location.path


def _opened_for_reading(path: str) -> UsageError:
    return UsageError("it was opened for reading", path=path, hint='Open it with mode="a" to change it.')


def _bytes_of(value: Buffer) -> memoryview:
    if not isinstance(value, Buffer):
        raise TypeError(f"OzxStore.set(): `value` must be a Buffer instance. Got an instance of {type(value)} instead.")
    return memoryview(value.as_buffer_like()).cast("B")
