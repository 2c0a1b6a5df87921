"""Unpack archives fast on POSIX systems; the result equals that of `ozx.flow.sinks.directory`.

Small entries: one read fetches half a MiB of adjacent entries; each entry is checked in the buffer and written by one
call. If there are many entries, a second process helps where possible. Large entries: two threads copy pieces, whose
CRC-32s are combined.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED, LocalHeader
from ozx.archive.writer import LOCAL_OVERHEAD, local_header
from ozx.crc32 import crc32, crc32_combine
from ozx.errors import FormatError
from ozx.file_changes import shrank
from ozx.flow.sinks import two_processes
from ozx.flow.sinks.directory import write_entries
from ozx.flow.sources.archive import iter_entries
from ozx.places.byte_source import FileSource
from ozx.places.positional_writing import write_all_at
from ozx.progress import Progress
from ozx.threads import working

_SPAN = 512 << 10
_PIECE = 8 << 20
_COPY = 256 << 10  # fits the second-level cache; larger blocks are fetched from memory twice
ENOUGH_FOR_TWO = 4_000
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def is_available(reader: ArchiveReader) -> bool:
    """Return whether this system and this archive allow fast unpacking."""
    return hasattr(os, "preadv") and hasattr(os, "pwrite") and isinstance(reader.source, FileSource)


def write_files(reader: ArchiveReader, indices: NDArray[np.int64], target: str, progress: Progress) -> None:
    """Write the entries with `indices` into `target`, whose folders must exist; see `directory.write_entries`."""
    columns = reader.columns
    order = indices[np.argsort(columns.header_offsets[indices], kind="stable")]
    is_stored = columns.methods[order] == STORED
    is_small = columns.compressed_sizes[order] < _SPAN // 4
    small, large, others = (
        order[is_stored & is_small],
        order[is_stored & ~is_small].tolist(),
        order[~is_stored].tolist(),
    )
    firsts = range(0, len(small), _batch_size(small))

    def work(firsts: Iterable[int], advance: Callable[[int], None]) -> None:
        _write_small(reader, small, firsts, target, advance)

    if len(small) >= ENOUGH_FOR_TWO and two_processes.are_possible():
        two_processes.run(work, firsts, progress.advance)
    else:
        work(firsts, progress.advance)
    _write_large(reader, large, target, progress)
    write_entries(target, iter_entries(reader, others), progress)


def _write_small(
    reader: ArchiveReader, order: NDArray[np.int64], firsts: Iterable[int], target: str, advance: Callable[[int], None]
) -> None:
    """Write small entries in batches: `order` contains their rows, `firsts` the beginning of each batch in `order`."""
    size = _batch_size(order)
    buffer = memoryview(bytearray(_SPAN))  # one for all: fresh memory would cost a page fault for every 4 KiB
    folder = os.open(target, os.O_RDONLY)
    try:
        for first in firsts:
            _write_batch(reader, order[first : first + size], buffer, folder, advance)
    finally:
        os.close(folder)


def _batch_size(order: NDArray[np.int64]) -> int:
    return max(1024, -(-len(order) // two_processes.MOST_NUMBERS))


def _write_batch(
    reader: ArchiveReader, rows: NDArray[np.int64], buffer: memoryview, folder: int, advance: Callable[[int], None]
) -> None:
    columns, source = reader.columns, reader.source
    assert isinstance(source, FileSource)  # noqa: S101 (see is_available)
    fields = (columns.header_offsets, columns.compressed_sizes, columns.crc32s, columns.flags)
    raw_names, lists = columns.raw_names(rows), [field[rows].tolist() for field in fields]
    batch_end = lists[0][-1] + LOCAL_OVERHEAD + len(raw_names[-1]) + lists[1][-1]
    block_start, block_end = 0, 0
    written = 0
    for raw, index, start, size, checksum, flag in zip(raw_names, rows.tolist(), *lists, strict=True):
        header = local_header(raw, flag, checksum, size)
        if start + len(header) + size > block_end:
            block_start, length = start, min(_SPAN, batch_end - start)
            block_end = start + source.read_into_at(buffer[:length], start)
            advance(written)
            written = 0
        at = start - block_start
        data_at = at + len(header)
        if buffer[at:data_at] == header:
            data = buffer[data_at : data_at + size]
        else:
            data = _foreign_value(reader, index, buffer[: block_end - block_start], at)
        # Empty data may also be a value that was not found.
        if not size or len(data) != size or crc32(data) != checksum:
            data = memoryview(reader.read(index))  # finds the value elsewhere, or raises
        name = raw if raw.isascii() else os.fsencode(columns.name(index))
        descriptor = os.open(name, _CREATE, 0o666, dir_fd=folder)
        try:
            if os.write(descriptor, data) != size:
                write_all_at(descriptor, data, 0)
        finally:
            os.close(descriptor)
        written += size
    advance(written)


def _foreign_value(reader: ArchiveReader, index: int, block: memoryview, at: int) -> memoryview:
    """Return the value after a local header that another program wrote; truncate the value at the end of `block`."""
    try:
        local = LocalHeader.from_bytes(block, at)
    except FormatError:
        return memoryview(b"")  # cut off by the block, or wrong: left to the reader
    begin = at + reader.checked_data_offset(index, local) - int(reader.columns.header_offsets[index])
    return block[begin : begin + int(reader.columns.compressed_sizes[index])]


def _write_large(reader: ArchiveReader, order: list[int], target: str, progress: Progress) -> None:
    if not order:
        return
    with working(2) as workers:
        for index in order:
            offset, size = reader.data_offset(index), int(reader.columns.compressed_sizes[index])
            descriptor = os.open(f"{target}/{reader.columns.name(index)}", _CREATE, 0o666)
            try:
                pieces = range(0, size, _PIECE)

                def copy(piece: int, offset: int = offset, size: int = size, descriptor: int = descriptor) -> int:
                    return _copy(reader, offset + piece, min(_PIECE, size - piece), descriptor, piece, progress)

                checksum = 0
                for piece, part in zip(pieces, workers.executor.map(copy, pieces), strict=True):
                    checksum = crc32_combine(checksum, part, min(_PIECE, size - piece))
            finally:
                os.close(descriptor)
            reader.check_crc32(index, checksum)


def _copy(reader: ArchiveReader, offset: int, length: int, descriptor: int, target: int, progress: Progress) -> int:
    """Copy one piece of a large value; return the CRC-32 of the piece."""
    source = reader.source
    assert isinstance(source, FileSource)  # noqa: S101 (see is_available)
    buffer, checksum = memoryview(bytearray(min(_COPY, length))), 0
    done = 0
    while done < length:
        view = buffer[: min(_COPY, length - done)]
        if source.read_into_at(view, offset + done) != len(view):
            raise shrank(source.name)
        checksum = crc32(view, checksum)
        write_all_at(descriptor, view, target + done)
        done += len(view)
    progress.advance(length)
    return checksum
