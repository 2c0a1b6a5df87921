"""Layout of an archive: order of entries, gaps, overlaps, data descriptors, and entries that no header lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.local_headers import LocalHeaderTable
from ozx.archive.coalesced_reads import read_pieces
from ozx.archive.columns import Columns, gather
from ozx.archive.directory import EndOfDirectory
from ozx.archive.entry_reading import ROOM_OF_EMPTY, follows_empty
from ozx.archive.names.decoding import decode_name
from ozx.archive.reader import iter_overlaps
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LOCAL_HEADER, LOCAL_SIGNATURE, MASK_32
from ozx.archive.recovery.values import ValueSearch, claims_of, local_header_at
from ozx.places.byte_source import ByteSource

# Lengths of all data descriptors of an archive, and comparison of the descriptors with the central directory.

_SIGNATURE = int.from_bytes(b"PK\x07\x08", "little")
# APPNOTE 4.3.9: CRC-32 and two sizes, of 8 bytes each in ZIP64; the signature before them is optional.
_SHORTEST, _LONGEST = 12, 24
_Numbers = NDArray[np.int64]


def read_descriptors(
    source: ByteSource, columns: Columns, entries: _Numbers, offsets: _Numbers, rooms: _Numbers
) -> tuple[_Numbers, NDArray[np.bool_]]:
    """Return the lengths of the data descriptors of `entries`, and whether each agrees with the central directory.

    A length is 0 if there is no room for a descriptor. A descriptor has one of four forms, and no field states which
    one. A form that fits the central directory is the right one; if no form fits, room and signature decide. `offsets`
    are the ends of the values in ascending order; `rooms` are the numbers of bytes from there to the next record.
    """
    lengths, agree = np.zeros(len(entries), np.int64), np.zeros(len(entries), bool)
    for data, places, positions, ends in read_pieces(source, offsets, offsets + np.clip(rooms, 0, _LONGEST)):
        rows, room = entries[places], ends - positions
        is_signed = (room >= 4) & (gather(data, "<u4", positions) == _SIGNATURE)
        fitting = np.zeros(len(rows), np.int64)
        for signature in (4, 0):
            for wide in (True, False):
                length = signature + (20 if wide else 12)
                fits = (room >= length) & (fitting == 0) & (is_signed if signature else True)
                fits &= _agree(data, positions + signature, columns, rows, wide=wide)
                fitting[fits] = length
        agree[places] = fitting > 0
        guess = np.where(room >= _LONGEST - 4, _LONGEST - 4, _SHORTEST) + 4 * is_signed
        lengths[places] = np.where(fitting, fitting, np.where(room < _SHORTEST, 0, np.minimum(guess, room)))
    return lengths, agree


def _agree(data: bytes, positions: _Numbers, columns: Columns, entries: _Numbers, *, wide: bool) -> NDArray[np.bool_]:
    """Return whether CRC-32 and sizes at `positions` match the directory; 4-byte sizes are compared modulo 2**32."""
    item, mask = (8, np.uint64(0xFFFFFFFFFFFFFFFF)) if wide else (4, np.uint64(MASK_32))
    agrees: NDArray[np.bool_] = gather(data, "<u4", positions) == columns.crc32s[entries]
    for place, column in enumerate((columns.compressed_sizes, columns.uncompressed_sizes)):
        agrees &= gather(data, f"<u{item}", positions + 4 + place * item) == (column[entries] & mask)
    return agrees


class Layout:
    """The layout of an archive: order of entries, gaps and overlaps.

    `order` are the entries in the order of their local headers, and `inside` those of them that lie inside the file.
    """

    def __init__(
        self,
        source: ByteSource,
        end: EndOfDirectory,
        columns: Columns,
        local: LocalHeaderTable,
        inside: _Numbers,
        order: _Numbers,
    ) -> None:
        self.order = order
        self._source, self._columns, self._local, self._inside = source, columns, local, inside
        starts = columns.header_offsets[inside].astype(np.int64)
        # An unreadable header is at least as long as its fixed part and the name.
        shortest = LOCAL_HEADER.size + columns.name_lengths[inside].astype(np.int64)
        lengths = np.where(local.lengths[inside] < 0, shortest, local.lengths[inside])
        ends = starts + lengths + columns.compressed_sizes[inside].astype(np.int64)
        furthest = np.maximum.accumulate(ends) if len(ends) else ends
        begins = np.concatenate([[0], furthest, [end.directory_offset + end.directory_size]])
        rooms = np.concatenate([starts, [end.directory_offset, end.end_offset]]) - begins
        self.leading = int(starts[0]) if len(starts) else end.directory_offset  # bytes before the first local header
        # Whether the file begins with a local header, listed in the central directory or not.
        self.begins_as_entry = source.read_at(0, len(LOCAL_SIGNATURE)) == LOCAL_SIGNATURE
        # At most 100 pairs of overlapping entries: the second entry begins before the end of the first.
        self.overlaps = tuple(iter_overlaps(inside, starts, ends))
        self.into_directory = inside[ends > end.directory_offset]  # entries that end in the central directory
        # Entries that declare an empty value, though a value seems to follow.
        hidden = self._find_hidden(ends, rooms)
        # Entries whose data descriptor is missing, or contradicts the central directory.
        self.bad_descriptors = self._skip_descriptors(ends, begins, rooms)
        self.hidden_values = np.setdiff1d(hidden, self.bad_descriptors)
        gaps = np.flatnonzero(rooms > 0)
        # Unused bytes between local headers, values and directory.
        self.gap_offsets, self.gap_lengths = begins[gaps], rooms[gaps]

    def _skip_descriptors(self, ends: _Numbers, begins: _Numbers, rooms: _Numbers) -> _Numbers:
        """Subtract data descriptors (APPNOTE 4.3.9) from the gaps after values; return entries with an invalid one."""
        columns, local, inside = self._columns, self._local, self._inside
        is_announced = local.has_descriptor[inside] | ((columns.flags[inside] & FLAG_DATA_DESCRIPTOR) != 0)
        # If two entries overlap, the bytes behind them are no descriptors.
        is_plain = (local.lengths[inside] >= 0) & (ends == begins[1:-1]) & (rooms[1:-1] >= 0)
        rows = np.flatnonzero(is_announced & is_plain)
        lengths, agree = read_descriptors(self._source, columns, inside[rows], ends[rows], rooms[rows + 1])
        begins[rows + 1] += lengths
        rooms[rows + 1] -= lengths
        # 4.3.9.1: a descriptor "MUST exist if bit 3 of the general purpose bit flag is set"; the local header's bit
        # counts.
        entries = inside[rows]
        return entries[~agree & (local.has_descriptor[entries] | (lengths > 0))]

    def _find_hidden(self, ends: _Numbers, rooms: _Numbers) -> _Numbers:
        """Return the entries that declare an empty value although bytes of a value follow."""
        columns, local, inside = self._columns, self._local, self._inside
        is_empty = (columns.compressed_sizes[inside] == 0) & (local.lengths[inside] >= 0) & (rooms[1:-1] > 0)
        found = []
        for row in np.flatnonzero(is_empty).tolist():
            entry = int(inside[row])
            behind = self._source.read_at(int(ends[row]), min(ROOM_OF_EMPTY, int(rooms[row + 1])))
            if not follows_empty(columns.header(entry), behind, is_streamed=bool(local.has_descriptor[entry])):
                found.append(entry)
        return np.array(found, np.int64)


# Search for undamaged entries that the central directory does not list.

# Bounds on the time: number of gaps, bytes before a header, bytes of all values.
_MOST_GAPS, _BLOCK, _PATIENCE = 100, 1 << 16, 64 << 20


def find_unlisted(source: ByteSource, columns: Columns, layout: Layout) -> dict[str, int]:
    """Return name and offset of entries in gaps whose value is undamaged and whose name no entry of `columns` has."""
    search, found = ValueSearch(source), {}
    search.patience = _PATIENCE
    for gap in np.argsort(-layout.gap_lengths, kind="stable")[:_MOST_GAPS].tolist():
        start = int(layout.gap_offsets[gap])
        stop = start + int(layout.gap_lengths[gap])
        while (place := source.read_at(start, min(_BLOCK, stop - start)).find(LOCAL_SIGNATURE)) >= 0:
            start += place
            header = local_header_at(source, start)
            claims = [] if header is None else claims_of(header, start + header.length)
            value = next(filter(None, map(search.verify, claims)), None)
            if header is not None and value is not None and value.size and value.end <= stop:
                found[decode_name(header.name, header.flags, header.extra)] = start
                start = value.end
            else:
                start += len(LOCAL_SIGNATURE)
    return {name: found[name] for name in found.keys() - (set(columns.names()) if found else set())}
