"""All local file headers of an archive, read once and block-wise, as columns.

A million small entries are a few thousand reads and numpy operations. Only headers that do not agree with the central
directory at first sight are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource, read_exactly
from ozx.archive.columns import Columns
from ozx.archive.entry_reading import header_contradiction
from ozx.archive.records import (
    CENTRAL_HEADER,
    EXTRA_ZIP64,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_UTF8,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_32,
    LocalHeader,
)
from ozx.errors import FormatError

__all__ = ["ExtraCensus", "HeaderFault", "LocalHeaders", "count_extra_fields", "read_local_headers"]

# APPNOTE 4.3.7, field by field as in `records.LOCAL_HEADER`.
_HEADER = np.dtype(
    [
        ("signature", "<u4"),
        ("version_needed", "<u2"),
        ("flags", "<u2"),
        ("method", "<u2"),
        ("time", "<u2"),
        ("date", "<u2"),
        ("crc32", "<u4"),
        ("compressed_size", "<u4"),
        ("uncompressed_size", "<u4"),
        ("name_length", "<u2"),
        ("extra_length", "<u2"),
    ]
)
_SIGNATURE = int.from_bytes(LOCAL_SIGNATURE, "little")

# An extra field is guessed to fit here; the four bytes after a header tell whether its value begins like an archive.
_EXTRA_GUESS = 128
_PEEK = len(LOCAL_SIGNATURE)
# Reading over a gap of this length costs about as much as a second read.
_GAP = 1 << 14
_READ = 1 << 20
_BATCH = 4 << 20
# What a position in a batch may reach past its end: a header, or a ZIP64 field with its two sizes.
_MARGIN = bytes(64)


class HeaderFault(NamedTuple):
    """What is wrong with the local header of entry `entry`, and the rule it breaks."""

    entry: int
    message: str
    rule: str


@dataclass(slots=True)
class ExtraCensus:
    """Which extra fields there are.

    Attributes
    ----------
    counts
        Header id to the number of entries that have such a field.
    first
        Header id to the index of one entry that has it.
    has_zip64
        Whether entry i has a ZIP64 field.
    """

    has_zip64: NDArray[np.bool_]
    counts: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class LocalHeaders:
    """The local file headers; row i belongs to entry i of the central directory.

    Attributes
    ----------
    lengths
        Bytes of each header, name and extra field included; -1 where there is none that can be read.
    begins_as_archive
        Whether the bytes of the entry begin with the signature of a local file header.
    extras
        The extra fields of the local headers.
    faults
        Headers that are missing, cut off, or contradict the central directory.
    """

    lengths: NDArray[np.int32]
    begins_as_archive: NDArray[np.bool_]
    extras: ExtraCensus
    faults: list[HeaderFault] = field(default_factory=list)


class _Batch(NamedTuple):
    """Headers of `entries` at `positions` in `data`; what was read for each ends at `ends`."""

    data: bytes
    entries: NDArray[np.int64]
    positions: NDArray[np.int64]
    ends: NDArray[np.int64]


def read_local_headers(source: ByteSource, columns: Columns, entries: NDArray[np.int64]) -> LocalHeaders:
    """Return the local headers of `entries`.

    Parameters
    ----------
    source
        The archive.
    columns
        Its central directory.
    entries
        Indices of the entries whose headers are read, sorted by header offset; these lie inside the file.
    """
    count = len(columns)
    headers = LocalHeaders(
        lengths=np.full(count, -1, np.int32),
        begins_as_archive=np.zeros(count, bool),
        extras=ExtraCensus(np.zeros(count, bool)),
    )
    for batch in _iter_batches(source, columns, entries):
        for index in _take(batch, columns, headers).tolist():
            _take_one(source, columns, int(index), headers)
    return headers


def count_extra_fields(
    data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], entries: NDArray[np.int64], census: ExtraCensus
) -> None:
    """Add the extra fields between `starts` and `ends` in `data` to a census (APPNOTE 4.5).

    Parameters
    ----------
    data
        Bytes that hold the extra-field blocks.
    starts, ends
        Where each block begins and ends; a tail too short to be a field is passed over.
    entries
        The entry each block belongs to.
    census
        Is added to.
    """
    while len(starts):
        fits = starts + 4 <= ends
        starts, ends, entries = starts[fits], ends[fits], entries[fits]
        if len(starts) == 0:
            return
        identifiers = _gather(data, "<u2", starts)
        after = starts + 4 + _gather(data, "<u2", starts + 2)
        fits = after <= ends
        starts, ends, entries, identifiers = after[fits], ends[fits], entries[fits], identifiers[fits]
        found, first, counts = np.unique(identifiers, return_index=True, return_counts=True)
        for identifier, where, number in zip(found.tolist(), first.tolist(), counts.tolist(), strict=True):
            census.counts[identifier] = census.counts.get(identifier, 0) + number
            census.first.setdefault(identifier, int(entries[where]))
        census.has_zip64[entries[identifiers == EXTRA_ZIP64]] = True


def _gather(data: bytes, dtype: Any, positions: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values at `positions`, aligned or not; every one lies wholly in `data`."""
    kind = np.dtype(dtype)
    everywhere: NDArray[Any] = np.ndarray((len(data) - kind.itemsize + 1,), kind, data, 0, (1,))
    return everywhere[positions]


