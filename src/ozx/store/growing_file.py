"""Write an archive as a growing file: add, free and read back values.

::

    [ room for metadata ][ value ][ value ][ free ][ value ] …

Early copies of the metadata (drafts) are written into the room at the start, so that ``ozx recover`` can rebuild the
archive if the writer is killed.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import LOCAL_OVERHEAD, local_header
from ozx.crc32 import crc32
from ozx.errors import FormatError
from ozx.flow.entry import Part, read_part
from ozx.ome.model import parse_ome
from ozx.places.positional_reading import PositionalFile
from ozx.places.positional_writing import write_all_at, write_parts_at
from ozx.store.partial_file import PartialFile
from ozx.threads import renew_after_fork
from ozx.zarr.json_reading import as_object, parse_document
from ozx.zarr.keys import ROOT_METADATA

# Allocate space in a growing file.


class Space:
    """The free bytes of a file from `start` on, up to `limit` if given; ranges are allocated and freed in any order.

    Freed bytes are used again for pieces that fit, so that a file does not grow with each rewrite of a chunk.
    """

    def __init__(self, start: int, limit: int | None = None) -> None:
        self.start = self.end = start
        self._limit = limit
        self._by_start: dict[int, int] = {}
        self._by_end: dict[int, int] = {}
        self._by_length: list[tuple[int, int]] = []

    @property
    def holes(self) -> list[tuple[int, int]]:
        """The offset and length of each free range before `end`, in file order."""
        return sorted(self._by_start.items())

    def take(self, length: int) -> int | None:
        """Allocate `length` bytes and return their offset; None if the space has a limit and is full."""
        at = bisect_left(self._by_length, (length, 0))
        if at < len(self._by_length):
            found, offset = self._by_length[at]
            self._remove(offset, found)
            if found > length:
                self._add(offset + length, found - length)
            return offset
        if self._limit is not None and self.end + length > self._limit:
            return None
        return self.extend(length)

    def extend(self, length: int) -> int:
        """Allocate `length` bytes at the end of the file and return their offset."""
        offset, self.end = self.end, self.end + length
        return offset

    def give_back(self, offset: int, length: int) -> None:
        """Free `length` bytes from `offset`, and join them with adjacent free bytes."""
        before = self._by_end.get(offset)
        if before is not None:
            self._remove(before, offset - before)
            offset, length = before, length + offset - before
        after = self._by_start.get(offset + length)
        if after is not None:
            self._remove(offset + length, after)
            length += after
        if offset + length == self.end:
            self.end = offset
        else:
            self._add(offset, length)

    def _add(self, offset: int, length: int) -> None:
        self._by_start[offset] = length
        self._by_end[offset + length] = offset
        insort(self._by_length, (length, offset))

    def _remove(self, offset: int, length: int) -> None:
        del self._by_start[offset]
        del self._by_end[offset + length]
        del self._by_length[bisect_left(self._by_length, (length, offset))]


# Overwrites the signature of a deleted value's local header, so that a recovery does not restore the value.
_NO_HEADER = bytes(4)
# The padding of one entry can fill this much (65,515 bytes at most), whatever metadata follows.
LEAST_ROOM = 48 << 10
# The largest reserve, because unused room has to be filled or removed again.
_MOST = 64 << 20
# Pieces of an appended value that are written together: few calls, and the bytes are still in the processor's cache.
_TOGETHER = 1 << 20
# A typical zarr.json of an array; an image of a plate is one group and some levels.
_USUAL_DOCUMENT = 1_200
_USUAL_DOCUMENTS_PER_IMAGE = 5


class Slot(NamedTuple):
    """The place of an entry in the file, and its header fields."""

    raw_name: bytes
    flags: int
    crc32: int
    size: int
    offset: int
    header_length: int

    @property
    def data_offset(self) -> int:
        """The offset of the value."""
        return self.offset + self.header_length

    @property
    def length(self) -> int:
        """The length of header and value in bytes."""
        return self.header_length + self.size

    @property
    def end(self) -> int:
        """The offset after the value."""
        return self.offset + self.length


class GrowingFile:
    """The file ``NAME.partial``, created and locked; threads may use it concurrently.

    `lock` is held while space is allocated or freed, and while readers are counted. A caller that keeps slots by key
    protects them with a lock of its own.
    """

    def __init__(self, target: str) -> None:
        self.partial = PartialFile(target)
        self.renew_locks()
        self._file = PositionalFile(self.partial.path)
        self.has_room = False  # whether the metadata area at the start is reserved, as it is before the first write
        self._head, self._body = Space(0, 0), Space(0)
        self._drafts: dict[str, Slot] = {}
        self._readers = 0
        self._waiting: list[Slot] = []
        renew_after_fork(self)

    def renew_locks(self) -> None:
        """Create new locks, after a fork."""
        self.lock = threading.RLock()
        self._nobody_reads = threading.Condition(self.lock)

    def make_room(self, documents: Mapping[str, bytes]) -> None:
        """Reserve the metadata area at the start, and write the known documents there as drafts."""
        with self.lock:
            self.reserve(metadata_reserve(documents))
            for key, document in documents.items():
                self.draft(key, document)

    def reserve(self, room: int) -> None:
        """Reserve `room` bytes at the start of the file, for drafts or for `put`."""
        with self.lock:
            self._head, self._body = Space(0, room), Space(room)
            self.has_room = True

    def put(self, offset: int, pieces: Sequence[bytes | memoryview]) -> None:
        """Write pieces into the reserved space; the caller keeps track of the used parts of this space."""
        self._write_pieces(pieces, offset)

    def draft(self, key: str, document: bytes) -> None:
        """Write a metadata document early, so that an interrupted file can be recovered."""
        with self.lock:
            slot = self._write(key, [document], is_draft=True)
            self.forget_draft(key)
            self._drafts[key] = slot

    def forget_draft(self, key: str) -> None:
        """Erase the early copy of a metadata document that `draft` wrote, if this copy exists."""
        with self.lock:
            slot = self._drafts.pop(key, None)
            if slot is not None:
                self._erase(slot)

    def forget_drafts(self) -> None:
        """Free the space of all early copies that `draft` wrote, so that the final metadata can use this space."""
        with self.lock:
            for slot in self._drafts.values():
                self._space_of(slot).give_back(slot.offset, slot.length)
            self._drafts.clear()

    def write(self, key: str, parts: Sequence[bytes | memoryview | Part]) -> Slot:
        """Write a value, given in parts, into free space and return its slot; the caller registers the slot.

        A `Part` is read twice, for the CRC-32 and for the file, so that only one `Part` is in memory at a time.
        """
        return self._write(key, parts, is_draft=False)

    def append(self, key: str, pieces: Iterable[bytes | memoryview]) -> Slot | None:
        """Write a value of unknown length at the end of the file, its header last; return its slot, None if empty.

        Nothing else is written until the value ends. Pieces must not change until then.
        """
        raw_name, flags = encode_name(key)
        header_length = len(local_header(raw_name, flags, 0, 0))
        offset = self._body.extend(header_length)
        slot, waiting = None, list[bytes | memoryview]()
        checksum = size = written = 0
        try:
            for piece in pieces:
                checksum = crc32(piece, checksum)
                waiting.append(piece)
                size += len(piece)
                if size - written >= _TOGETHER:
                    self._write_pieces(waiting, self._body.extend(size - written))
                    waiting, written = [], size
            if size:
                self._write_pieces(waiting, self._body.extend(size - written))
                self._write_pieces([local_header(raw_name, flags, checksum, size)], offset)
                slot = Slot(raw_name, flags, checksum, size, offset, header_length)
        finally:
            if slot is None:
                self._body.give_back(offset, self._body.end - offset)
        return slot

    def free(self, slot: Slot) -> None:
        """Free the space of a value as soon as no thread reads the value."""
        with self.lock:
            if self._readers:
                self._waiting.append(slot)
            else:
                self._erase(slot)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Prevent freed space from being reused during the ``with`` block.

        Enter the block while holding the lock that protects the slots, so that no other thread frees the slot.
        """
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
        """Read bytes that were already written to the file."""
        return self._file.read_at(offset, length)

    def holds(self, slot: Slot) -> bool:
        """Return whether the value at the place `slot` is still in the file.

        The header of a deleted value is erased before the space of the value is reused.
        """
        header = local_header(slot.raw_name, slot.flags, slot.crc32, slot.size)
        return self.read_at(slot.offset, len(header)) == header

    def stop_reading(self) -> None:
        """Wait until no thread reads, then close the descriptor that `read_at` uses."""
        with self.lock:
            while self._readers:
                self._nobody_reads.wait()
            self._file.close()

    @property
    def end(self) -> int:
        """The offset after the last value."""
        return self._body.end

    def _write(self, key: str, parts: Sequence[bytes | memoryview | Part], *, is_draft: bool) -> Slot:
        raw_name, flags = encode_name(key)
        checksum = size = 0
        for pieces in _iter_pieces(parts):
            for piece in pieces:
                checksum = crc32(piece, checksum)
                size += len(piece)
        header = local_header(raw_name, flags, checksum, size)
        length = len(header) + size
        with self.lock:
            offset = self._head.take(length) if is_draft else None
            if offset is None:
                offset = self._body.take(length)
            if offset is None:
                raise RuntimeError("expected free space behind the metadata area; found none")
        slot = Slot(raw_name, flags, checksum, size, offset, len(header))
        try:
            for pieces in _iter_pieces([header, *parts]):
                self._write_pieces(pieces, offset)
                offset += sum(map(len, pieces))
        except BaseException:
            with self.lock:
                self._space_of(slot).give_back(slot.offset, slot.length)
            raise
        return slot

    def _write_pieces(self, pieces: Sequence[bytes | memoryview], offset: int) -> None:
        write_parts_at(self.partial.descriptor, pieces, offset)

    def _erase(self, slot: Slot) -> None:
        write_all_at(self.partial.descriptor, _NO_HEADER, slot.offset)
        self._space_of(slot).give_back(slot.offset, slot.length)

    def _space_of(self, slot: Slot) -> Space:
        return self._head if slot.offset < self._body.start else self._body


