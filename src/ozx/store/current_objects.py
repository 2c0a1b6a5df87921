"""The objects of a remote directory as they are when they are read; no read mixes two versions of an object."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from zarr.abc.store import ByteRequest, RangeByteRequest

from ozx.file_changes import Mark
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.flow.sources.remote_objects import find_keys
from ozx.places.remote.errors import changed_error
from ozx.places.remote.folder import RemoteFolder
from ozx.store.reading import requested_span
from ozx.threads import renew_after_fork
from ozx.zarr.json_reading import check_value_length

# About 10 MB. A reader needs the mark of a shard from the read of the shard's index to the reads of its chunks, and
# far fewer shards are read at a time.
_MOST = 1 << 15


class CurrentObjects:
    """The objects below a URL as they are when they are read; a `SourceStore` shows them to zarr.

    A whole value comes from one response, and is the value at that time: new keys and changed metadata are found. From
    the first read of a part of a value, such as the index of a shard, all parts must come from the same object: if its
    length or identity changes, reads of parts raise `FormatError` (``zip/changed``). A new object of this class reads
    the new value. So does a pickled copy, because workers receive such a copy with each task.
    """

    def __init__(self, folder: RemoteFolder) -> None:
        self._folder = folder
        # The lengths and identities of the objects of which parts were read, by key.
        self._marks: OrderedDict[str, Mark] = OrderedDict()
        self.renew_locks()
        renew_after_fork(self)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._folder,)

    def renew_locks(self) -> None:
        """Make a new lock, in a forked process."""
        self._lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CurrentObjects) and self._folder.url == other._folder.url

    __hash__ = None  # type: ignore[assignment]  # as every store that compares by value

    @property
    def name(self) -> str:
        """The URL of the folder without a query."""
        return self._folder.name

    def iter_keys(self) -> Iterable[str]:
        """Return all keys; on a server without listing, only the metadata keys."""
        folder = self._folder
        if folder.can_list:
            return [key for key, _ in folder.list_objects()]
        return find_keys(folder, metadata_only=True).marks

    def size(self, key: str) -> int:
        """Return the length of an object in bytes."""
        return self._find(key).size

    def read(self, key: str) -> bytes:
        """Return an object; raise `FormatError` if it is metadata that is too long."""
        data = self._folder.read(key)
        if is_any_metadata_key(key):
            check_value_length(len(data), key)
        return data

    def read_range(self, key: str, byte_range: ByteRequest) -> bytes:
        """Return the requested bytes of an object."""
        known = self._known(key)
        if isinstance(byte_range, RangeByteRequest):
            size = byte_range.end
        else:
            known = known or self._compared(self._find(key), key)
            size = known.size
        found, data = self._folder.fetch(key, *requested_span(byte_range, size), known)
        self._compared(found, key)
        return data

    def _find(self, key: str) -> Mark:
        found = self._folder.find(key)
        if found is None:
            raise KeyError(key)
        return found

    def _known(self, key: str, found: Mark | None = None) -> Mark | None:
        """Return the mark of an object, or None if it is not known; then remember `found`."""
        with self._lock:
            known = self._marks.pop(key, found)
            if known is not None:
                self._marks[key] = known  # as the last one to be forgotten
            if len(self._marks) > _MOST:
                self._marks.popitem(last=False)
            return known

    def _compared(self, found: Mark, key: str) -> Mark:
        """Return the mark of an object; raise an error if an earlier read of a part found another mark."""
        known = self._known(key, found) or found
        if known != found:
            raise changed_error(self._folder.name_of(key), known.size, found.size)
        return known