def _iter_batches(source: ByteSource, columns: Columns, entries: NDArray[np.int64]) -> Iterator[_Batch]:
    starts = columns.header_offsets[entries].astype(np.int64)
    guesses = starts + (LOCAL_HEADER.size + _EXTRA_GUESS + _PEEK) + columns.name_lengths[entries]
    furthest = np.maximum.accumulate(guesses) if len(guesses) else guesses
    # A run is what is read in one go, as far as the block's length allows.
    run_ends = np.append(np.flatnonzero(starts[1:] - furthest[:-1] > _GAP) + 1, len(starts)).tolist()
    pieces: list[bytes] = []
    positions: list[NDArray[np.int64]] = []
    ends: list[NDArray[np.int64]] = []
    first = following = used = 0
    for run_end in run_ends:
        while following < run_end:
            stop = int(np.searchsorted(starts[following:run_end], starts[following] + _READ)) + following
            begin = int(starts[following])
            piece = source.read_at(begin, int(furthest[stop - 1]) - begin)
            pieces.append(piece)
            positions.append(starts[following:stop] - begin + used)
            ends.append(np.minimum(guesses[following:stop] - begin, len(piece)) + used)
            used, following = used + len(piece), stop
            if used >= _BATCH:
                yield _Batch(
                    b"".join((*pieces, _MARGIN)), entries[first:stop], np.concatenate(positions), np.concatenate(ends)
                )
                pieces, positions, ends, first, used = [], [], [], stop, 0
    if pieces:
        yield _Batch(b"".join((*pieces, _MARGIN)), entries[first:], np.concatenate(positions), np.concatenate(ends))


def _take(batch: _Batch, columns: Columns, headers: LocalHeaders) -> NDArray[np.int64]:
    """Take the headers of a batch that are whole and agree; return the entries that need a closer look."""
    whole = batch.positions + LOCAL_HEADER.size <= batch.ends
    rows = np.flatnonzero(whole)
    local = _gather(batch.data, _HEADER, batch.positions[rows])
    lengths = LOCAL_HEADER.size + local["name_length"].astype(np.int64) + local["extra_length"]
    is_header = (local["signature"] == _SIGNATURE) & (batch.positions[rows] + lengths + _PEEK <= batch.ends[rows])
    rows, local, lengths = rows[is_header], local[is_header], lengths[is_header]
    positions, entries = batch.positions[rows], batch.entries[rows]
    agrees = _agrees(batch.data, positions, local, columns, entries)
    rows, local, lengths = rows[agrees], local[agrees], lengths[agrees]
    positions, entries = positions[agrees], entries[agrees]
    headers.lengths[entries] = lengths
    headers.begins_as_archive[entries] = _gather(batch.data, "<u4", positions + lengths) == _SIGNATURE
    extra_starts = positions + LOCAL_HEADER.size + local["name_length"]
    count_extra_fields(batch.data, extra_starts, positions + lengths, entries, headers.extras)
    return np.delete(batch.entries, rows)


def _agrees(
    data: bytes, positions: NDArray[np.int64], local: NDArray[Any], columns: Columns, entries: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which headers agree with the central directory; False also where the answer is not simple."""
    flags = columns.flags[entries]
    agrees: NDArray[np.bool_] = local["name_length"] == columns.name_lengths[entries]
    agrees &= local["method"] == columns.methods[entries]
    agrees &= ((local["flags"] ^ flags) & (FLAG_UTF8 | FLAG_ENCRYPTED)) == 0
    # APPNOTE 4.4.4, bit 3: CRC-32 and sizes are zero here and follow in a data descriptor.
    is_streamed = (local["flags"] & FLAG_DATA_DESCRIPTOR) != 0
    agrees &= (local["crc32"] == columns.crc32s[entries]) | (is_streamed & (local["crc32"] == 0))
    # APPNOTE 4.5.3: the ZIP64 field; other orders of fields, and one sentinel alone, are for the closer look.
    extra_starts = positions + LOCAL_HEADER.size + local["name_length"]
    extra_starts = np.where(local["extra_length"] >= 20, extra_starts, 0)
    is_wide = (local["compressed_size"] == MASK_32) & (local["uncompressed_size"] == MASK_32)
    is_wide &= (extra_starts > 0) & (_gather(data, "<u2", extra_starts) == EXTRA_ZIP64)
    field_lengths = _gather(data, "<u2", extra_starts + 2)
    is_wide &= (field_lengths >= 16) & (field_lengths + np.int64(4) <= local["extra_length"])
    for name, column, offset in (
        ("uncompressed_size", columns.uncompressed_sizes, 4),
        ("compressed_size", columns.compressed_sizes, 12),
    ):
        declared = np.where(is_wide, _gather(data, "<u8", extra_starts + offset), local[name])
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


def _take_one(source: ByteSource, columns: Columns, index: int, headers: LocalHeaders) -> None:
    """Take one header, slowly and exactly."""
    offset = int(columns.header_offsets[index])
    try:
        data = source.read_at(offset, LOCAL_HEADER.size)
        if len(data) == LOCAL_HEADER.size:
            rest = int.from_bytes(data[26:28], "little") + int.from_bytes(data[28:30], "little")
            if data.startswith(LOCAL_SIGNATURE):
                data = read_exactly(source, offset, LOCAL_HEADER.size + rest, "a local file header")
        local = LocalHeader.from_bytes(data)
    except FormatError as error:
        rule = error.rule or "zip/local-header"
        headers.faults.append(HeaderFault(index, f"local file header at {offset:,}: {error.message}", rule))
        return
    headers.lengths[index] = local.length
    headers.begins_as_archive[index] = source.read_at(offset + local.length, _PEEK) == LOCAL_SIGNATURE
    start = LOCAL_HEADER.size + len(local.name)
    row = np.array([index])
    count_extra_fields(data + _MARGIN, np.array([start]), np.array([local.length]), row, headers.extras)
    contradiction = header_contradiction(columns.header(index), local)
    if contradiction is not None:
        message = f"{contradiction} (local file header at {offset:,})"
        headers.faults.append(HeaderFault(index, message, "zip/local-header"))
