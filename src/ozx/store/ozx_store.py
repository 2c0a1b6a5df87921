"""Access the hierarchy in an .ozx file as a zarr store: `OzxStore`."""

from __future__ import annotations

import asyncio
import builtins
import os
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any, Literal

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.core.config import BadConfigError

from ozx.errors import ResourceError, UsageError
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.places.place import Place
from ozx.store.pixels.configured import use_pipeline
from ozx.store.reading import ArchiveSession
from ozx.store.writing import RemoteWriteSession, WriteSession
from ozx.zarr.keys import METADATA, SortedKeys

# Write parts of values, an operation of Zarr core's store interface that zarr-python's Store lacks.


def grouped_writes(writes: Iterable[tuple[str, int, bytes]]) -> dict[str, list[tuple[int, bytes]]]:
    """Group writes by key, sorted by offset; those of one key must be apart (Zarr core 3.1, ``set_partial_values``)."""
    grouped: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for key, start, data in writes:
        if start < 0:
            raise UsageError(f"{key}: expected a write at an offset of 0 or more; got {start}")
        grouped[key].append((start, bytes(data)))
    for key, pieces in grouped.items():
        pieces.sort(key=lambda piece: piece[0])
        for (start, data), (following, _) in pairwise(pieces):
            if start + len(data) > following or start == following:
                raise UsageError(
                    f"{key}: the write of {len(data):,} bytes at {start:,} overlaps the write at {following:,}",
                    hint="Join the two writes, or pass them in two calls.",
                )
    return dict(grouped)


