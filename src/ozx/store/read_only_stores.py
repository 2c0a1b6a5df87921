"""Zarr stores that only read: of any source of a hierarchy, and of a local directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import zarr
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore

from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import UsageError
from ozx.flow.entry import read_part
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.flow.sources.source import Source
from ozx.store.normalised import NormalisedStore
from ozx.store.reading import requested_span
from ozx.zarr.json_reading import check_value_length
from ozx.zarr.keys import SortedKeys

if TYPE_CHECKING:
    from ozx.store.current_objects import CurrentObjects


class SourceStore(Store):
    """A read-only zarr store for the values of a source, or of the objects of a folder; the caller closes the source.

    A source that cannot tell cheaply whether a key exists has no ``in``, and one that need not know the size of a value
    to read a range of it has `read_range`.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, source: Source | CurrentObjects) -> None:
        super().__init__(read_only=True)
        self._source: Any = source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceStore) and self._source == other._source

    __hash__ = None  # type: ignore[assignment]  # as every store that compares by value

    def __repr__(self) -> str:
        return f"SourceStore({self._source.name!r})"

    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes | None:
        """Return a value, or the requested bytes of it; None for a missing key. Any thread may call this."""
        source = self._source
        try:
            if byte_range is None:
                data: bytes = source.read(key)
                return data
            read: Callable[[str, ByteRequest], bytes] | None = getattr(source, "read_range", None)
            if read is not None:
                return read(key, byte_range)
            return read_part(source.part(key, *requested_span(byte_range, source.size(key))))
        except KeyError:
            return None

    def _size(self, key: str) -> int | None:
        """Return the length of a value in bytes; None for a missing key. Any thread may call this."""
        try:
            return int(self._source.size(key))
        except KeyError:
            return None

    def _has_key(self, key: str) -> bool:
        """Return False if there is certainly no such key."""
        return not hasattr(self._source, "__contains__") or key in self._source

    @cached_property
    def _keys(self) -> SortedKeys:
        return SortedKeys(self._source.iter_keys())

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the same result as `get`, without an event loop."""
        data = self._read(key, byte_range)
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key."""
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the result of `get` for each key and range, in order."""
        return await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges))

    async def exists(self, key: str) -> bool:
        """Return whether `key` has a value."""
        return await asyncio.to_thread(self._size, key) is not None

    async def getsize(self, key: str) -> int:
        """Return the length of a value in bytes."""
        size = await asyncio.to_thread(self._size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys."""
        for key in await asyncio.to_thread(lambda: self._keys.below("")):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with `prefix`."""
        for key in await asyncio.to_thread(lambda: self._keys.below(prefix)):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of keys and folders directly below a node."""
        for name in await asyncio.to_thread(lambda: self._keys.children(prefix)):
            yield name

    async def set(self, key: str, value: Buffer) -> NoReturn:
        """Raise an error, because this store is read-only."""
        del value
        raise self._refusal(key)

    async def delete(self, key: str) -> NoReturn:
        """Raise an error, because this store is read-only."""
        raise self._refusal(key)

    def _refusal(self, key: str) -> UsageError:
        return UsageError(f"this store is read-only; {key} was not changed", path=self._source.name)


def open_source_group(source: Source, zarr_format: Literal[2, 3]) -> zarr.Group:
    """Return the root group of a source as a read-only zarr group; ignore consolidated metadata."""
    store: Store = SourceStore(source)
    if zarr_format == 3:
        store = NormalisedStore(store)
    with refused_by_zarr("the root"):
        return zarr.open_group(store, mode="r", zarr_format=zarr_format, use_consolidated=False)


class DirectoryStore(LocalStore):
    """A `zarr.storage.LocalStore` that raises `FormatError` for metadata documents above the length limit."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key."""
        self._check_length(key)
        return await super().get(key, prototype, byte_range)

    def get_sync(self, key: str, **options: Any) -> Buffer | None:
        """Return the same result as `get`, without an event loop."""
        self._check_length(key)
        found: Buffer | None = super().get_sync(key, **options)
        return found

    def _has_key(self, key: str) -> bool:
        return (self.root / key).is_file()

    def _check_length(self, key: str) -> None:
        if is_any_metadata_key(key):
            try:
                length = os.stat(self.root / key).st_size
            except (OSError, ValueError):  # zarr reports it
                return
            check_value_length(length, key)
