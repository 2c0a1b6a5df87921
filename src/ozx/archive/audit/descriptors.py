"""Lengths of all data descriptors of an archive, and comparison of the descriptors with the central directory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource
from ozx.archive.coalesced_reads import read_pieces
from ozx.archive.columns import Columns
from ozx.archive.extra_fields import gather
from ozx.archive.records import MASK_32

_SIGNATURE = int.from_bytes(b"PK\x07\x08", "little")
# APPNOTE 4.3.9: CRC-32 and two sizes, of 8 bytes each in ZIP64; the signature before them is optional.
_SHORTEST, _LONGEST = 12, 24
_Numbers = NDArray[np.int64]


class Descriptors(NamedTuple):
    """Lengths and correctness of the data descriptors of some entries."""

    lengths: _Numbers  # length of each in bytes; 0 if there is no room for one
    agree: NDArray[np.bool_]  # whether each agrees with the central directory


def read_descriptors(
    source: ByteSource, columns: Columns, entries: _Numbers, offsets: _Numbers, rooms: _Numbers
) -> Descriptors:
    """Read the data descriptors of `entries`.

    A descriptor has one of four forms, and no field states which one. A form that fits the central directory is the
    right one; if no form fits, room and signature decide. `offsets` are the ends of the values in ascending order;
    `rooms` are the numbers of bytes from there to the next record.
    """
    found = Descriptors(np.zeros(len(entries), np.int64), np.zeros(len(entries), bool))
    for pieces in read_pieces(source, offsets, offsets + np.clip(rooms, 0, _LONGEST)):
        rows, positions = entries[pieces.rows], pieces.positions
        room = pieces.ends - positions
        is_signed = (room >= 4) & (gather(pieces.data, "<u4", positions) == _SIGNATURE)
        lengths = np.zeros(len(rows), np.int64)
        for signature in (4, 0):
            for wide in (True, False):
                length = signature + (20 if wide else 12)
                fits = (room >= length) & (lengths == 0) & (is_signed if signature else True)
                fits &= _agree(pieces.data, positions + signature, columns, rows, wide=wide)
                lengths[fits] = length
        found.agree[pieces.rows] = lengths > 0
        guess = np.where(room >= _LONGEST - 4, _LONGEST - 4, _SHORTEST) + 4 * is_signed
        found.lengths[pieces.rows] = np.where(lengths, lengths, np.where(room < _SHORTEST, 0, np.minimum(guess, room)))
    return found


def _agree(data: bytes, positions: _Numbers, columns: Columns, entries: _Numbers, *, wide: bool) -> NDArray[np.bool_]:
    """Return whether CRC-32 and sizes at `positions` match the directory; 4-byte sizes are compared modulo 2**32."""
    item, mask = (8, np.uint64(0xFFFFFFFFFFFFFFFF)) if wide else (4, np.uint64(MASK_32))
    agrees: NDArray[np.bool_] = gather(data, "<u4", positions) == columns.crc32s[entries]
    for place, column in enumerate((columns.compressed_sizes, columns.uncompressed_sizes)):
        agrees &= gather(data, f"<u{item}", positions + 4 + place * item) == (column[entries] & mask)
    return agrees
