"""Expose a source (an `ozx.flow.sources.source.Source`) as a zarr store, so that zarr-python can read its pixels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from functools import cached_property
from typing import Literal, NoReturn

import zarr
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype

from ozx.errors import UsageError
from ozx.flow.byte_ranges import requested_span
from ozx.flow.entry import read_part
from ozx.flow.sources.source import Source
from ozx.store.image_view import refused_by_zarr
from ozx.store.normalised import NormalisedStore
from ozx.store.sorted_keys import SortedKeys


def open_source_group(source: Source, zarr_format: Literal[2, 3]) -> zarr.Group:
    """Return the root group of a source as a read-only zarr group; ignore consolidated metadata."""
    store: Store = SourceStore(source)
    if zarr_format == 3:
        store = NormalisedStore(store)
    with refused_by_zarr("the root"):
        return zarr.open_group(store, mode="r", zarr_format=zarr_format, use_consolidated=False)


class SourceStore(Store):
    """A read-only zarr store for the values of a source; the caller closes the source."""

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, source: Source) -> None:
        super().__init__(read_only=True)
        self._source = source

    def __repr__(self) -> str:
        return f"SourceStore({self._source.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceStore) and self._source is other._source

    __hash__ = None  # type: ignore[assignment]  # as every store that compares by value

    @cached_property
    def _keys(self) -> SortedKeys:
        return SortedKeys(self._source.iter_keys())

    def _has_key(self, key: str) -> bool:
        return key in self._source

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key."""
        if key not in self._source:
            return None
        if byte_range is None:
            return prototype.buffer.from_bytes(self._source.read(key))
        offset, length = requested_span(byte_range, self._source.size(key))
        return prototype.buffer.from_bytes(read_part(self._source.part(key, offset, length)))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the result of `get` for each key and range, in order."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Return whether `key` has a value."""
        return key in self._source

    async def getsize(self, key: str) -> int:
        """Return the length of a value in bytes."""
        if key not in self._source:
            raise FileNotFoundError(key)
        return self._source.size(key)

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys."""
        for key in self._source.iter_keys():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with `prefix`."""
        for key in self._keys.below(prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of keys and folders directly below a node."""
        for name in self._keys.children(prefix):
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
