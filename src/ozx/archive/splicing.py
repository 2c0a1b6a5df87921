"""Description of an archive with new values for some entries, as runs of old and new bytes; no data is moved yet."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns, gather, numbers, parse_columns
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import (
    CENTRAL_HEADER,
    EXTRA_ZIP64,
    FLAG_UTF8,
    MASK_32,
    iter_extra_fields,
)
from ozx.archive.writer import CentralDirectory, local_header
from ozx.crc32 import crc32
from ozx.errors import UnsupportedError
from ozx.places.byte_source import Run

# APPNOTE 4.3.12: the places of the sizes and of the offset in a central directory header.
_COMPRESSED, _UNCOMPRESSED, _EXTRA_LENGTH, _OFFSET = 20, 24, 30, 42
_VERSION_OF_ZIP64 = 45


def splice(reader: ArchiveReader, values: Mapping[int, bytes]) -> list[Run]:
    """Return the runs of old and new bytes that form the changed archive; `values` maps entry indices to new values.

    All entries keep their order in the file and in the central directory. Other entries keep their headers; a replaced
    entry is stored. Its new local header and value take the place of the old ones and of the unused bytes after them.
    """
    columns, end, name = reader.columns, reader.end, reader.source.name
    if end.prepended or end.trailing:
        raise _unmovable(
            "bytes before or after the archive", name, f"zip/{'prepended' if end.prepended else 'trailing'}-bytes"
        )
    if end.is_wrapped and (columns.uncompressed_sizes > MASK_32).any():
        raise _unmovable("a size above 4 GiB without ZIP64", name, "zip/overflow")
    runs: list[Run] = []
    position, heads = 0, {}
    for index in sorted(values, key=lambda index: int(columns.header_offsets[index])):
        start, stop = int(columns.header_offsets[index]), reader.end_of_room(index)
        if start > position:
            runs.append(Run(position, start - position))
        raw_name, flags = columns.raw_name(index), int(columns.flags[index]) & FLAG_UTF8
        heads[index] = local_header(raw_name, flags, crc32(values[index]), len(values[index]))
        runs += [Run.of(heads[index]), Run.of(values[index])]
        position = stop
    if end.directory_offset > position:
        runs.append(Run(position, end.directory_offset - position))
    offsets = _new_offsets(reader, {index: len(heads[index]) + len(value) for index, value in values.items()})
    directory = CentralDirectory()
    _add_headers(directory, columns, offsets, values)
    # This check finds headers of a form that no known writer makes.
    if not np.array_equal(parse_columns(bytes(directory.headers), len(columns)).header_offsets, offsets):
        raise _unmovable("a central directory with offsets of entries in unusual fields", name, "zip/zip64-field")
    runs.append(Run.of(bytes(directory.finish(sum(run.length for run in runs), end.comment))))
    return runs


def _unmovable(found: str, name: str, rule: str) -> UnsupportedError:
    return UnsupportedError(
        f"expected an archive whose entries can be moved; found {found}",
        path=name,
        rule=rule,
        hint="Rewrite it with ozx repack, then edit the new file.",
    )


def _new_offsets(reader: ArchiveReader, lengths: Mapping[int, int]) -> NDArray[np.uint64]:
    """Return the offset of each local header, given the new lengths of the replaced entries."""
    old = reader.columns.header_offsets
    replaced = sorted(lengths, key=lambda index: int(old[index]))
    starts = np.array([int(old[index]) for index in replaced], np.uint64)
    changes = [lengths[index] - (reader.end_of_room(index) - int(old[index])) for index in replaced]
    shifts = np.concatenate(([0], np.cumsum(changes))).astype(np.int64)
    return (old.astype(np.int64) + shifts[np.searchsorted(starts, old, "left")]).astype(np.uint64)


def _add_headers(
    directory: CentralDirectory, columns: Columns, offsets: NDArray[np.uint64], values: Mapping[int, bytes]
) -> None:
    """Add the headers of all entries to the directory in their old order, with their new offsets."""
    first = 0
    for index in sorted(values):
        directory.add_raw(_moved_headers(columns, offsets, first, index), index - first)
        value, flags = values[index], int(columns.flags[index]) & FLAG_UTF8
        directory.add(columns.raw_name(index), flags, crc32(value), len(value), int(offsets[index]))
        first = index + 1
    directory.add_raw(_moved_headers(columns, offsets, first, len(columns)), len(columns) - first)


def _moved_headers(columns: Columns, offsets: NDArray[np.uint64], first: int, stop: int) -> bytes | bytearray:
    """Return the headers of the entries from `first` to `stop` with new offsets."""
    if first == stop:
        return b""
    begin = int(columns.starts[first])
    finish = int(columns.starts[stop]) if stop < len(columns) else len(columns.buffer)
    headers = bytearray(columns.buffer[begin:finish])
    starts, new = columns.starts[first:stop] - begin, offsets[first:stop]
    old_is_wide = gather(headers, "<u4", starts + _OFFSET) == MASK_32
    is_narrow = ~old_is_wide & (new < MASK_32)
    numbers(headers, "<u4")[starts[is_narrow] + _OFFSET] = new[is_narrow]
    rows = np.flatnonzero(old_is_wide)
    places, fits = _zip64_places(headers, starts[rows], columns.name_lengths[first:stop][rows])
    numbers(headers, "<u8")[places[fits]] = new[rows[fits]]
    others = np.flatnonzero(~is_narrow)
    others = np.setdiff1d(others, rows[fits], assume_unique=True)
    return headers if len(others) == 0 else _widened(headers, starts.tolist(), new, others.tolist())


def _zip64_places(
    headers: bytearray, starts: NDArray[np.int64], name_lengths: NDArray[np.uint16]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of the 64-bit offset in each header, and whether it is the usual position.

    4.5.3: the ZIP64 field contains those values whose 32-bit field is 0xFFFFFFFF; the offset follows the sizes.
    """
    counts = sum(
        (gather(headers, "<u4", starts + place) == MASK_32).astype(np.int64) for place in (_COMPRESSED, _UNCOMPRESSED)
    )
    fields = starts + CENTRAL_HEADER.size + name_lengths
    places = fields + 4 + 8 * counts
    extra_lengths = gather(headers, "<u2", starts + _EXTRA_LENGTH)
    fits = (extra_lengths >= 12 + 8 * counts) & (gather(headers, "<u2", fields) == EXTRA_ZIP64)
    return places, fits


