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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import attrgetter

from ozx.archive.crc32 import crc32, crc32_combine
from ozx.archive.names.decoding import encode_name
from ozx.archive.positional_writing import write_all_at
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter, local_header
from ozx.errors import FormatError
from ozx.flow.entry import CHANGED_HINT, Entry, Part, read_values
from ozx.progress import Progress
from ozx.threads import default_jobs

_CAPACITY = 1 << 20
_PIECE = 8 << 20
# Pieces that wait for a thread hold a few hundred bytes per part, and no values.
_WAITING = 4


def is_available() -> bool:
    """Return whether this system has the required system calls."""
    return hasattr(os, "preadv") and hasattr(os, "pwrite")


def write_entries(writer: ArchiveWriter, entries: Iterable[Entry], progress: Progress, jobs: int | None = None) -> None:
    """Write `entries` to `writer` in order; raise the same errors as `archive.write_entries`."""
    assembly = _Assembly(writer, progress, default_jobs() if jobs is None else jobs)
    try:
        for entry in entries:
            assembly.add(entry)
        writer.skip_to(assembly.finish())
    finally:
        assembly.stop()


@dataclass(slots=True)
class _Placed:
    """An entry with the offset of its local header."""

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


@dataclass(slots=True)
class _Piece:
    """The task of one thread: to write small entries, or parts of one large entry, at `offset` in the archive."""

    offset: int
    entries: list[_Placed] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    size: int = 0
    is_last: bool = True


class _Assembly:
    """Writer of an archive by several threads.

    It assigns the offset of each entry and lets a thread write the entry; then it collects the checksums in file order.
    """

    def __init__(self, writer: ArchiveWriter, progress: Progress, jobs: int) -> None:
        self._writer = writer
        self._progress = progress
        self._offset = writer.flush()
        self._small = _Piece(self._offset)
        self._pool = ThreadPoolExecutor(jobs, "ozx-assemble")
        self._most_waiting = jobs * _WAITING
        self._waiting: deque[tuple[_Piece, Future[list[int]]]] = deque()
        self._buffers = threading.local()
        self._is_stopped = False
        self._checksum = 0  # of the large entry being collected

    def add(self, entry: Entry) -> None:
        """Assign an offset to an entry, and queue it."""
        raw_name, flags = encode_name(entry.key)
        placed = _Placed(raw_name, flags, entry.size, self._offset, entry.parts)
        self._offset = placed.end
        if placed.end - placed.offset <= _CAPACITY:
            self._small.entries.append(placed)
            self._small.size += placed.end - placed.offset
            if self._small.size >= _PIECE:
                self._flush_small()
            return
        self._flush_small()
        self._small.offset = placed.end
        for piece in _divide(placed):
            self._submit(piece)

    def finish(self) -> int:
        """Wait until everything is written; return the offset after the last byte."""
        self._flush_small()
        while self._waiting:
            self._collect()
        return self._offset

    def stop(self) -> None:
        """Stop the threads, also after an error; each thread stops at its next buffer."""
        self._is_stopped = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _flush_small(self) -> None:
        if self._small.entries:
            self._submit(self._small)
        self._small = _Piece(self._offset)

    def _submit(self, piece: _Piece) -> None:
        while len(self._waiting) >= self._most_waiting:
            self._collect()
        self._waiting.append((piece, self._pool.submit(self._work, piece)))

    def _collect(self) -> None:
        """Wait for the oldest task and store its checksums; raise the error of this task, if any."""
        piece, future = self._waiting.popleft()
        checksums = future.result()
        if not piece.parts:
            for placed, checksum in zip(piece.entries, checksums, strict=True):
                self._register(placed, checksum)
            return
        (placed,) = piece.entries
        self._checksum = crc32_combine(self._checksum, checksums[0], piece.size)
        if piece.is_last:
            write_all_at(self._writer.descriptor, placed.header(self._checksum), placed.offset)
            self._register(placed, self._checksum)
            self._checksum = 0

    def _register(self, placed: _Placed, checksum: int) -> None:
        self._writer.directory.add(placed.raw_name, placed.flags, checksum, placed.size, placed.offset)

    def _work(self, piece: _Piece) -> list[int]:
        """Run a task in a thread.

        Return the CRC-32 of each entry of the task, or of the parts of one large entry.
        """
        buffer = getattr(self._buffers, "buffer", None)
        if buffer is None:  # one per thread: fresh memory would cost a page fault for every 4 KiB
            buffer = self._buffers.buffer = memoryview(bytearray(_CAPACITY))
        filler = _Filler(buffer, self._writer.descriptor, piece.offset, self._advance)
        if piece.parts:
            return [filler.stream(piece.parts)]
        return filler.add_all(piece.entries)

    def _advance(self, amount: int) -> None:
        if self._is_stopped:
            raise _StoppedError
        self._progress.advance(amount)


