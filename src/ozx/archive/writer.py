"""Writing of archives: uncompressed entries with ZIP64; equal input results in equal bytes.

docs/decisions/0004-zip64-form.md explains the form, and names the readers it was chosen for:

- every local header: version 4.5, both 32-bit sizes 0xFFFFFFFF, the ZIP64 field (16 bytes) first among its extras;
- the central directory and the classic end record: true values if they fit, else sentinels;
- the ZIP64 end record and its locator: always.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Sequence

from ozx.archive.names.decoding import encode_name
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    END_RECORD,
    END_SIGNATURE,
    EXTRA_ZIP64,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_16,
    MASK_32,
    STORED,
    ZIP64_END_RECORD,
    ZIP64_END_SIGNATURE,
    ZIP64_LOCATOR,
    ZIP64_LOCATOR_SIGNATURE,
)
from ozx.crc32 import crc32
from ozx.errors import FormatError, UsageError
from ozx.places.positional_writing import copy_range, write_parts_at

_VERSION = 45  # 4.4.3.2: 4.5, the first with ZIP64
_MADE_BY = 3 << 8 | _VERSION  # 4.4.2: Unix, so that unpacking programs use the mode below
_REGULAR_FILE_0644 = 0o100644 << 16
_MIDNIGHT, _FIRST_DAY = 0, 1 << 5 | 1  # 4.4.6: 1980-01-01, the earliest; a real time would change the bytes

_ZIP64_EXTRA = struct.Struct("<2H2Q")

#: Length of an entry's local header without its name.
LOCAL_OVERHEAD = LOCAL_HEADER.size + _ZIP64_EXTRA.size

_BUFFER = 1 << 20


@functools.cache
def _local_layout(name_length: int) -> struct.Struct:
    """Return a `struct` layout for a complete local header, including its name and ZIP64 field."""
    return struct.Struct(f"{LOCAL_HEADER.format}{name_length}s{_ZIP64_EXTRA.format[1:]}")


@functools.cache
def _central_layout(name_length: int, extra_length: int) -> struct.Struct:
    """Return a `struct` layout for a complete central directory header, including its name and extra field."""
    return struct.Struct(f"{CENTRAL_HEADER.format}{name_length}s{extra_length}s")


def local_header(raw_name: bytes, flags: int, checksum: int, size: int) -> bytes:
    """Return a local header, from the result of `encode_name` and the value's CRC-32 and length in bytes."""
    return _local_layout(len(raw_name)).pack(
        LOCAL_SIGNATURE,
        _VERSION,
        flags,
        STORED,
        _MIDNIGHT,
        _FIRST_DAY,
        checksum,
        MASK_32,
        MASK_32,
        len(raw_name),
        _ZIP64_EXTRA.size,
        raw_name,
        EXTRA_ZIP64,
        16,
        size,
        size,
    )


class CentralDirectory:
    """A central directory that is being written; each entry takes memory for its name and about 50 bytes more."""

    def __init__(self) -> None:
        self.headers = bytearray()
        self.entries = 0

    def add(self, raw_name: bytes, flags: int, checksum: int, size: int, header_offset: int) -> None:
        """Append the header of one uncompressed entry."""
        extra = b""
        short_size, short_offset = size, header_offset
        if size >= MASK_32 or header_offset >= MASK_32:
            # 4.5.3: only the fields whose 32-bit place holds the sentinel, in this order.
            wide = []
            if size >= MASK_32:
                wide, short_size = [size, size], MASK_32
            if header_offset >= MASK_32:
                wide, short_offset = [*wide, header_offset], MASK_32
            extra = struct.pack(f"<2H{len(wide)}Q", EXTRA_ZIP64, 8 * len(wide), *wide)
        self.headers += _central_layout(len(raw_name), len(extra)).pack(
            CENTRAL_SIGNATURE,
            _MADE_BY,
            _VERSION,
            flags,
            STORED,
            _MIDNIGHT,
            _FIRST_DAY,
            checksum,
            short_size,
            short_size,
            len(raw_name),
            len(extra),
            0,
            0,
            0,
            _REGULAR_FILE_0644,
            short_offset,
            raw_name,
            extra,
        )
        self.entries += 1

    def add_raw(self, headers: bytes | bytearray, entries: int) -> None:
        """Append the bytes of complete headers, unchanged."""
        self.headers += headers
        self.entries += entries

    def extend(self, other: CentralDirectory) -> None:
        """Append all headers of another directory for the same archive."""
        self.add_raw(other.headers, other.entries)

    def finish(self, offset: int, comment: bytes) -> bytearray:
        """Return the central directory and the end records as bytes, to be written at `offset`."""
        if len(comment) > MASK_16:
            raise UsageError(f"an archive comment has at most {MASK_16:,} bytes; got {len(comment):,}")
        result, size, entries = self.headers, len(self.headers), self.entries
        self.headers = bytearray()
        rest = ZIP64_END_RECORD.size - 12  # 4.3.14.1: without the signature and this field
        wide = ZIP64_END_SIGNATURE, rest, _MADE_BY, _VERSION, 0, 0, entries, entries, size, offset
        result += ZIP64_END_RECORD.pack(*wide)
        result += ZIP64_LOCATOR.pack(ZIP64_LOCATOR_SIGNATURE, 0, offset + size, 1)
        short = min(entries, MASK_16)
        result += END_RECORD.pack(
            END_SIGNATURE, 0, 0, short, short, min(size, MASK_32), min(offset, MASK_32), len(comment)
        )
        result += comment
        return result


