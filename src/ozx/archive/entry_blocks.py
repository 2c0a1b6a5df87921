"""Stored entries in blocks of a file: neighbours come by one read, each checked as if read by itself."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.crc32 import crc32
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import CENTRAL_HEADER, FLAG_DATA_DESCRIPTOR, LOCAL_HEADER, LOCAL_SIGNATURE

__all__ = ["EntrySpan", "check_value", "entry_spans", "value_in_block"]

_ZIP64_VERSION = 45
_ZIP64_SIZES = struct.Struct("<2Q")
# Extra fields of a local header that come with the entry's bytes in one read; longer ones cost a second read.
_EXTRA_FIELDS = 64


class EntrySpan(NamedTuple):
    """Bytes of the file with an entry: from its local header to the end of its value, or a little further."""

    entry: int
    start: int
    stop: int
    # The offset of the next entry, or of the central directory.
    limit: int


def entry_spans(reader: ArchiveReader, indices: NDArray[np.int64]) -> list[EntrySpan]:
    """Return where entries are in the file; their local headers are not read yet.

    Examples
    --------
    >>> reader = ArchiveReader("cells.ozx")
    >>> entry_spans(reader, np.array([reader.find("zarr.json")]))[0].start
    0
    """
    columns = reader.columns
    starts = columns.header_offsets[indices].astype(np.int64)
    following = np.searchsorted(reader.sorted_offsets, columns.header_offsets[indices], "right")
    limits = np.append(reader.sorted_offsets, np.uint64(reader.end.directory_offset))[following].astype(np.int64)
    sizes = columns.compressed_sizes[indices].astype(np.int64) + columns.name_lengths[indices]
    stops = np.minimum(starts + (LOCAL_HEADER.size + _EXTRA_FIELDS) + sizes, limits)
    rows = zip(indices.tolist(), starts.tolist(), stops.tolist(), limits.tolist(), strict=True)
    return [EntrySpan(*row) for row in rows]


def value_in_block(reader: ArchiveReader, span: EntrySpan, block: memoryview, begin: int) -> memoryview:
    """Return the value of a stored entry, checked as by `ArchiveReader.read`; mostly a part of `block`.

    Parameters
    ----------
    reader, span
        The archive, and the result of `entry_spans` for the entry.
    block
        Bytes of the file that cover the span.
    begin
        The offset of `block` in the file.

    Raises
    ------
    FormatError
        As `ArchiveReader.read`.

    Examples
    --------
    >>> reader = ArchiveReader("cells.ozx")
    >>> span = entry_spans(reader, np.array([reader.find("zarr.json")]))[0]
    >>> bytes(value_in_block(reader, span, memoryview(reader.source.read_at(0, span.stop)), 0)[:1])
    b'{'
    """
    columns, index = reader.columns, span.entry
    header, size = _usual_local_header(columns, index), int(columns.compressed_sizes[index])
    offset = span.start + len(header)
    if not header or offset + size > span.limit or block[span.start - begin : offset - begin] != header:
        offset = reader.data_offset(index)  # reads the header, and says what is wrong with it
    position = offset - begin
    if position < 0 or position + size > len(block):  # behind longer extra fields than usual
        return memoryview(reader.read(index))
    value = block[position : position + size]
    check_value(reader, index, value)
    return value


def check_value(reader: ArchiveReader, index: int, value: memoryview) -> None:
    """Compare the CRC-32 of an entry's value.

    Raises
    ------
    FormatError
        It is another one (``zip/crc``).
    """
    checksum = crc32(value)
    if checksum != reader.columns.crc32s[index]:
        reader.check_crc32(index, checksum)


def _usual_local_header(columns: Columns, index: int) -> bytes:
    """Return the local header that most writers put before a value whose sizes they know; empty if unknown.

    A local header with these bytes agrees with the central directory in every field. Writers differ in one thing:
    whether the sizes are in a ZIP64 field (version 4.5) or in the header itself.
    """
    start, buffer = int(columns.starts[index]), columns.buffer
    # 4.3.7 and 4.3.12: from the version needed to the CRC-32 both headers have the same fields.
    shared = buffer[start + 6 : start + 20]
    name_length, extra_length = buffer[start + 28 : start + 30], buffer[start + 30 : start + 32]
    if extra_length != b"\0\0" or int.from_bytes(shared[2:4], "little") & FLAG_DATA_DESCRIPTOR:
        return b""
    name = buffer[start + CENTRAL_HEADER.size : start + CENTRAL_HEADER.size + int(columns.name_lengths[index])]
    if shared[0] < _ZIP64_VERSION:
        return b"".join((LOCAL_SIGNATURE, shared, buffer[start + 20 : start + 28], name_length, b"\0\0", name))
    sizes = _ZIP64_SIZES.pack(int(columns.uncompressed_sizes[index]), int(columns.compressed_sizes[index]))
    return b"".join((LOCAL_SIGNATURE, shared, b"\xff" * 8, name_length, b"\x14\0", name, b"\1\0\x10\0", sizes))
