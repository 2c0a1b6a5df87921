"""Pack whole files fast on POSIX systems; the result equals that of `ozx.flow.sinks.archive`.

One thread reads each file into a buffer of 1 MiB, behind the place of its header, hashes it there and adds the header;
another thread writes full buffers. A small file costs five system calls and no copy in Python, and reading overlaps
writing. docs/benchmarks.md compares this method with others.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue

from ozx.archive.records import FLAG_UTF8, LOCAL_SIGNATURE
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter, local_header
from ozx.crc32 import crc32
from ozx.errors import name_error
from ozx.file_changes import changed, mark_of, regular_mark
from ozx.flow.entry import FileSpan
from ozx.flow.sinks.manifest import Manifest
from ozx.flow.sources.directory import check_not_embedded
from ozx.places.positional_reading import READ_FLAGS, vector_reader
from ozx.places.positional_writing import write_all_at
from ozx.progress import Progress

_CAPACITY = 1 << 20
_BUFFERS = 3  # one to fill, one to write, one in between

# Buffers kept for the next archive: clearing new buffers takes longer than packing a small image.
_spare: SimpleQueue[bytearray] = SimpleQueue()

_Piece = tuple[bytearray | bytes, int, int]  # data, number of bytes of it, offset in the file


def is_available() -> bool:
    """Return whether this system has the required system calls."""
    return hasattr(os, "readv") and hasattr(os, "pwrite")


def write_files(
    writer: ArchiveWriter,
    root: str,
    folders: Mapping[str, list[str]],
    progress: Progress,
    manifest: Manifest | None = None,
) -> None:
    """Write the files of `folders` in `root` to `writer`; raise the same errors as `archive.write_entries`."""
    files = _FileWriter(writer, progress, manifest)
    try:
        for prefix, names in folders.items():
            files.add_folder(prefix, names, f"{root}/{prefix}")
        writer.skip_to(files.finish())
    finally:
        files.stop()


def _spare_buffer() -> bytearray:
    try:
        return _spare.get_nowait()
    except Empty:
        return bytearray(_CAPACITY)


class _BackgroundWriter:
    """The thread that writes buffers; `take` raises the error that stopped its writing, if any."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._full: SimpleQueue[_Piece | None] = SimpleQueue()
        self._free: SimpleQueue[bytearray] = SimpleQueue()
        self.failure: OSError | None = None
        self._taken = 0
        self._thread = threading.Thread(target=self._run, name="ozx-writer", daemon=True)
        self._thread.start()

    def take(self) -> bytearray:
        """Return a free buffer; if all three buffers are in use, wait until one of them is written."""
        if self._taken < _BUFFERS and self._free.empty():
            self._taken += 1
            return _spare_buffer()
        buffer = self._free.get()
        if self.failure is not None:
            raise self.failure
        return buffer

    def put(self, data: bytearray | bytes, length: int, offset: int) -> None:
        """Queue the first `length` bytes of `data` to be written at `offset`."""
        self._full.put((data, length, offset))

    def stop(self) -> None:
        """Wait until all queued buffers are written, and end the thread."""
        self._full.put(None)
        self._thread.join()
        while not self._free.empty() and _spare.qsize() < _BUFFERS:
            _spare.put(self._free.get())

    def check(self) -> None:
        """Raise the error that stopped the writing, if any."""
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        while (piece := self._full.get()) is not None:
            data, length, offset = piece
            try:
                if self.failure is None:
                    write_all_at(self._descriptor, memoryview(data)[:length], offset)
            except OSError as error:
                self.failure = error
            if isinstance(data, bytearray):
                self._free.put(data)


class _FileWriter:
    """Writer of whole files into buffers; the current one belongs at `offset` in the file, and has `position` bytes."""

    def __init__(self, writer: ArchiveWriter, progress: Progress, manifest: Manifest | None) -> None:
        self._manifest = manifest
        self._digest = hashlib.sha256()  # of a file that exceeds a buffer
        self._directory = writer.directory
        self._progress = progress
        self._offset = writer.flush()
        self._background = _BackgroundWriter(writer.descriptor)
        self._buffer = self._background.take()
        self._view = memoryview(self._buffer)
        self._position = 0
        self._read = vector_reader()

    def add_folder(self, prefix: str, names: list[str], path: str) -> None:
        """Write the files `names` of the folder at `path`, in one loop with few system calls."""
        raw_prefix, read, add_header = prefix.encode("utf-8"), self._read, self._directory.add
        for name in names:
            raw_name = raw_prefix + name.encode("utf-8")
            flags = 0 if raw_name.isascii() else FLAG_UTF8
            descriptor = os.open(path + name, READ_FLAGS)
            try:
                mark = mark_of(os.fstat(descriptor))
                size = mark[0]
                start = self._position + LOCAL_OVERHEAD + len(raw_name)
                if start + size >= _CAPACITY:
                    self._flush()
                    start = LOCAL_OVERHEAD + len(raw_name)
                header_offset = self._offset + self._position
                end = start + size
                if end < _CAPACITY:
                    # One byte more than the size, to notice growth.
                    count = read(descriptor, [self._view[start : end + 1]])
                    checksum = crc32(self._view[start:end])
                    self._buffer[self._position : start] = local_header(raw_name, flags, checksum, size)
                    self._position = end
                    digest = None if self._manifest is None else hashlib.sha256(self._view[start:end])
                    is_suspect = self._buffer.startswith(LOCAL_SIGNATURE, start)
                else:
                    count, checksum, is_suspect = self._stream(descriptor, raw_name, flags, size)
                    digest = self._digest
                after = os.fstat(descriptor)
                if count != size or mark_of(after) != mark:
                    raise changed(path + name)
                regular_mark(after, path + name)
                if is_suspect:
                    check_not_embedded(FileSpan(path + name, 0, size, mark))
            except OSError as error:
                if error is not self._background.failure:
                    name_error(error, path + name)
                raise
            finally:
                os.close(descriptor)
            if self._manifest is not None and digest is not None:
                self._manifest[prefix + name] = size, digest.hexdigest(), mark[1]
            add_header(raw_name, flags, checksum, size, header_offset)

    def finish(self) -> int:
        """Write the remaining bytes; return the offset after the last byte."""
        self._flush()
        self.stop()
        self._background.check()
        return self._offset

    def stop(self) -> None:
        """Stop the writing thread, also after an error."""
        self._background.stop()

    def _stream(self, descriptor: int, raw_name: bytes, flags: int, size: int) -> tuple[int, int, bool]:
        """Write a file larger than a buffer.

        Return its length, its CRC-32, and whether it begins like an archive.
        """
        header_offset, count, checksum, is_suspect = self._offset, 0, 0, False
        header = local_header(raw_name, flags, 0, size)
        self._background.put(header, len(header), header_offset)
        self._offset += len(header)
        self._digest = hashlib.sha256()
        while length := self._read(descriptor, [self._view]):
            checksum = crc32(self._view[:length], checksum)
            if self._manifest is not None:
                self._digest.update(self._view[:length])
            is_suspect = is_suspect or (count == 0 and self._buffer.startswith(LOCAL_SIGNATURE))
            count += length
            self._position = length
            self._flush()
            if count > size:
                break
        header = local_header(raw_name, flags, checksum, size)
        self._background.put(header, len(header), header_offset)
        return count, checksum, is_suspect

    def _flush(self) -> None:
        if self._position:
            self._background.put(self._buffer, self._position, self._offset)
            self._offset += self._position
            self._progress.advance(self._position)
            self._buffer = self._background.take()
            self._view = memoryview(self._buffer)
            self._position = 0
