"""Read directories as zarr stores, with a limit on the length of metadata."""

from __future__ import annotations

import os
from typing import Any

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore

from ozx.hierarchy.json.reading import check_value_length
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key


class DirectoryStore(LocalStore):
    """A read-only `zarr.storage.LocalStore` that raises `FormatError` for metadata documents above the length limit."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the value of a key, or the requested bytes of the value; None for a missing key.

        Raise `FormatError` for metadata that is too long.
        """
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
        if is_metadata_key(key) or is_legacy_metadata_key(key):
            try:
                length = os.stat(self.root / key).st_size
            except (OSError, ValueError):  # zarr reports it
                return
            check_value_length(length, key)
