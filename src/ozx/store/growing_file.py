"""The file of an archive in the making: where values are written, freed, and read meanwhile.

::

    [ room for metadata ][ value ][ value ][ free ][ value ] …

Every value stands behind a local header with its size and CRC-32, written once, in its final place. The metadata
known so far is drafted into the room at the head. So what a killed writer leaves can be recovered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from ozx.archive.crc32 import crc32
from ozx.archive.names.decoding import encode_name
from ozx.archive.positional_reading import PositionalFile
from ozx.archive.positional_writing import write_all_at, write_pair_at
from ozx.archive.writer import local_header
from ozx.store.after_fork import renew_after_fork
from ozx.store.metadata_reserve import metadata_reserve
from ozx.store.partial_file import PartialFile
from ozx.store.space import Space

__all__ = ["GrowingFile", "Slot"]

# Over the signature of a local header whose value is gone, so that a recovery does not bring it back.
_NO_HEADER = bytes(4)


class Slot(NamedTuple):
    """Where an entry stands, and what its headers say."""

    raw_name: bytes
    flags: int
    crc32: int
    size: int
    offset: int
    header_length: int

    @property
    def data_offset(self) -> int:
        """Where the value begins."""
        return self.offset + self.header_length

    @property
    def length(self) -> int:
        """Bytes of header and value."""
        return self.header_length + self.size

    @property
    def end(self) -> int:
        """Where the value ends."""
        return self.offset + self.length


class GrowingFile:
    """``NAME.partial``, created and locked; used by any number of threads.

    Parameters
    ----------
    target
        The name the file is to get in the end.

    Raises
    ------
    ResourceError
        Another writer has it.

    Attributes
    ----------
    partial
        The file itself.
    lock
        Held while places are taken, freed or looked up; whoever keeps slots by key holds it to do both at once.
    """

    def __init__(self, target: str) -> None:
        self.partial = PartialFile(target)
        self.renew_locks()
        self._file = PositionalFile(self.partial.path)
        self._head: Space | None = None
        self._body: Space | None = None
        self._drafts: dict[str, Slot] = {}
        self._readers = 0
        self._waiting: list[Slot] = []
        renew_after_fork(self)

    def renew_locks(self) -> None:
        """Make the locks anew."""
        self.lock = threading.RLock()
        self._nobody_reads = threading.Condition(self.lock)
        # Without os.pwrite a descriptor has one position for all threads.
        self._writing = nullcontext() if hasattr(os, "pwrite") else threading.Lock()

    @property
    def has_room(self) -> bool:
        """Whether the room at the head was made: whether anything was written yet."""
        return self._body is not None

    def make_room(self, documents: Mapping[str, bytes]) -> None:
        """Keep room for metadata, and draft what is known of it there."""
        with self.lock:
            room = metadata_reserve(documents)
            self._head, self._body = Space(0, room), Space(room)
            for key, document in documents.items():
                self.draft(key, document)

    def draft(self, key: str, document: bytes) -> None:
        """Write a metadata document for the case that the archive is never finished."""
        with self.lock:
            slot = self._write(key, memoryview(document), is_draft=True)
            self.forget_draft(key)
            self._drafts[key] = slot

    def forget_draft(self, key: str) -> None:
        """Take a draft back: the document was replaced or deleted."""
        with self.lock:
            slot = self._drafts.pop(key, None)
            if slot is not None:
                self._erase(slot)

    def forget_drafts(self) -> None:
        """Free the place of all drafts: what follows is the final metadata."""
        with self.lock:
            for slot in self._drafts.values():
                self._space_of(slot).give_back(slot.offset, slot.length)
            self._drafts.clear()

    def write(self, key: str, value: memoryview) -> Slot:
        """Write a value to a free place and return it; the caller has it known."""
        return self._write(key, value, is_draft=False)

    def free(self, slot: Slot) -> None:
        """Free the place of a value, once nobody is reading any more."""
        with self.lock:
            if self._readers:
                self._waiting.append(slot)
            else:
                self._erase(slot)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep the places of values from being used again during the block; entered while holding `lock`."""
        with self.lock:
            self._readers += 1
        try:
            yield
        finally:
            with self.lock:
                self._readers -= 1
                if not self._readers:
                    for slot in self._waiting:
                        self._erase(slot)
                    self._waiting.clear()
                    self._nobody_reads.notify_all()

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes that were written."""
        return self._file.read_at(offset, length)

    def holds(self, slot: Slot) -> bool:
        """Tell whether a value still stands where it was: its header is erased before its place is used again."""
        header = local_header(slot.raw_name, slot.flags, slot.crc32, slot.size)
        return self.read_at(slot.offset, len(header)) == header

    def stop_reading(self) -> None:
        """Close what `read_at` opened, once nobody is reading any more: another file may get the same descriptor."""
        with self.lock:
            while self._readers:
                self._nobody_reads.wait()
            self._file.close()

    @property
    def end(self) -> int:
        """Where the last value ends."""
        return 0 if self._body is None else self._body.end

    def _write(self, key: str, value: memoryview, *, is_draft: bool) -> Slot:
        raw_name, flags = encode_name(key)
        checksum = crc32(value)
        header = local_header(raw_name, flags, checksum, len(value))
        length = len(header) + len(value)
        with self.lock:
            if self._head is None or self._body is None:
                raise RuntimeError("make_room comes first")
            offset = self._head.take(length) if is_draft else None
            if offset is None:
                offset = self._body.take(length)
            if offset is None:
                raise RuntimeError("the body has no limit")
        slot = Slot(raw_name, flags, checksum, len(value), offset, len(header))
        try:
            with self._writing:
                write_pair_at(self.partial.descriptor, header, value, offset)
        except BaseException:
            with self.lock:
                self._space_of(slot).give_back(slot.offset, slot.length)
            raise
        return slot

    def _erase(self, slot: Slot) -> None:
        with self._writing:
            write_all_at(self.partial.descriptor, _NO_HEADER, slot.offset)
        self._space_of(slot).give_back(slot.offset, slot.length)

    def _space_of(self, slot: Slot) -> Space:
        if self._head is None or self._body is None:
            raise RuntimeError("make_room comes first")
        return self._head if slot.offset < self._body.start else self._body
