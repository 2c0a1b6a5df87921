"""An archive's entries into a directory, fast: the same files as `directory_sink`, on POSIX systems.

Small entries: one read brings about 1 MiB of neighbours; each is checked in place and written with one call. Where
there are many of them, a second process takes half (Linux, and only while no other thread runs: a fork would leave
its locks behind). Large entries: two threads copy pieces, whose CRC-32s are combined.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import FileSource
from ozx.archive.crc32 import crc32, crc32_combine
from ozx.archive.positional_writing import write_all_at
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED, LocalHeader
from ozx.archive.writer import local_header
from ozx.errors import FormatError, ResourceError
from ozx.flow.archive_source import iter_entries
from ozx.flow.directory_sink import write_entries
from ozx.progress import NO_PROGRESS, Progress

__all__ = ["is_available", "write_files"]

_SPAN = 1 << 20
_PIECE = 8 << 20
_COPY = 256 << 10  # fits the second-level cache: a larger block is fetched from memory twice
_BATCH = 16 << 10
_ENOUGH_FOR_TWO = 4_000
_PR_SET_PDEATHSIG = 1
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def is_available(reader: ArchiveReader) -> bool:
    """Tell whether this system, and this archive's source, have what the fast way needs."""
    return hasattr(os, "preadv") and hasattr(os, "pwrite") and isinstance(reader.source, FileSource)


def write_files(reader: ArchiveReader, indices: list[int], target: str, progress: Progress) -> None:
    """Write the entries with `indices` into `target`, whose folders exist; raises as `directory_sink` does."""
    columns = reader.columns
    wanted = np.array(indices, np.int64)
    order = wanted[np.argsort(columns.header_offsets[wanted], kind="stable")]
    is_stored = columns.methods[order] == STORED
    is_small = columns.compressed_sizes[order] < _SPAN // 4
    small, large, others = (
        order[is_stored & is_small],
        order[is_stored & ~is_small].tolist(),
        order[~is_stored].tolist(),
    )
    if len(small) >= _ENOUGH_FOR_TWO and sys.platform == "linux" and threading.active_count() == 1:
        _write_by_two(reader, small, target, progress)
    else:
        _write_small(reader, small, target, progress)
    _write_large(reader, large, target, progress)
    write_entries(target, iter_entries(reader, others), progress)


def _write_small(reader: ArchiveReader, order: NDArray[np.int64], target: str, progress: Progress) -> None:
    folder = os.open(target, os.O_RDONLY)
    try:
        for first in range(0, len(order), _BATCH):
            _write_batch(reader, order[first : first + _BATCH], folder, progress)
    finally:
        os.close(folder)


def _write_batch(reader: ArchiveReader, rows: NDArray[np.int64], folder: int, progress: Progress) -> None:
    columns, read_at = reader.columns, reader.source.read_at
    fields = (columns.header_offsets, columns.compressed_sizes, columns.crc32s, columns.flags)
    lists = [field[rows].tolist() for field in fields]
    block, block_start, block_end = memoryview(b""), 0, 0
    for raw, index, start, size, checksum, flag in zip(columns.raw_names(rows), rows.tolist(), *lists, strict=True):
        header = local_header(raw, flag, checksum, size)
        length = len(header)
        if start + length + size > block_end:
            progress.advance(start - block_start if block else 0)
            block_start, block = start, memoryview(read_at(start, max(_SPAN, length + size)))
            block_end = start + len(block)
        at = start - block_start
        if block[at : at + length] == header:
            data = block[at + length : at + length + size]
        else:
            data = _foreign_value(reader, index, block, at)
        if len(data) != size or crc32(data) != checksum:
            data = memoryview(reader.read(index))  # says what is wrong, or finds it further on
        name = raw if raw.isascii() else os.fsencode(columns.name(index))
        descriptor = os.open(name, _CREATE, 0o666, dir_fd=folder)
        try:
            if os.write(descriptor, data) != size:
                write_all_at(descriptor, data, 0)
        finally:
            os.close(descriptor)
    progress.advance(len(block))


def _foreign_value(reader: ArchiveReader, index: int, block: memoryview, at: int) -> memoryview:
    """Return the value behind a local header that is not as ozx writes it, as far as `block` holds it."""
    try:
        local = LocalHeader.from_bytes(block, at)
    except FormatError:
        return memoryview(b"")  # cut off by the block, or wrong: the reader will tell
    begin = at + reader.checked_data_offset(index, local) - int(reader.columns.header_offsets[index])
    return block[begin : begin + int(reader.columns.compressed_sizes[index])]


def _write_by_two(reader: ArchiveReader, order: NDArray[np.int64], target: str, progress: Progress) -> None:
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads it did not start; numpy's idle ones hold no lock that is needed here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _be_the_child(reader, order[len(order) // 2 :], target, sending)
    os.close(sending)
    try:
        _write_small(reader, order[: len(order) // 2], target, _Doubled(progress))
        with open(receiving, "rb") as pipe:
            failure = pipe.read()
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    _, status = os.waitpid(child, 0)
    if failure:
        raise pickle.loads(failure)  # noqa: S301 (written by our own child)
    if status:
        raise ResourceError(f"the second process ended with status {status}", hint="Try again; was it out of memory?")


def _be_the_child(reader: ArchiveReader, order: NDArray[np.int64], target: str, sending: int) -> None:
    """Do one half of the work and leave without running anything the parent registered for its end."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # prctl(2): a killed parent takes its child along
    code = 1
    try:
        _write_small(reader, order, target, NO_PROGRESS)
        code = 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (all are handed to the parent)
        os.write(sending, pickle.dumps(error))
    finally:
        os._exit(code)


class _Doubled:
    """Progress of two equal halves, of which one is seen."""

    def __init__(self, progress: Progress) -> None:
        self.start, self.stop = progress.start, progress.stop
        self._progress = progress

    def advance(self, amount: int) -> None:
        self._progress.advance(2 * amount)


def _write_large(reader: ArchiveReader, order: list[int], target: str, progress: Progress) -> None:
    if not order:
        return
    with ThreadPoolExecutor(2, "ozx-unpack") as pool:
        for index in order:
            offset, size = reader.data_offset(index), int(reader.columns.compressed_sizes[index])
            descriptor = os.open(f"{target}/{reader.columns.name(index)}", _CREATE, 0o666)
            try:
                pieces = range(0, size, _PIECE)

                def copy(piece: int, offset: int = offset, size: int = size, descriptor: int = descriptor) -> int:
                    return _copy(reader, offset + piece, min(_PIECE, size - piece), descriptor, piece, progress)

                checksum = 0
                for piece, part in zip(pieces, pool.map(copy, pieces), strict=True):
                    checksum = crc32_combine(checksum, part, min(_PIECE, size - piece))
            finally:
                os.close(descriptor)
            reader.check_crc32(index, checksum)


def _copy(reader: ArchiveReader, offset: int, length: int, descriptor: int, target: int, progress: Progress) -> int:
    """Copy one piece of a value; returns its CRC-32."""
    source = reader.source
    assert isinstance(source, FileSource)  # noqa: S101 (see is_available)
    buffer, checksum = memoryview(bytearray(min(_COPY, length))), 0
    done = 0
    while done < length:
        view = buffer[: min(_COPY, length - done)]
        if source.read_into_at(view, offset + done) != len(view):
            raise FormatError("the file shrank while it was read", path=source.name, rule="zip/changed")
        checksum = crc32(view, checksum)
        write_all_at(descriptor, view, target + done)
        done += len(view)
    progress.advance(length)
    return checksum