def overwritten(value: bytes, pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a copy of `value` with `pieces` written into it, extended if needed; gaps are filled with zeros."""
    result = bytearray(value)
    for start, data in pieces:
        if start > len(result):
            result += bytes(start - len(result))
        result[start : start + len(data)] = data
    return bytes(result)


_MODES = ("r", "w", "x", "a")

# Open writers: a store pickled and unpickled within one process writes to the same one.
_writing: weakref.WeakValueDictionary[str, WriteSession] = weakref.WeakValueDictionary()


class OzxStore(Store):
    """A zarr store of the hierarchy in an .ozx file, for zarr-python and libraries based on it.

    Nothing is opened or locked before the first use. Reading is safe with threads, fork, pickle and process pools; if
    the file is replaced meanwhile, reading raises an error. A writer sets, replaces and deletes keys in any order;
    `close`, or the end of the ``with`` block, makes the file conform to RFC-9: one entry per key, metadata first and
    breadth-first, comment, ZIP64. Until then the file is called ``NAME.partial``; it keeps that name after an exception
    or a kill.

    Methods that read or list raise the errors of `get`; methods that change the store raise the errors of `set`.

    Parameters
    ----------
    path
        A local .ozx (or other ZIP) file; for reading also a URL (extra ``remote``). Modes ``w`` and ``x`` also write to
        ``s3://``: into a temporary file, which `close` uploads.
    mode
        ``r`` reads. ``w`` writes a new file, which replaces an existing one at `close`; ``x`` refuses an existing
        one. ``a`` adds to an existing file, or writes a new one: the old file stays until the new one is complete.
    read_only
        Whether changes through this object are refused, whatever the mode.
    require_ome
        Whether `close` raises an error if the hierarchy has no root ``zarr.json`` with an OME-Zarr version; otherwise
        it writes zipped Zarr, with a `NotOmeZarrWarning`.
    keep_partial
        Whether written data is kept as ``NAME.partial`` when an exception ends the ``with`` block.
    metadata
        ``first``: all metadata is at the start of the file; if it exceeds the reserved space, `close` writes the file
        again. ``last``: metadata that exceeds the space is behind the data, which RFC-9 (R2) does not recommend.
    sync
        Whether `close` waits until the file is on the disk.
    options
        For URLs: settings of the object store, see `ozx.places.remote.source`.
    live
        Whether `path` may be a local file that `ozx.stream` is still writing, given as ``NAME`` or ``NAME.partial``.
        The store has all complete data; `refresh` adds newer data, and `state` shows whether the file is finished.

    Raises
    ------
    UsageError
        The mode does not exist, does not fit `live`, or contradicts `read_only`; `metadata` is invalid; `path` is
        empty or leads to a node; or `path` is a URL that ozx cannot read or, with `mode`, cannot write.

    Examples
    --------
    >>> import zarr
    >>> with OzxStore("cells.copy.ozx", mode="w") as store:
    ...     group = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
    ...     group.create_array("0", shape=(4, 4), dtype="uint8")[:] = 7
    >>> int(zarr.open_group(OzxStore("cells.copy.ozx"), mode="r")["0"][0, 0])
    7
    """

    # Whether the store configures zarr-python; `ozx.open` gives its arrays their pipelines itself.
    brings_pipeline = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "r",
        *,
        read_only: bool | None = None,
        require_ome: bool = False,
        keep_partial: bool = True,
        metadata: str = "first",
        sync: bool = True,
        options: Mapping[str, Any] | None = None,
        live: bool = False,
    ) -> None:
        if not isinstance(mode, str) or mode not in _MODES:
            raise UsageError(f"expected one of the modes {', '.join(_MODES)}; got {mode!r:.100}")
        if mode == "r" and read_only is False:
            raise UsageError('mode="r" only reads', hint='Give mode="a" to change a file, mode="w" to write one.')
        if metadata not in ("first", "last"):
            raise UsageError(f"expected first or last for metadata; got {metadata!r}")
        if live and mode != "r":
            raise UsageError(f"live=True only reads; got mode={mode!r}")
        file = file_part(path) if mode == "r" else Place.output(path, remote=mode != "a")
        is_url = file.is_remote
        # A link stays a link; its target is replaced.
        if live and is_url:
            raise UsageError("live=True reads files on this computer; got a URL", path=Place(file.path).name)
        place = file.full_path() if is_url or mode == "r" else os.path.realpath(file.path)
        super().__init__(read_only=mode == "r" if read_only is None else read_only)
        self.path = place
        self.mode = mode
        self._read: ArchiveSession | None = None
        self._write: WriteSession | None = None
        self._detached_from: int | None = None
        if mode == "r":
            self._read = _reader(place, options, live=live)
        else:
            make = partial(RemoteWriteSession, storage=options) if is_url else WriteSession
            self._write = make(
                place,
                mode,
                require_ome=require_ome,
                keep_partial=keep_partial,
                sync=sync,
                metadata_last=metadata == "last",
            )

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
        place = Place(self.path)
        return place.name if place.is_remote else place.uri

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._printable!r}, mode={self.mode!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether both stores have the same path, mode and `read_only`."""
        return isinstance(other, OzxStore) and self._identity() == other._identity()

    __hash__ = None  # type: ignore[assignment]

    @property
    def _printable(self) -> str:
        return Place(self.path).name

    def _identity(self) -> tuple[str, str, bool]:
        return self.path, self.mode, self.read_only

    # An unpickled store reads in any process, but writes only in the process that created its session.

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
        self._bring_pipeline(METADATA)  # zarr-python 3.4 makes the first array of a new store before it asks for a key

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is not None and self._write is not None and not self.read_only:
            self._write.abort()
        self.close()

    def close(self) -> None:
        """Finish writing and release the file; a store in mode ``r`` can be used again afterwards.

        Raises
        ------
        FormatError
            `require_ome` was given and the hierarchy is not OME-Zarr; or the old file of mode ``a`` has changed. The
            written values stay in ``NAME.partial``.
        ResourceError
            The file cannot be written; the written values stay in ``NAME.partial``. For a full disk, the message states
            the needed and the free space.
        """
        super().close()
        if self._write is not None and not self.read_only:
            self._write.close()
        if self._read is not None:
            self._read.close()

    def with_read_only(self, read_only: bool = False) -> OzxStore:  # noqa: FBT001, FBT002 (zarr's signature)
        """Return another store for the same file; with `read_only`, the new store forbids changes.

        Raises
        ------
        UsageError
            A store in mode ``r`` cannot become writable.
        """
        if self.mode == "r" and not read_only:
            raise self._opened_for_reading()
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._is_open, other._read_only = False, read_only
        return other

    def _bring_pipeline(self, key: str) -> None:
        """Configure zarr-python, which asks for the metadata of a node before it chooses the pipeline of an array."""
        if self.brings_pipeline and is_any_metadata_key(key):
            with suppress(BadConfigError):  # zarr-python raises it again
                use_pipeline()

    @property
    def _supports_sync_io(self) -> bool:
        # zarr 3.2 and later read without an event loop where possible; remote files need one to read in parallel.
        return self._read is None or not self._read.awaits

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

    # Reading.

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

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the same result as `get`, without an event loop.

        Parameters
        ----------
        key, prototype, byte_range
            As for `get`; without `prototype` the buffer is zarr's default one.
        """
        self._is_open = True
        self._bring_pipeline(key)
        data = self._values.read(key, byte_range)
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key.

        Raises
        ------
        FormatError, UnsupportedError
            The file is not a readable archive, or was replaced since it was opened; or the value is damaged, or stored
            in an unsupported way.
        ResourceError
            The file is missing or cannot be read; the extra ``remote`` is missing; or another process writes the file
            through this store.
        UsageError
            The writer has closed the store, or mode ``x`` finds a file.
        """
        if self._read is None:
            return self.get_sync(key, prototype=prototype, byte_range=byte_range)
        self._is_open = True
        self._bring_pipeline(key)
        data = await self._read.read_async(key, byte_range)
        return None if data is None else prototype.buffer.from_bytes(data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the result of `get` for each key and range, in the order of the requests."""
        found = [self.get(key, prototype, wanted) for key, wanted in key_ranges]
        # A local file is read without waiting; a server answers all requests at a time.
        return [await each for each in found] if self._supports_sync_io else list(await asyncio.gather(*found))

    async def exists(self, key: str) -> bool:
        """Return whether `key` has a value."""
        self._bring_pipeline(key)
        return await self._size(key) is not None

    async def getsize(self, key: str) -> int:
        """Return the length of a value in bytes.

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
        """Yield all keys in sorted order."""
        for key in await self._look_up(lambda keys: keys.below("")):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with `prefix`, in sorted order."""
        for key in await self._look_up(lambda keys: keys.below(prefix)):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of keys and folders directly below `prefix`, each once and without the prefix."""
        for child in await self._look_up(lambda keys: list(keys.children(prefix))):
            yield child

    # Writing.

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store a value as `set` does, but without an event loop.

        Parameters
        ----------
        key, value
            As for `set`.
        """
        self._writer().set(key, _bytes_of(value))

    async def set(self, key: str, value: Buffer) -> None:
        """Store a value; replace an existing value of the key.

        Raises
        ------
        ValueError
            The store is read-only.
        UsageError
            `key` is not a valid name of an entry, the store is closed, or mode ``x`` finds a file.
        FormatError, UnsupportedError
            The file that is added to is not a readable archive.
        ResourceError
            Another program or process writes the file; or it cannot be written.
        TypeError
            `value` is not a buffer.
        """
        self.set_sync(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store a value if the key has no value."""
        self._writer().set_if_missing(key, _bytes_of(value))

    def delete_sync(self, key: str) -> None:
        """Delete a value as `delete` does, but without an event loop.

        Parameters
        ----------
        key
            As for `delete`.
        """
        self._writer().delete(key)

    async def delete(self, key: str) -> None:
        """Delete the value of a key, if there is one."""
        self.delete_sync(key)

    async def delete_dir(self, prefix: str) -> None:
        """Delete all values in a folder; `prefix` may end in a slash or not."""
        self._bring_pipeline(METADATA)
        await self.delete_prefix(prefix.rstrip("/") + "/" if prefix.rstrip("/") else "")

    async def clear(self) -> None:
        """Delete all values."""
        await self.delete_prefix("")

    # Operations of Zarr core's abstract store interface that zarr's Store lacks; docs/store.md has the table.

    async def delete_values(self, keys: Iterable[str]) -> None:
        """Delete several values (``erase_values`` of Zarr core).

        Parameters
        ----------
        keys
            Their keys; missing ones are ignored.
        """
        for key in keys:
            self.delete_sync(key)

    async def delete_prefix(self, prefix: str) -> None:
        """Delete all values with keys that begin with `prefix` (``erase_prefix`` of Zarr core).

        Parameters
        ----------
        prefix
            The beginning of the keys, character by character: ``a`` covers ``a/b`` and ``ab``.
        """
        writer = self._writer()
        for key in await self._look_up(lambda keys: keys.below(prefix)):
            writer.delete(key)

    async def set_partial_values(self, key_start_values: Iterable[tuple[str, int, bytes]]) -> None:
        """Write parts of values, by reading and rewriting whole values (``set_partial_values`` of Zarr core).

        Parameters
        ----------
        key_start_values
            Key, offset in bytes, and bytes. A missing value counts as empty. A short value grows; gaps become zeros.

        Raises
        ------
        UsageError
            Two writes to one key overlap, or an offset is negative; nothing is written then.
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
        """Always True."""
        return True

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """Always False, as for every zarr-python store, although `set_partial_values` exists."""
        return False


def _reader(path: str, options: Mapping[str, Any] | None, *, live: bool) -> ArchiveSession:
    if not live:
        return ArchiveSession(Place(path).open(options))
    from ozx.store.live.session import LiveSession  # noqa: PLC0415 (few files grow)

    return LiveSession(path)


def file_part(path: str | os.PathLike[str]) -> Place:
    """Return the file that a location names; raise `UsageError` for a node in it."""
    place = Place.parse(path)
    if place.node:
        raise UsageError(
            f"expected a file; got the node {place.node!r} in {Place(place.path).name}",
            path=place.name,
            hint="Open the file and pass the node's path to zarr, or use ozx.open.",
        )
    return place


def _bytes_of(value: Buffer) -> memoryview:
    if not isinstance(value, Buffer):
        raise TypeError(f"OzxStore.set(): `value` must be a Buffer instance. Got an instance of {type(value)} instead.")
    return memoryview(value.as_buffer_like()).cast("B")