class _StoppedError(Exception):
    """Error in a thread whose assembly has already ended; the thread's result is discarded."""


class _Filler:
    """A write buffer whose first byte belongs at `offset` in the file."""

    def __init__(self, buffer: memoryview, descriptor: int, offset: int, advance: Callable[[int], None]) -> None:
        self._buffer = buffer
        self._descriptor = descriptor
        self._offset = offset
        self._position = 0
        self._advance = advance

    def add_all(self, entries: Sequence[_Placed]) -> list[int]:
        """Write adjacent whole entries, each of which fits into the buffer; return their CRC-32s."""
        checksums: list[int] = []
        while (done := len(checksums)) < len(entries):
            first = entries[done].offset
            batch = entries[done : bisect_right(entries, first + _CAPACITY, done, key=attrgetter("end"))]
            views = [self._buffer[placed.data_offset - first : placed.end - first] for placed in batch]
            known = read_values([placed.parts for placed in batch], views)
            found = [crc32(view) if each is None else each for view, each in zip(views, known, strict=True)]
            for placed, checksum in zip(batch, found, strict=True):
                self._buffer[placed.offset - first : placed.data_offset - first] = placed.header(checksum)
            self._position = batch[-1].end - first
            self.flush()
            checksums += found
        return checksums

    def stream(self, parts: Iterable[Part]) -> int:
        """Write consecutive parts; return one CRC-32 of all their bytes."""
        checksum = 0
        batch: list[Part] = []
        for part in _iter_divided(parts, _CAPACITY):
            if self._position + part.length > _CAPACITY:
                checksum = self._write_parts(batch, checksum)
                batch = []
            if part.length > _CAPACITY:
                checksum = self._pass_on(part, checksum)
            else:
                batch.append(part)
                self._position += part.length
        return self._write_parts(batch, checksum)

    def _write_parts(self, parts: Sequence[Part], checksum: int) -> int:
        """Write parts that fit into the buffer together; return the CRC-32 continued by their bytes."""
        read_values([parts], [self._buffer[: self._position]])
        checksum = crc32(self._buffer[: self._position], checksum)
        self.flush()
        return checksum

    def flush(self) -> None:
        """Write the buffer to the file."""
        if self._position:
            self._write(self._buffer[: self._position])
            self._position = 0

    def _pass_on(self, part: Part, checksum: int) -> int:
        """Write a part that is larger than the buffer and has no method `span`."""
        end = self._offset + part.length
        for block in part.iter_blocks():
            checksum = crc32(block, checksum)
            self._write(memoryview(block))
        if self._offset != end:
            raise FormatError(
                f"expected a value of {part.length:,} bytes, got {part.length + self._offset - end:,}",
                rule="zip/changed",
                hint=CHANGED_HINT,
            )
        return checksum

    def _write(self, data: memoryview) -> None:
        write_all_at(self._descriptor, data, self._offset)
        self._offset += len(data)
        self._advance(len(data))


def _divide(placed: _Placed) -> Iterator[_Piece]:
    """Yield the tasks that write a large entry."""
    piece = _Piece(placed.data_offset, [placed], is_last=False)
    for part in _iter_divided(placed.parts, _PIECE):
        if piece.size and piece.size + part.length > _PIECE:
            yield piece
            piece = _Piece(piece.offset + piece.size, [placed], is_last=False)
        piece.parts.append(part)
        piece.size += part.length
    piece.is_last = True
    yield piece


def _iter_divided(parts: Iterable[Part], longest: int) -> Iterator[Part]:
    """Yield the parts; split each part that has a method `span` into spans of at most `longest` bytes."""
    for part in parts:
        divide = None if part.length <= longest else getattr(part, "span", None)
        if divide is None:
            yield part
        else:
            for offset in range(0, part.length, longest):
                yield divide(offset, min(longest, part.length - offset))
