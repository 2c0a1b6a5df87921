"""Reading of an archive's local file headers into columns; comparison of the headers with the central directory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.archive.coalesced_reads import MARGIN, Pieces, read_pieces
from ozx.archive.columns import Columns, gather
from ozx.archive.entry_reading import header_contradiction, read_header_at
from ozx.archive.extra_fields import ExtraFields
from ozx.archive.records import (
    CENTRAL_HEADER,
    EXTRA_ZIP64,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_UTF8,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_32,
)
from ozx.errors import FormatError
from ozx.places.byte_source import ByteSource

# APPNOTE 4.3.7, as in `records.LOCAL_HEADER`.
_FIELDS = (
    "signature version_needed flags method time date crc32 compressed_size uncompressed_size name_length extra_length"
)
_TYPES = "u4" + 5 * " u2" + 3 * " u4" + 2 * " u2"
_HEADER = np.dtype(list(zip(_FIELDS.split(), _TYPES.split(), strict=True))).newbyteorder("<")
_SIGNATURE = int.from_bytes(LOCAL_SIGNATURE, "little")

# The usual room for an extra field. The four bytes after a header show whether the value begins like an archive.
_EXTRA_GUESS = 128
_PEEK = len(LOCAL_SIGNATURE)


class LocalHeaderTable:
    """A table of the local file headers of an archive; row i is the header of entry i in the central directory.

    Those of `entries` are read, which must be sorted by header offset and lie inside the file.
    """

    def __init__(self, source: ByteSource, columns: Columns, entries: NDArray[np.int64]) -> None:
        self._source, self._columns, count = source, columns, len(columns)
        # Bytes of each header, name and extra field included; -1 for an unreadable one.
        self.lengths = np.full(count, -1, np.int32)
        # Whether the bytes of the entry begin with the signature of a local file header.
        self.begins_as_archive = np.zeros(count, bool)
        self.flags = np.zeros(count, np.uint16)  # the flags of each header; 0 for an unreadable one
        self.has_descriptor = np.zeros(count, bool)  # whether the header announces a data descriptor
        self.extras = ExtraFields(count)
        # Headers that are missing or truncated, or that contradict the central directory: entry, message, broken rule.
        self.faults: list[tuple[int, str, str]] = []
        starts = columns.header_offsets[entries].astype(np.int64)
        guesses = starts + (LOCAL_HEADER.size + _EXTRA_GUESS + _PEEK) + columns.name_lengths[entries]
        for pieces in read_pieces(source, starts, guesses):
            for index in self._add_matching(pieces, entries).tolist():
                self._add_one(int(index))

    def _add_matching(self, pieces: Pieces, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add all headers that match the central directory; return the entries of the pieces whose headers differ."""
        data, places, positions, ends = pieces
        everything = entries = entries[places]
        rows = np.flatnonzero(positions + LOCAL_HEADER.size <= ends)
        local = gather(data, _HEADER, positions[rows])
        lengths = LOCAL_HEADER.size + local["name_length"].astype(np.int64) + local["extra_length"]
        is_header = local["signature"] == _SIGNATURE
        is_header &= positions[rows] + lengths + _PEEK <= ends[rows]
        rows, local, lengths = rows[is_header], local[is_header], lengths[is_header]
        agrees = _agrees(data, positions[rows], local, self._columns, entries[rows])
        rows, local, lengths = rows[agrees], local[agrees], lengths[agrees]
        positions, entries = positions[rows], entries[rows]
        self.lengths[entries] = lengths
        self.begins_as_archive[entries] = gather(data, "<u4", positions + lengths) == _SIGNATURE
        self.flags[entries] = local["flags"]
        self.has_descriptor[entries] = is_streamed = (local["flags"] & FLAG_DATA_DESCRIPTOR) != 0
        is_wide = np.stack([local[name] == MASK_32 for name in ("uncompressed_size", "compressed_size")], 1)
        extra_starts = positions + LOCAL_HEADER.size + local["name_length"]
        widened = is_wide, self._sizes(entries), is_streamed
        self.extras.count(data, extra_starts, positions + lengths, entries, widened)
        return np.delete(everything, rows)

    def _add_one(self, index: int) -> None:
        """Compare one header fully with the central directory; add the header, and its fault if any."""
        columns = self._columns
        offset = int(columns.header_offsets[index])
        try:
            local = read_header_at(self._source, offset)
        except FormatError as error:
            rule = error.rule or "zip/local-header"
            self.faults.append((index, f"local file header at {offset:,}: {error.message}", rule))
            return
        self.lengths[index] = local.length
        self.begins_as_archive[index] = self._source.read_at(offset + local.length, _PEEK) == LOCAL_SIGNATURE
        self.flags[index] = local.flags
        self.has_descriptor[index] = is_streamed = bool(local.flags & FLAG_DATA_DESCRIPTOR)
        row, extra = np.array([index]), local.extra
        is_wide = np.array([[local.uncompressed_size == MASK_32, local.compressed_size == MASK_32]])
        widened = is_wide, self._sizes(row), np.array([is_streamed])
        self.extras.count(extra + MARGIN, np.array([0]), np.array([len(extra)]), row, widened)
        contradiction = header_contradiction(columns.header(index), local)
        if contradiction is not None:
            self.extras.contradicts[index] = False  # the header's fault already reports it
            message = f"{contradiction} (local file header at {offset:,})"
            self.faults.append((index, message, "zip/local-header"))

    def _sizes(self, entries: NDArray[np.int64]) -> NDArray[np.uint64]:
        columns = self._columns
        return np.stack([columns.uncompressed_sizes[entries], columns.compressed_sizes[entries]], 1)


