"""Zarr stores that only read: of any source of a hierarchy, and of a local directory."""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable
from functools import cached_property
from typing import Any, Literal, NoReturn

import zarr
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore

from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import UsageError
from ozx.flow.byte_ranges import requested_span
from ozx.flow.entry import read_part
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.flow.sources.source import Source
from ozx.hierarchy.json.reading import check_value_length
from ozx.store.normalised import NormalisedStore
from ozx.store.sorted_keys import SortedKeys


class ReadOnlyStore(Store):
    """A read-only zarr store of the values that `_read` returns; `name` is the name of the hierarchy, for messages."""

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, name: str) -> None:
        super().__init__(read_only=True)
        self._name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    __hash__ = None  # type: ignore[assignment]  # as every store that compares by value

    @abstractmethod
    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes | None:
        """Return a value, or the requested bytes of it; None for a missing key. Any thread may call this."""

    @abstractmethod
    def _size(self, key: str) -> int | None:
        """Return the length of a value in bytes; None for a missing key. Any thread may call this."""

    @abstractmethod
    def _iter_keys(self) -> Iterable[str]:
        """Return all keys, in any order."""

    @cached_property
    def _keys(self) -> SortedKeys:
        return SortedKeys(self._iter_keys())

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
        return UsageError(f"this store is read-only; {key} was not changed", path=self._name)


class SourceStore(ReadOnlyStore):
    """A read-only zarr store for the values of a source; the caller closes the source."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.name)
        self._source = source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceStore) and self._source is other._source

    __hash__ = None

    def _iter_keys(self) -> Iterable[str]:
        return self._source.iter_keys()

    def _has_key(self, key: str) -> bool:
        return key in self._source

    def _size(self, key: str) -> int | None:
        return self._source.size(key) if key in self._source else None

    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes | None:
        if key not in self._source:
            return None
        if byte_range is None:
            return self._source.read(key)
        return read_part(self._source.part(key, *requested_span(byte_range, self._source.size(key))))


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
