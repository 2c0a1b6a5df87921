"""Read a remote directory as a zarr store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import cached_property
from typing import NoReturn

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from ozx.archive.remote.folder import RemoteFolder
from ozx.errors import UsageError
from ozx.flow.byte_ranges import requested_span
from ozx.flow.sources.found_keys import find_keys
from ozx.hierarchy.json.limits import check_value_length
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key
from ozx.store.sorted_keys import SortedKeys

__all__ = ["RemoteDirectoryStore"]


class RemoteDirectoryStore(Store):
    """A read-only zarr store of the objects below a URL; each object is requested when it is read.

    Parameters
    ----------
    folder
        The directory.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, folder: RemoteFolder) -> None:
        super().__init__(read_only=True)
        self._folder = folder

    def __repr__(self) -> str:
        return f"RemoteDirectoryStore({self._folder.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteDirectoryStore) and self._folder.url == other._folder.url

    __hash__ = None  # type: ignore[assignment]  # as every store that compares by value

    @cached_property
    def _keys(self) -> SortedKeys:
        """All keys; on a server without listing, only the metadata keys."""
        folder = self._folder
        objects = folder.list_objects() if folder.can_list else find_keys(folder, metadata_only=True).objects
        return SortedKeys([found.key for found in objects])

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the same result as `get`, without an event loop."""
        try:
            data = self._read(key, byte_range)
        except KeyError:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(data)

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
        return await asyncio.to_thread(self._folder.find, key) is not None

    async def getsize(self, key: str) -> int:
        """Return the length of a value in bytes.

        Raises
        ------
        FileNotFoundError
            There is no such key.
        """
        found = await asyncio.to_thread(self._folder.find, key)
        if found is None:
            raise FileNotFoundError(key)
        return found.size

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys; on a server without listing, only the metadata keys."""
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
        """Raise an error, because this store is read-only.

        Raises
        ------
        UsageError
            Always.
        """
        del value
        raise self._refusal(key)

    async def delete(self, key: str) -> NoReturn:
        """Raise an error, because this store is read-only.

        Raises
        ------
        UsageError
            Always.
        """
        raise self._refusal(key)

    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes:
        folder = self._folder
        if isinstance(byte_range, SuffixByteRequest | OffsetByteRequest):
            found = folder.find(key)
            if found is None:
                raise KeyError(key)
            offset, length = requested_span(byte_range, found.size)
            return folder.read(key, offset, length, found.mark)
        if isinstance(byte_range, RangeByteRequest):
            offset, length = requested_span(byte_range, byte_range.end)
            return folder.read(key, offset, length)
        data = folder.read(key)
        if is_metadata_key(key) or is_legacy_metadata_key(key):
            check_value_length(len(data), key)
        return data

    def _refusal(self, key: str) -> UsageError:
        return UsageError(f"this store is read-only; {key} was not changed", path=self._folder.name)