class ArchiveWriter:
    """Writer of one archive into an empty open file; the caller must sync, rename and close the file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.directory = CentralDirectory()
        self._buffer = bytearray()
        self._flushed = 0

    @property
    def offset(self) -> int:
        """Offset of the next byte to write."""
        return self._flushed + len(self._buffer)

    def add(self, name: str, *pieces: bytes | bytearray | memoryview) -> None:
        """Write one entry, given its whole value, in pieces that follow each other."""
        raw_name, flags = encode_name(name)
        checksum = size = 0
        for piece in pieces:
            checksum, size = crc32(piece, checksum), size + len(piece)
        self.directory.add(raw_name, flags, checksum, size, self.offset)
        self._append(local_header(raw_name, flags, checksum, size), *pieces)

    def add_blocks(self, name: str, size: int, blocks: Iterable[bytes | memoryview]) -> None:
        """Write one entry from blocks of its value; the CRC-32 is written into the header afterwards."""
        raw_name, flags = encode_name(name)
        header_offset, checksum, written = self.offset, 0, 0
        self._append(local_header(raw_name, flags, 0, size))
        for block in blocks:
            written += len(block)
            checksum = crc32(block, checksum)
            self._append(block)
        if written != size:
            raise FormatError(f"{name!r}: expected {size:,} bytes, got {written:,}", rule="zip/changed")
        self._patch(header_offset, local_header(raw_name, flags, checksum, size))
        self.directory.add(raw_name, flags, checksum, size, header_offset)

    def add_copied(
        self, raw_name: bytes, flags: int, checksum: int, size: int, source: int, source_offset: int
    ) -> None:
        """Write one entry whose value is copied from another file; the CRC-32 of the value must be known."""
        self.directory.add(raw_name, flags, checksum, size, self.offset)
        self._append(local_header(raw_name, flags, checksum, size))
        self.copy(source, source_offset, size)

    def add_unused(self, length: int) -> None:
        """Append zeros outside of any entry."""
        self._append(bytes(length))

    def copy(self, source: int, source_offset: int, length: int) -> None:
        """Copy bytes of another file; the caller must add the headers of the copied entries to `directory`."""
        self.flush()
        copy_range(source, source_offset, self.descriptor, self._flushed, length)
        self._flushed += length

    def finish(self, comment: bytes = b"") -> int:
        """Write the central directory and the end records; return the archive's length in bytes."""
        self.flush()
        ending = self.directory.finish(self._flushed, comment)
        self._write([ending], self._flushed)
        self._flushed += len(ending)
        return self._flushed

    def _append(self, *pieces: bytes | bytearray | memoryview) -> None:
        length = sum(map(len, pieces))
        if length >= _BUFFER:
            self.flush()
            self._write(pieces, self._flushed)
            self._flushed += length
            return
        for piece in pieces:
            self._buffer += piece
        if len(self._buffer) >= _BUFFER:
            self.flush()

    def _patch(self, offset: int, data: bytes) -> None:
        # Data appended in one call was flushed in one call: it is in the buffer or in the file, never in both.
        if offset >= self._flushed:
            self._buffer[offset - self._flushed : offset - self._flushed + len(data)] = data
        else:
            self._write([data], offset)

    def flush(self) -> int:
        """Write all buffered bytes to the file; return the offset of the next byte."""
        self._write([self._buffer], self._flushed)
        self._flushed += len(self._buffer)
        self._buffer = bytearray()
        return self._flushed

    def _write(self, pieces: Sequence[bytes | bytearray | memoryview], offset: int) -> None:
        write_parts_at(self.descriptor, pieces, offset)

    def skip_to(self, offset: int) -> None:
        """Continue writing at `offset`, after entries that the caller has written and added to `directory`."""
        self._flushed = offset