def _iter_pieces(parts: Sequence[bytes | memoryview | Part]) -> Iterator[list[bytes | memoryview]]:
    """Yield lists of bytes: one list for adjacent parts in memory, one list with the bytes read from each `Part`."""
    together: list[bytes | memoryview] = []
    for part in parts:
        if isinstance(part, bytes | memoryview):
            together.append(part)
            continue
        if together:
            yield together
        yield [read_part(part)]
        together = []
    if together:
        yield together


def document_room(key: str, document: bytes) -> int:
    """Return the size of an entry in bytes: the local header with the key, and the value."""
    return LOCAL_OVERHEAD + len(key.encode("utf-8")) + len(document)


def metadata_reserve(documents: Mapping[str, bytes]) -> int:
    """Return the number of bytes to reserve for metadata at the start of the file.

    It is `LEAST_ROOM`, plus twice the size of the known metadata, plus space for further documents of the wells or
    levels that the root lists; but at most 64 MiB, or twice the size of the known metadata if that is larger.
    """
    known = sum(document_room(key, document) for key, document in documents.items())
    announced = _announced_documents(documents.get(ROOT_METADATA, b"")) - len(documents)
    return min(LEAST_ROOM + 2 * known + max(0, announced) * _USUAL_DOCUMENT, max(_MOST, 2 * known))


def _announced_documents(root: bytes) -> int:
    try:
        attributes = as_object(parse_document(root, ROOT_METADATA).get("attributes"))
    except FormatError:
        return 0
    ome = parse_ome(attributes, 3)
    if ome is None:
        return 0
    if ome.plate is not None:
        fields = ome.plate.field_count or 1
        return len(ome.plate.wells) * (1 + fields * _USUAL_DOCUMENTS_PER_IMAGE)
    return sum(1 + len(multiscale.datasets) for multiscale in ome.multiscales)
