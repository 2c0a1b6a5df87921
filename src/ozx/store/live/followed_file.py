"""Follow the file of a stream that another process writes, until the file is finished or abandoned."""

from __future__ import annotations

import errno
import os
import threading
import time
from typing import Self

from ozx.archive.writer import local_header
from ozx.atomic.locks import has_locks, is_free, still_has_name
from ozx.atomic.temporary import name_beside
from ozx.crc32 import crc32
from ozx.errors import FormatError, ResourceError, UnsupportedError
from ozx.file_changes import modified
from ozx.places.positional_reading import READ, PositionalFile, divided
from ozx.quoting import quote
from ozx.store.growing_file import Slot
from ozx.store.live.index import Index, index_of
from ozx.zarr.keys import ROOT_METADATA

_PARTIAL = ".partial"
# A file may get another name between two steps.
_TRIES = 3
# A writer that has removed its file adds its last record to the index within this many seconds.
_PATIENCE = 1.0
_STEP = 0.02


class NothingYetError(ResourceError):
    """Error for a stream that has begun, but has no complete frame yet."""

    @classmethod
    def of(cls, target: str) -> Self:
        """Return the error for a file."""
        hint = "Try again in a moment. Frames appear when their shard is complete; smaller shards are complete earlier."
        return cls("no frame is complete yet", path=target, hint=hint)


class FollowedFile:
    """``NAME.partial``, open for reading without taking the lock of its writer."""

    def __init__(self, partial: str) -> None:
        self.partial = partial
        self.state = "growing"
        self._file = PositionalFile(partial)
        self._descriptor = self._file.descriptor()  # opened now: the file will have another name
        self.index = Index(index_of(partial))
        self._checked: set[str] = set()
        self._looking = threading.Lock()
        self.look()

    @property
    def target(self) -> str:
        """The path of the finished file."""
        return os.path.join(os.path.dirname(self.partial), self.index.name)

    @property
    def has_index(self) -> bool:
        """Whether the index belongs to this file, and not to an earlier file with the same name."""
        return self.index.inode == os.fstat(self._descriptor).st_ino

    def look(self) -> bool:
        """Read the records that were added to the index; return whether records were added or the file ended."""
        with self._looking:
            if self.state != "growing":
                return False
            is_left = is_free(self._descriptor)  # first: a writer that ends later is seen at the next look
            is_new = self.index.look()
            if is_left and not self._has_end() and not still_has_name(self._descriptor, self.partial):
                self._wait_for_end()
            if self._has_end():
                self.state = "finished" if self.index.end is None else self.index.end
            elif is_left:
                self.state = "unfinished"
            return is_new or self.state != "growing"

    def read(self, key: str, offset: int, length: int) -> bytes:
        """Return a part of a listed value; check the whole value before its first part is returned."""
        value = self.index.values[key]
        if key not in self._checked:
            self._check(key, value)
            self._checked.add(key)
        return self._file.read_at(value.data_offset + offset, length)

    def close(self) -> None:
        """Close the files."""
        self.index.close()
        self._file.close()

    def _check(self, key: str, value: Slot) -> None:
        header, checksum = self._file.read_at(value.offset, value.header_length), 0
        for start, length in divided(value.data_offset, value.size, READ):
            checksum = crc32(self._file.read_at(start, length), checksum)
        if checksum != value.crc32 or header != local_header(value.raw_name, value.flags, value.crc32, value.size):
            raise FormatError(
                f"{key}: the bytes read from the file are not the bytes that its writer wrote",
                path=self.partial,
                rule="zip/crc",
                hint="On a network file system, new bytes may arrive late: read again in a moment.",
            )

    def _has_end(self) -> bool:
        return self.index.end is not None or still_has_name(self._descriptor, self.target)

    def _wait_for_end(self) -> None:
        """Wait a moment for the last index record of a writer that removed ``NAME.partial``.

        The writer removes this file if it discards the stream, or after it wrote a second file with the final name.
        """
        end = time.monotonic() + _PATIENCE
        while self.index.end is None and time.monotonic() < end:
            time.sleep(_STEP)
            self.index.look()


def find_followed(path: str) -> FollowedFile | None:
    """Return a stream's unfinished file, given its final or partial name; None if the finished file must be read."""
    target = path.removesuffix(_PARTIAL)
    partial = path if path != target else name_beside(target, _PARTIAL)
    for _ in range(_TRIES):
        found = _open(partial, target, is_named=path == partial)
        if found is not None:
            return found
        if os.path.exists(target):
            return None
    if not os.path.exists(partial):
        missing = ResourceError("there is no such file", path=target, hint=f"There is no {partial} either.")
        missing.errno = errno.ENOENT
        raise missing
    if not os.path.getsize(partial):  # its writer has just begun
        raise NothingYetError.of(target)
    raise ResourceError(
        "it has no index, so it cannot be read while it grows",
        path=partial,
        hint="Only ozx.stream writes the index that readers need. Wait until the writer closes the file; if the writer "
        "was killed, run ozx recover.",
    )


def _open(partial: str, target: str, *, is_named: bool) -> FollowedFile | None:
    """Return the unfinished file if it exists; ignore an abandoned file that is older than the finished file.

    With `is_named`, the caller named the unfinished file itself, so that it is not ignored.
    """
    if os.path.lexists(partial) and not has_locks():
        if os.path.exists(target):
            return None
        raise UnsupportedError(
            "this system has no file locks, which show whether a file is still being written",
            path=partial,
        )
    try:
        found = FollowedFile(partial)
    except FileNotFoundError:
        return None
    is_old = found.state != "growing" and not is_named and _is_older(partial, target)
    if is_old or found.state == "finished" or not found.has_index:
        found.close()
        return None
    if ROOT_METADATA in found.index.documents:
        return found
    found.close()
    if found.state == "growing":
        raise NothingYetError.of(target)
    raise ResourceError(
        "its writer has ended, and no frame is complete",
        path=partial,
        hint=f"To save the written data, run: ozx recover {quote(partial)} OUT.ozx",
    )


def _is_older(partial: str, target: str) -> bool:
    """Return whether a file under the final name was written after the unfinished file."""
    try:
        return modified(partial) <= modified(target)
    except FileNotFoundError:
        return False
