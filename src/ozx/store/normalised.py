"""Convert valid metadata of a store to a form that zarr-python can read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, NoReturn, Self

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import WrapperStore

from ozx.errors import OzxError, UsageError
from ozx.places.place import Place
from ozx.store.extension_groups import understands_opening
from ozx.store.reading import ArchiveSession, requested_span
from ozx.zarr.keys import METADATA, PLAIN_FILES, is_metadata_key, join_path, node_of
from ozx.zarr.normalisation import normalise_document


class NormalisedStore(WrapperStore[Store]):
    """A read-only view of a store, with every ``zarr.json`` converted to a form that zarr-python can read.

    Byte ranges and sizes of a ``zarr.json`` refer to the converted document. All other values are unchanged.
    """

    read_only = True  # even if the wrapped store is writable
    supports_writes = supports_deletes = False

    def __repr__(self) -> str:
        return f"NormalisedStore({self._store!r})"

    # Reading

    @property
    def archive_session(self) -> ArchiveSession | None:
        """The archive that the wrapped store reads, if that store returns the archive's values unchanged; else None."""
        return getattr(self._store, "archive_session", None)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key."""
        if not is_metadata_key(key):
            return await self._store.get(key, prototype, byte_range)
        return self._shown(key, await self._store.get(key, prototype), prototype, byte_range)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the same result as `get`, without an event loop."""
        read: Any = getattr(self._store, "get_sync", None)
        if read is None:
            raise TypeError(f"Store {type(self._store).__name__} does not support synchronous get.")
        if prototype is None:
            prototype = default_buffer_prototype()
        is_metadata = is_metadata_key(key)
        value: Buffer | None = read(key, prototype=prototype, byte_range=None if is_metadata else byte_range)
        return self._shown(key, value, prototype, byte_range) if is_metadata else value

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the requested bytes of several values, in the order of the requests."""
        return await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges))

    def get_ranges(self, key: str, byte_ranges: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield several byte ranges of one value as they arrive (zarr-python 3.2 and later)."""
        found: AsyncIterator[Any] = self._ranges("get_ranges", key, byte_ranges, options)
        return found

    def get_ranges_sync(self, key: str, byte_ranges: Any, **options: Any) -> Any:
        """Return several byte ranges of one value (zarr-python 3.4 and later)."""
        return self._ranges("get_ranges_sync", key, byte_ranges, options)

    def _ranges(self, method: str, key: str, byte_ranges: Any, options: dict[str, Any]) -> Any:
        given = {name: value for name, value in options.items() if value is not None}
        if is_metadata_key(key):
            return getattr(Store, method)(self, key, byte_ranges, **given)  # built on get
        return getattr(self._store, method)(key, byte_ranges, **given)

    _get_many = Store._get_many  # noqa: SLF001 (it calls get; the one of the wrapped store would not)

    async def getsize(self, key: str) -> int:
        """Return the length of a value in bytes; for metadata, the length after conversion."""
        return await (Store.getsize(self, key) if is_metadata_key(key) else self._store.getsize(key))

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of keys and folders directly below a node, except plain files and folders of these alone."""
        # zarr-python takes every name for a node: members() and tree() warn about each that is none.
        folders = {key.partition("/")[0] for key in PLAIN_FILES}
        async for name in self._store.list_dir(prefix):
            key = join_path(prefix, name)
            if key in PLAIN_FILES or (key in folders and not await self._store.exists(f"{key}/{METADATA}")):
                continue
            yield name

    def _shown(
        self, key: str, value: Buffer | None, prototype: BufferPrototype, byte_range: ByteRequest | None
    ) -> Buffer | None:
        if value is None:
            return None
        stored = value.to_bytes()
        try:
            shown = normalise_document(stored, node_of(key), understands_opening)
        except OzxError as error:
            path = getattr(self._store, "path", None)
            raise error if path is None else error.at(Place(path).name) from None
        if byte_range is None and shown is stored:
            return value
        offset, length = requested_span(byte_range, len(shown))
        return prototype.buffer.from_bytes(shown[offset : offset + length])

    # Nothing is written

    def with_read_only(self, read_only: bool = False) -> Self:  # noqa: FBT001, FBT002 (zarr's signature)
        """Return a copy of this read-only store; raise `UsageError` unless `read_only` is true."""
        if not read_only:
            self._check_writable()
        return self._with_store(self._store)

    def _check_writable(self) -> NoReturn:
        raise UsageError(
            "this store is read-only",
            hint='Write with ozx.OzxStore(path, mode="a").',
        )

    async def _refuse(self, *_: Any, **__: Any) -> None:
        """Raise `UsageError`, because this store is read-only."""
        self._check_writable()

    set = set_if_not_exists = _set_many = delete = delete_dir = clear = _refuse

    def set_sync(self, *_: Any, **__: Any) -> None:
        """Raise `UsageError`, because this store is read-only."""
        self._check_writable()

    delete_sync = set_sync
