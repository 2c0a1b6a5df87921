"""Layout of an archive: order of entries, gaps, overlaps and data descriptors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.descriptors import read_descriptors
from ozx.archive.audit.local_headers import LocalHeaders
from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns
from ozx.archive.directory import EndOfDirectory
from ozx.archive.empty_values import ROOM_OF_EMPTY, follows_empty
from ozx.archive.reader import iter_overlaps
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LOCAL_HEADER, LOCAL_SIGNATURE

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of an archive."""

    order: _Indices  # the entries in the order of their local headers
    leading: int  # bytes before the first local header
    begins_as_entry: bool  # whether the file begins with a local header, listed in the central directory or not
    gap_offsets: _Indices  # places of unused bytes between local headers, values and directory
    gap_lengths: _Indices
    # at most 100 pairs of overlapping entries: the second entry begins before the end of the first
    overlaps: tuple[tuple[int, int], ...]
    into_directory: _Indices  # indices of entries that end after the central directory has begun
    # indices of entries whose data descriptor is missing, or contradicts the central directory
    bad_descriptors: _Indices
    # indices of other entries whose headers declare an empty value, though a value seems to follow
    hidden_values: _Indices


def find_layout(
    source: ByteSource,
    end: EndOfDirectory,
    columns: Columns,
    local: LocalHeaders,
    inside: _Indices,
    order: _Indices,
) -> Layout:
    """Return the layout of an archive: order of entries, gaps and overlaps."""
    starts = columns.header_offsets[inside].astype(np.int64)
    # An unreadable header is at least as long as its fixed part and the name.
    shortest = LOCAL_HEADER.size + columns.name_lengths[inside].astype(np.int64)
    lengths = np.where(local.lengths[inside] < 0, shortest, local.lengths[inside])
    ends = starts + lengths + columns.compressed_sizes[inside].astype(np.int64)
    furthest = np.maximum.accumulate(ends) if len(ends) else ends
    begins = np.concatenate([[0], furthest, [end.directory_offset + end.directory_size]])
    rooms = np.concatenate([starts, [end.directory_offset, end.end_offset]]) - begins
    hidden = _find_hidden(source, columns, local, inside, ends, rooms)
    bad = _skip_descriptors(source, columns, local, inside, ends, begins, rooms)
    gaps = np.flatnonzero(rooms > 0)
    return Layout(
        order=order,
        leading=int(starts[0]) if len(starts) else end.directory_offset,
        begins_as_entry=source.read_at(0, len(LOCAL_SIGNATURE)) == LOCAL_SIGNATURE,
        gap_offsets=begins[gaps],
        gap_lengths=rooms[gaps],
        overlaps=tuple(iter_overlaps(inside, starts, ends)),
        into_directory=inside[ends > end.directory_offset],
        bad_descriptors=bad,
        hidden_values=np.sort(hidden[~np.isin(hidden, bad)]) if len(hidden) else hidden,
    )


def _skip_descriptors(
    source: ByteSource,
    columns: Columns,
    local: LocalHeaders,
    inside: _Indices,
    ends: _Indices,
    begins: _Indices,
    rooms: _Indices,
) -> _Indices:
    """Subtract the lengths of the data descriptors (APPNOTE 4.3.9) from the gaps after values.

    Return the entries that have an invalid data descriptor.
    """
    is_announced = local.has_descriptor[inside] | ((columns.flags[inside] & FLAG_DATA_DESCRIPTOR) != 0)
    # If two entries overlap, the bytes behind them are no descriptors.
    is_plain = (local.lengths[inside] >= 0) & (ends == begins[1:-1]) & (rooms[1:-1] >= 0)
    rows = np.flatnonzero(is_announced & is_plain)
    found = read_descriptors(source, columns, inside[rows], ends[rows], rooms[rows + 1])
    begins[rows + 1] += found.lengths
    rooms[rows + 1] -= found.lengths
    # 4.3.9.1: a descriptor "MUST exist if bit 3 of the general purpose bit flag is set"; the local header's bit counts.
    entries = inside[rows]
    return entries[~found.agree & (local.has_descriptor[entries] | (found.lengths > 0))]


def _find_hidden(
    source: ByteSource,
    columns: Columns,
    local: LocalHeaders,
    inside: _Indices,
    ends: _Indices,
    rooms: _Indices,
) -> _Indices:
    """Return the entries that declare an empty value although bytes of a value follow."""
    is_empty = (columns.compressed_sizes[inside] == 0) & (local.lengths[inside] >= 0) & (rooms[1:-1] > 0)
    found = []
    for row in np.flatnonzero(is_empty).tolist():
        entry = int(inside[row])
        behind = source.read_at(int(ends[row]), min(ROOM_OF_EMPTY, int(rooms[row + 1])))
        if not follows_empty(columns.header(entry), behind, is_streamed=bool(local.has_descriptor[entry])):
            found.append(entry)
    return np.array(found, np.int64)