def _widened(headers: bytearray, starts: list[int], new: NDArray[np.uint64], rows: list[int]) -> bytes:
    """Return a copy of `headers`; the headers with the indices `rows` get their new offset in a ZIP64 field."""
    parts: list[bytes | bytearray] = []
    position = 0
    for row in rows:
        stop = starts[row + 1] if row + 1 < len(starts) else len(headers)
        parts += headers[position : starts[row]], _with_wide_offset(headers[starts[row] : stop], int(new[row]))
        position = stop
    return b"".join((*parts, headers[position:]))


def _with_wide_offset(header: bytearray, offset: int) -> bytes:
    fields = list(CENTRAL_HEADER.unpack_from(header))
    name_end = CENTRAL_HEADER.size + fields[10]
    extra = bytes(header[name_end : name_end + fields[11]])
    zip64, others = b"", b""
    for identifier, data in iter_extra_fields(extra):
        if identifier == EXTRA_ZIP64:
            zip64 = data
        else:
            others += struct.pack("<2H", identifier, len(data)) + data
    sizes = 8 * ((fields[8] == MASK_32) + (fields[9] == MASK_32))
    zip64 = zip64[:sizes] + struct.pack("<Q", offset)
    extra = struct.pack("<2H", EXTRA_ZIP64, len(zip64)) + zip64 + others
    fields[2], fields[11], fields[16] = max(fields[2], _VERSION_OF_ZIP64), len(extra), MASK_32
    comment = header[name_end + int.from_bytes(header[_EXTRA_LENGTH : _EXTRA_LENGTH + 2], "little") :]
    return b"".join((CENTRAL_HEADER.pack(*fields), header[CENTRAL_HEADER.size : name_end], extra, comment))
