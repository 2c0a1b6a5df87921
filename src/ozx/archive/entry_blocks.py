"""Reading of adjacent uncompressed entries with one read; each entry is checked as if it were read alone."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.entry_reading import read_local_header
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import (
    CENTRAL_HEADER,
    EXTRA_ZIP64,
    FLAG_DATA_DESCRIPTOR,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    local_header_length,
)
from ozx.crc32 import crc32
from ozx.places.byte_source import MemorySource

_ZIP64_VERSION = 45
# 4.5.3: header id and length of the data; original and stored size follow, eight bytes each.
_ZIP64_FIELD = struct.pack("<2H", EXTRA_ZIP64, 16)
_ZIP64_LENGTH = struct.pack("<H", len(_ZIP64_FIELD) + 16)
# Extra fields of a local header that come with the entry's bytes in one read; longer ones cost a second read.
_EXTRA_FIELDS = 64


# More entries than this are looked up with numpy.
_FEW = 8


class EntryRange(NamedTuple):
    """The range of an entry's bytes in the file: its value, or its local header, which must be checked, and its value.

    With a local header, the range may end after the end of the value.
    """

    entry: int
    start: int
    stop: int
    # The offset of the next entry, or of the central directory.
    limit: int
    # Whether the local header was checked before, so that the range is the value alone.
    is_checked: bool = False


def entry_range(reader: ArchiveReader, index: int) -> EntryRange:
    """Return the byte range of an entry in the file, without reading its local header."""
    columns, limit = reader.columns, reader.end_of_room(index)
    start, size = int(columns.header_offsets[index]), int(columns.compressed_sizes[index])
    stop = start + LOCAL_HEADER.size + _EXTRA_FIELDS + size + int(columns.name_lengths[index])
    return value_range(reader, EntryRange(index, start, min(stop, limit), limit))


def value_range(reader: ArchiveReader, place: EntryRange) -> EntryRange:
    """Return the range of the value alone if the local header was checked meanwhile; else `place` itself."""
    start = int(reader.checked_offsets[place.entry])
    if start < 0:
        return place
    return EntryRange(place.entry, start, start + int(reader.columns.compressed_sizes[place.entry]), place.limit, True)


def entry_ranges(reader: ArchiveReader, indices: NDArray[np.int64]) -> list[EntryRange]:
    """Return the byte ranges of entries in the file, without reading their local headers."""
    if len(indices) <= _FEW:
        return [entry_range(reader, index) for index in indices.tolist()]
    columns = reader.columns
    starts = columns.header_offsets[indices].astype(np.int64)
    # Do not copy all offsets: there may be a million of them, but only one entry in `indices`.
    following = np.searchsorted(reader.sorted_offsets, columns.header_offsets[indices], "right")
    limits = np.full(len(starts), reader.end.directory_offset, np.int64)
    is_followed = following < len(reader.sorted_offsets)
    limits[is_followed] = reader.sorted_offsets[following[is_followed]]
    sizes, checked = columns.compressed_sizes[indices].astype(np.int64), reader.checked_offsets[indices]
    stops = np.minimum(starts + (LOCAL_HEADER.size + _EXTRA_FIELDS) + sizes + columns.name_lengths[indices], limits)
    is_checked = checked >= 0
    starts, stops = np.where(is_checked, checked, starts), np.where(is_checked, checked + sizes, stops)
    return list(map(EntryRange, *(rows.tolist() for rows in (indices, starts, stops, limits, is_checked))))


def value_in_range(reader: ArchiveReader, place: EntryRange, data: memoryview) -> memoryview:
    """Return the checked value of an uncompressed entry; `data` contains the bytes at `place`."""
    index = place.entry
    if place.is_checked:
        if crc32(data) != reader.columns.crc32s[index]:
            reader.check_crc32(index, crc32(data))
        return data
    position = value_position(reader, place, data)
    size = int(reader.columns.compressed_sizes[index])
    if position + size > len(data):  # the entry's extra fields are longer than usual
        return memoryview(reader.read(index))
    value = data[position : position + size]
    reader.check_crc32(index, crc32(value))
    return value


def value_position(reader: ArchiveReader, place: EntryRange, data: memoryview) -> int:
    """Check the local header of an entry; return the position of its value, relative to the start of `place`."""
    if place.is_checked:
        return 0
    columns, index = reader.columns, place.entry
    header = usual_local_header(columns, index)
    end = place.start + len(header) + int(columns.compressed_sizes[index])
    if header and end <= place.limit and data[: len(header)] == header:
        reader.checked_offsets[index] = place.start + len(header)
        return len(header)
    # Parse the header; a fault in the header raises an error.
    window = MemorySource(data, reader.source.name, place.start)
    if len(data) >= LOCAL_HEADER.size and local_header_length(data) > len(data):
        return reader.data_offset(index) - place.start
    offset = reader.checked_data_offset(index, read_local_header(window, columns.header(index)))
    reader.checked_offsets[index] = offset
    return offset - place.start


def usual_local_header(columns: Columns, index: int) -> bytes:
    """Return the local header that most writers write for this entry; empty bytes if the header is unpredictable.

    A local header with these bytes agrees with the central directory in every field. Writers differ in one thing:
    whether the sizes are in a ZIP64 field (version 4.5) or in the header itself.
    """
    start, buffer = int(columns.starts[index]), columns.buffer
    # 4.3.7 and 4.3.12: both headers have the same fields from the version needed to the length of the name.
    shared, extra_length = buffer[start + 6 : start + 30], buffer[start + 30 : start + 32]
    if extra_length != b"\0\0" or shared[2] & FLAG_DATA_DESCRIPTOR:
        return b""
    name_start = start + CENTRAL_HEADER.size
    name = buffer[name_start : name_start + int.from_bytes(shared[22:], "little")]
    if shared[0] < _ZIP64_VERSION:
        return LOCAL_SIGNATURE + shared + extra_length + name
    stored, original, name_length = shared[14:18], shared[18:22], shared[22:]
    field = (_ZIP64_FIELD, original, b"\0\0\0\0", stored, b"\0\0\0\0")
    return b"".join((LOCAL_SIGNATURE, shared[:14], b"\xff" * 8, name_length, _ZIP64_LENGTH, name, *field))
