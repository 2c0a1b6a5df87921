"""Read the values of a stream by key, for `OzxStore`: while another process writes the stream, and afterwards."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from zarr.abc.store import ByteRequest

from ozx.errors import PartialFileWarning
from ozx.places.byte_source import FileSource
from ozx.quoting import quote
from ozx.store.live.followed_file import FollowedFile, find_followed
from ozx.store.reading import ArchiveSession, requested_span
from ozx.zarr.json_reading import check_value_length
from ozx.zarr.keys import SortedKeys


class LiveSession(ArchiveSession):
    """An archive that may still be growing, opened on first use.

    Its keys and values change only in `refresh`. Once the file is finished, it is read like any other archive.
    """

    def __init__(self, path: str) -> None:
        super().__init__(FileSource(path.removesuffix(".partial")))
        self._path = path
        self._followed: FollowedFile | None = None
        self._documents: dict[str, bytes] = {}
        self._is_open = False
        self._state = "growing"

    def renew_locks(self) -> None:
        """Create new locks, after a fork."""
        super().renew_locks()
        self._changing = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        return {"path": self._path}

    def __setstate__(self, state: dict[str, str]) -> None:  # type: ignore[override]
        self.__init__(state["path"])  # type: ignore[misc]

    @property
    def state(self) -> str:
        """``growing``, ``finished``, ``unfinished`` or ``removed``, as of the last `refresh`."""
        self._open()
        return self._state

    @property
    def has_reader(self) -> bool:
        """Whether the file is finished, so that `reader` can read it."""
        return self._open() is None

    def refresh(self) -> bool:
        """Read the data that the writer has finished since the last call; return whether the data or the state changed.

        It warns once, with a `PartialFileWarning`, that a stream ended unfinished.
        """
        with self._changing:
            if not self._is_open:
                self._open()
                return True
            followed = self._followed
            if followed is None or not followed.look():
                return False
            self._take(followed)
            return True

    def close(self) -> None:
        """Release files and memory; the next access opens the file again."""
        with self._changing:
            super().close()
            self.source = FileSource(self._path.removesuffix(".partial"))  # the next file may be another one
            followed, self._followed = self._followed, None
            self._is_open = False
            self.forget()
        if followed is not None:
            followed.close()

    def size(self, key: str) -> int | None:
        """Return the length of a value in bytes; None if there is no such key."""
        followed = self._open()
        if followed is None:
            return super().size(key)
        document = self._documents.get(key)
        if document is not None:
            return len(document)
        value = followed.index.values.get(key)
        return None if value is None else value.size

    def read(self, key: str, byte_range: ByteRequest | None = None) -> bytes | None:
        """Return the requested bytes of a value; None if there is no such key."""
        followed = self._open()
        if followed is None:
            return super().read(key, byte_range)
        size = self.size(key)
        if size is None:
            return None
        check_value_length(size, key)
        offset, length = requested_span(byte_range, size)
        document = self._documents.get(key)
        return followed.read(key, offset, length) if document is None else document[offset : offset + length]

    @contextmanager
    def keys(self) -> Iterator[SortedKeys]:
        """Yield all keys, without entries for folders."""
        followed = self._open()
        if followed is None:
            with super().keys() as keys:
                yield keys
            return
        if self._keys is None:
            self._keys = SortedKeys([*self._documents, *followed.index.values])
        yield self._keys

    def _open(self) -> FollowedFile | None:
        """Return the growing file; None if the file is finished."""
        if not self._is_open:
            with self._changing:
                if not self._is_open:
                    followed = find_followed(self._path)
                    self._state = "finished"
                    if followed is not None:
                        self._take(followed)
                    self._is_open = True
        return self._followed

    def _take(self, followed: FollowedFile) -> None:
        self._state = followed.state
        self.source = FileSource(followed.target)
        self.forget()
        self._documents = followed.index.documents
        # Other threads may still read from it: its files are closed when the last reference is gone.
        self._followed = None if followed.state == "finished" else followed
        if followed.state == "unfinished":
            message = f"{followed.target}: the stream ended unfinished. To save the received frames: ozx recover "
            warnings.warn(f"{message}{quote(followed.partial)} OUT.ozx", PartialFileWarning, stacklevel=4)
