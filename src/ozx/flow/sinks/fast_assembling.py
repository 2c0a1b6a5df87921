"""Write entries of many parts fast on POSIX systems; the result equals that of `ozx.flow.sinks.archive`.

All lengths are known before reading, so that the offset of every part in the file is known at once. Threads then fill
pieces of about 8 MiB independently: they read parts into a buffer that stays in the processor's cache, hash it, and
write it by one call. The CRC-32s of the pieces of a large entry are combined; its header is written last.
docs/benchmarks.md compares this method with others.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter, local_header
from ozx.crc32 import crc32, crc32_combine
from ozx.file_changes import other_length
from ozx.flow.entry import Entry, Part, read_values
from ozx.places.positional_writing import write_all_at
from ozx.progress import Progress, StoppableProgress
from ozx.threads import in_order, working

_CAPACITY = 1 << 20
_PIECE = 8 << 20
# Pieces that wait for a thread hold a few hundred bytes per part, and no values.
_WAITING = 4


def is_available() -> bool:
    """Return whether this system has the required system calls."""
    return hasattr(os, "preadv") and hasattr(os, "pwrite")


def write_entries(writer: ArchiveWriter, entries: Iterable[Entry], progress: Progress, jobs: int | None = None) -> None:
    """Write `entries` to `writer` in order; raise the same errors as `archive.write_entries`."""
    parallel = _ParallelWriter(writer, progress)
    with working(jobs) as workers:
        try:
            submitted = ((register, workers.executor.submit(write)) for write, register in parallel.pieces(entries))
            for register, checksums in in_order(submitted, workers.jobs * _WAITING):
                register(checksums)
        finally:
            parallel.stop()
    writer.skip_to(parallel.end)


@dataclass(slots=True)
class _EntryLayout:
    """Where an entry lies in the archive: its local header, then the bytes of its parts."""

    raw_name: bytes
    flags: int
    size: int
    offset: int
    parts: Sequence[Part]

    @property
    def data_offset(self) -> int:
        return self.offset + LOCAL_OVERHEAD + len(self.raw_name)

    @property
    def end(self) -> int:
        return self.data_offset + self.size

    def header(self, checksum: int) -> bytes:
        return local_header(self.raw_name, self.flags, checksum, self.size)


#: One piece of the archive: the task of a thread, and what then takes its result in the order of the file.
_Piece = tuple[Callable[[], Any], Callable[[Any], None]]


class _ParallelWriter:
    """Writer of an archive by several threads.

    It assigns the offset of each entry; threads write the entries; then it collects the checksums in file order.
    """

    def __init__(self, writer: ArchiveWriter, progress: Progress) -> None:
        self._writer = writer
        self._progress = StoppableProgress(progress)
        self.end = writer.flush()  # the offset after the last byte
        self._buffers = threading.local()
        self._checksum = 0  # of the large entry being collected

    def pieces(self, entries: Iterable[Entry]) -> Iterator[_Piece]:
        """Assign an offset to each entry, and yield the tasks that write small entries, or parts of one large entry."""
        small: list[_EntryLayout] = []
        for entry in entries:
            raw_name, flags = encode_name(entry.key)
            placed = _EntryLayout(raw_name, flags, entry.size, self.end, entry.parts)
            self.end = placed.end
            if placed.end - placed.offset <= _CAPACITY:
                small.append(placed)
                if placed.end - small[0].offset < _PIECE:
                    continue
            if small:
                yield partial(self._write_small, small), partial(self._register_small, small)
                small = []
            if placed.end - placed.offset > _CAPACITY:
                for parts, offset, size, is_last in _divide(placed):
                    register = partial(self._register_large, placed, size, is_last=is_last)
                    yield partial(self._write_large, parts, offset), register
        if small:
            yield partial(self._write_small, small), partial(self._register_small, small)

    def _register_small(self, entries: list[_EntryLayout], checksums: list[int]) -> None:
        """Add written entries to the central directory."""
        for placed, checksum in zip(entries, checksums, strict=True):
            self._register(placed, checksum)

    def _register_large(self, placed: _EntryLayout, size: int, checksum: int, *, is_last: bool) -> None:
        """Add the CRC-32 of parts to that of their entry; after the last ones, write its header and add it, too."""
        self._checksum = crc32_combine(self._checksum, checksum, size)
        if is_last:
            write_all_at(self._writer.descriptor, placed.header(self._checksum), placed.offset)
            self._register(placed, self._checksum)
            self._checksum = 0

    def stop(self) -> None:
        """Let each thread stop at its next buffer, after an error."""
        self._progress.stop_all()

    def _register(self, placed: _EntryLayout, checksum: int) -> None:
        self._writer.directory.add(placed.raw_name, placed.flags, checksum, placed.size, placed.offset)

    def _buffer(self) -> memoryview:
        """Return the buffer of this thread: fresh memory would cost a page fault for every 4 KiB."""
        buffer: memoryview | None = getattr(self._buffers, "buffer", None)
        if buffer is None:
            buffer = self._buffers.buffer = memoryview(bytearray(_CAPACITY))
        return buffer

    def _write_small(self, entries: Sequence[_EntryLayout]) -> list[int]:
        """Write adjacent whole entries, each of which fits into the buffer; return their CRC-32s."""
        buffer, checksums = self._buffer(), list[int]()
        while (done := len(checksums)) < len(entries):
            first = entries[done].offset
            batch = entries[done : bisect_right(entries, first + _CAPACITY, done, key=attrgetter("end"))]
            views = [buffer[placed.data_offset - first : placed.end - first] for placed in batch]
            known = read_values([placed.parts for placed in batch], views)
            found = [crc32(view) if each is None else each for view, each in zip(views, known, strict=True)]
            for placed, checksum in zip(batch, found, strict=True):
                buffer[placed.offset - first : placed.data_offset - first] = placed.header(checksum)
            self._write(buffer[: batch[-1].end - first], first)
            checksums += found
        return checksums

    def _write_large(self, parts: Iterable[Part], offset: int) -> int:
        """Write consecutive parts at `offset`; return one CRC-32 of all their bytes."""
        buffer, checksum, size = self._buffer(), 0, 0
        batch: list[Part] = []
        for part in _iter_divided(parts, _CAPACITY):
            if size + part.length > _CAPACITY:
                checksum = self._write_parts(batch, offset, buffer[:size], checksum)
                offset, batch, size = offset + size, [], 0
            if part.length > _CAPACITY:
                checksum = self._pass_on(part, offset, checksum)
                offset += part.length
            else:
                batch.append(part)
                size += part.length
        return self._write_parts(batch, offset, buffer[:size], checksum)

    def _write_parts(self, parts: Sequence[Part], offset: int, view: memoryview, checksum: int) -> int:
        """Write parts that have the length of `view` together; return the CRC-32 continued by their bytes."""
        read_values([parts], [view])
        checksum = crc32(view, checksum)
        if view:
            self._write(view, offset)
        return checksum

    def _pass_on(self, part: Part, offset: int, checksum: int) -> int:
        """Write a part that is larger than the buffer and has no method `span`."""
        end = offset + part.length
        for block in part.iter_blocks():
            checksum = crc32(block, checksum)
            self._write(memoryview(block), offset)
            offset += len(block)
        if offset != end:
            raise other_length(part.length, part.length + offset - end)
        return checksum

    def _write(self, data: memoryview, offset: int) -> None:
        write_all_at(self._writer.descriptor, data, offset)
        self._progress.advance(len(data))


def _divide(placed: _EntryLayout) -> Iterator[tuple[list[Part], int, int, bool]]:
    """Yield the parts of a large entry that one task writes, their offset and length, and whether they are the last."""
    parts: list[Part] = []
    offset, size = placed.data_offset, 0
    for part in _iter_divided(placed.parts, _PIECE):
        if size and size + part.length > _PIECE:
            yield parts, offset, size, False
            parts, offset, size = [], offset + size, 0
        parts.append(part)
        size += part.length
    yield parts, offset, size, True


def _iter_divided(parts: Iterable[Part], longest: int) -> Iterator[Part]:
    """Yield the parts; split each part that has a method `span` into spans of at most `longest` bytes."""
    for part in parts:
        divide = None if part.length <= longest else getattr(part, "span", None)
        if divide is None:
            yield part
        else:
            for offset in range(0, part.length, longest):
                yield divide(offset, min(longest, part.length - offset))
