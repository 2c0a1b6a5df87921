"""Read the values of a finished archive by key, for `OzxStore`."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from ozx.archive.reader import ArchiveReader
from ozx.errors import ResourceError, UsageError, resource_error
from ozx.ome.comment import parse_comment, warn_of_unknown_keys
from ozx.places.byte_source import ByteSource, read_head_early
from ozx.threads import renew_after_fork
from ozx.zarr.json_reading import check_value_length
from ozx.zarr.keys import SortedKeys

# zarr reads the index at the end of a shard again at every access.
LONGEST_KEPT_SUFFIX = 1 << 20
KEPT_SUFFIXES = 64 << 20
# Finding a name takes some microseconds, and a chunked image is read key by key.
_KEPT_INDICES = 100_000
# Whole shards are read in a thread. If their memory is freed in the event loop, it goes back to the system, which then
# has to map every page again for the next shard (measured in docs/benchmarks.md).
READ_BY_THREAD = 1 << 20


class ArchiveSession:
    """An archive that is read by key, opened on first use; it supports threads, fork and pickle."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self.renew_locks()
        self.forget()
        renew_after_fork(self)

    def forget(self) -> None:
        """Drop all that was read from the archive, because another state of the file is read next."""
        with self._lock:
            self._reader: ArchiveReader | None = None
            self._keys: SortedKeys | None = None
            self._indices: dict[str, int | None] = {}
            self._suffixes: OrderedDict[str, bytes] = OrderedDict()
            self._kept = 0
            self.shard_indexes: dict[Any, Any] = {}  # those that `ozx.store.pixels.plan` keeps

    def renew_locks(self) -> None:
        """Create a new lock, after a fork."""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        return {"source": self.source}

    def __setstate__(self, state: dict[str, ByteSource]) -> None:
        self.__init__(state["source"])  # type: ignore[misc]

    @property
    def has_reader(self) -> bool:
        """Whether the archive is finished, so that `reader` can read all values."""
        return True

    @property
    def state(self) -> str:
        """The state of the archive: always ``finished``, except for the session of a growing file."""
        return "finished"

    def refresh(self) -> bool:
        """Read the data that were added to a growing file; return whether there are any."""
        return False

    @property
    def awaits(self) -> bool:
        """Whether reading waits for requests, which an event loop makes side by side."""
        return hasattr(self.source, "read_view_async")

    @property
    def reader(self) -> ArchiveReader:
        """The reader of the archive, after `ArchiveReader.check`; for a repeated name, the last entry counts."""
        if self._reader is None:
            with self._lock:
                if self._reader is None:
                    self._reader = self._opened()
        return self._reader

    def _opened(self) -> ArchiveReader:
        read_head_early(self.source)
        reader = ArchiveReader(self.source)
        try:
            try:
                reader.check(allow_duplicates=True)
                reader.prefetch_head()
            finally:  # another file under this name, for which a pickled source is not, may look like a broken archive
                self.source.check_unchanged()
            warn_of_unknown_keys(parse_comment(reader.end.comment), self.source.name)
        except FileNotFoundError as error:
            # zarr takes FileNotFoundError for "no such key", and would report a missing group.
            missing = ResourceError("there is no such file", path=self.source.name, hint=resource_error(error).hint)
            missing.errno = errno.ENOENT
            raise missing from None
        except ResourceError:  # it would become its own cause
            raise
        except OSError as error:
            raise resource_error(error) from error
        return reader

    async def ensure_open(self) -> None:
        """Open a remote archive in a thread, so that the event loop is not blocked; do nothing for a local archive."""
        if self._reader is None and self.awaits:
            await asyncio.to_thread(lambda: self.reader)

    def close(self) -> None:
        """Release files and memory; the next access opens the archive again."""
        close = getattr(self.source, "close", None)
        if close is not None:
            close()

    @contextmanager
    def keys(self) -> Iterator[SortedKeys]:
        """Yield all keys, without entries for folders."""
        if self._keys is None:
            self._keys = SortedKeys(name for name in self.reader.columns.names() if not name.endswith("/"))
        yield self._keys

    def find(self, key: str) -> int | None:
        """Return the index of a key's entry; None if there is no such key."""
        try:
            return self._indices[key]
        except KeyError:
            pass
        reader = self.reader
        try:
            index = None if key.endswith("/") else reader.find(key)
        except UnicodeEncodeError:  # a lone surrogate, which no name can hold
            index = None
        if len(self._indices) >= _KEPT_INDICES:
            self._indices.clear()
        self._indices[key] = index
        return index

    def size(self, key: str) -> int | None:
        """Return the length of a value in bytes; None if there is no such key."""
        index = self.find(key)
        return None if index is None else int(self.reader.columns.uncompressed_sizes[index])

    def read(self, key: str, byte_range: ByteRequest | None = None) -> bytes | None:
        """Return the requested bytes of a value; None if there is no such key.

        Raise errors as `ArchiveReader.read` does, and `FormatError` if the file changed (``zip/changed``).
        """
        place = self._place(key, byte_range)
        if place is None:
            return None
        is_suffix = isinstance(byte_range, SuffixByteRequest)
        data = self._kept_suffix(key, place[2]) if is_suffix else None
        if data is None:
            try:
                data = self.reader.read(*place)
            finally:  # another file under this name may look like damage
                self.source.check_unchanged()
            if is_suffix:
                self._keep_suffix(key, data)
        return data

    async def read_async(self, key: str, byte_range: ByteRequest | None = None) -> bytes | None:
        """Return the same result as `read`; make requests and long reads in a thread.

        For short local reads, the hand-over to a thread takes longer than the read.
        """
        if not self.awaits:
            if byte_range is None and (self.size(key) or 0) >= READ_BY_THREAD:
                return await asyncio.to_thread(self.read, key)
            return self.read(key, byte_range)
        await self.ensure_open()
        place = self._place(key, byte_range)
        if place is None:
            return None
        is_suffix = isinstance(byte_range, SuffixByteRequest)
        data = self._kept_suffix(key, place[2]) if is_suffix else None
        if data is None:
            data = await self.reader.read_async(*place)
            if is_suffix:
                self._keep_suffix(key, data)
        return data

    def _place(self, key: str, byte_range: ByteRequest | None) -> tuple[int, int, int] | None:
        """Return the entry of a key, and offset and length of the requested bytes; None if there is no such key."""
        index = self.find(key)
        if index is None:
            return None
        size = int(self.reader.columns.uncompressed_sizes[index])
        check_value_length(size, key)
        return (index, *requested_span(byte_range, size))

    def _kept_suffix(self, key: str, length: int) -> bytes | None:
        data = self._suffixes.get(key)
        return data[len(data) - length :] if data is not None and len(data) >= length else None

    def _keep_suffix(self, key: str, data: bytes) -> None:
        if len(data) > LONGEST_KEPT_SUFFIX:
            return
        with self._lock:
            self._kept += len(data) - len(self._suffixes.pop(key, b""))
            self._suffixes[key] = data
            while self._kept > KEPT_SUFFIXES:
                self._kept -= len(self._suffixes.popitem(last=False)[1])


def requested_span(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return offset and length of the requested bytes of a value of `size` bytes, clipped to the end of the value."""
    if byte_range is None:
        return 0, size
    if isinstance(byte_range, RangeByteRequest):
        start, stop = byte_range.start, byte_range.end
    elif isinstance(byte_range, OffsetByteRequest):
        start, stop = byte_range.offset, size
    elif isinstance(byte_range, SuffixByteRequest):
        _check_not_negative(byte_range.suffix, byte_range)
        start, stop = max(0, size - byte_range.suffix), size
    else:
        raise TypeError(f"Unexpected byte_range, got {byte_range}.")
    _check_not_negative(min(start, stop), byte_range)
    offset = min(start, size)
    return offset, max(0, min(stop, size) - offset)


def _check_not_negative(number: int, byte_range: ByteRequest) -> None:
    if number < 0:
        raise UsageError(f"expected a byte range without negative numbers; got {byte_range}")