def _agrees(
    data: bytes, positions: NDArray[np.int64], local: NDArray[Any], columns: Columns, entries: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which headers certainly agree with the central directory; the others need a full comparison."""
    flags = columns.flags[entries]
    agrees: NDArray[np.bool_] = local["name_length"] == columns.name_lengths[entries]
    agrees &= local["method"] == columns.methods[entries]
    agrees &= ((local["flags"] ^ flags) & (FLAG_UTF8 | FLAG_ENCRYPTED)) == 0
    # APPNOTE 4.4.4, bit 3: CRC-32 and sizes are zero here and follow in a data descriptor.
    is_streamed = (local["flags"] & FLAG_DATA_DESCRIPTOR) != 0
    agrees &= (local["crc32"] == columns.crc32s[entries]) | (is_streamed & (local["crc32"] == 0))
    # APPNOTE 4.5.3: the ZIP64 field. A header needs the full comparison if another field comes first, or if only one
    # size is a sentinel.
    extra_starts = positions + LOCAL_HEADER.size + local["name_length"]
    extra_starts = np.where(local["extra_length"] >= 20, extra_starts, 0)
    is_wide = (local["compressed_size"] == MASK_32) & (local["uncompressed_size"] == MASK_32)
    is_wide &= (extra_starts > 0) & (gather(data, "<u2", extra_starts) == EXTRA_ZIP64)
    field_lengths = gather(data, "<u2", extra_starts + 2)
    is_wide &= (field_lengths >= 16) & (field_lengths + np.int64(4) <= local["extra_length"])
    for name, column, offset in (
        ("uncompressed_size", columns.uncompressed_sizes, 4),
        ("compressed_size", columns.compressed_sizes, 12),
    ):
        declared = np.where(is_wide, gather(data, "<u8", extra_starts + offset), local[name])
        agrees &= (declared == column[entries]) | (is_streamed & (declared == 0))
        agrees &= is_wide | (local[name] != MASK_32)
    agrees &= _same_names(data, positions + LOCAL_HEADER.size, columns, entries)
    return agrees


def _same_names(
    data: bytes, positions: NDArray[np.int64], columns: Columns, entries: NDArray[np.int64]
) -> NDArray[np.bool_]:
    directory = columns.buffer
    rows = zip(
        positions.tolist(),
        (columns.starts[entries] + CENTRAL_HEADER.size).tolist(),
        columns.name_lengths[entries].tolist(),
        strict=True,
    )
    return np.array([data[here : here + n] == directory[there : there + n] for here, there, n in rows], bool)
