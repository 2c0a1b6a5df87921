"""Checks of the extra fields of many headers at the same time: their ids, lengths, ZIP64 values and other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns, gather
from ozx.archive.names.decoding import contradicting_path
from ozx.archive.records import (
    CENTRAL_HEADER,
    EXTRA_AES,
    EXTRA_TIMES,
    EXTRA_UNICODE_PATH,
    EXTRA_ZIP64,
    MASK_32,
)

# bsdtar 3.6 rejects the whole archive if one of these fields is shorter.
_LEAST_LENGTHS = {EXTRA_TIMES: 1, EXTRA_AES: 6}


#: Header fields that a ZIP64 field can extend, in the order of APPNOTE 4.5.3, one header per row: whether each is
#: 0xFFFFFFFF, so that its value is in the ZIP64 field; the real values; whether the values of a header may be zero in
#: the ZIP64 field, because a data descriptor contains them.
Widened = tuple[NDArray[np.bool_], NDArray[np.uint64], NDArray[np.bool_]]


class ExtraFields:
    """What is known of the extra fields of all entries."""

    def __init__(self, entries: int) -> None:
        self.has_zip64 = np.zeros(entries, bool)  # whether entry i has a ZIP64 field
        # Whether entry i has a ZIP64 field that contradicts the sizes or the offset of the entry.
        self.contradicts = np.zeros(entries, bool)
        # Whether entry i has a field that is longer than its block or too short for its kind, or has a block that is
        # too short for a field and does not consist of zeros.
        self.is_broken = np.zeros(entries, bool)
        self.unicode_paths: list[tuple[int, bytes]] = []  # entries with a Unicode Path field, and its data
        self.counts: dict[int, int] = {}  # header id to the number of entries with such a field
        self.first: dict[int, int] = {}  # header id to the index of one entry with such a field

    def count(
        self,
        data: bytes,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        entries: NDArray[np.int64],
        widened: Widened,
    ) -> None:
        """Count the extra fields (APPNOTE 4.5) of `entries`, in `data` from `starts` to `ends`.

        Bytes after the last field of a block are ignored if they are too few for another field. ZIP64 fields have to
        agree with the fields in `widened`.
        """
        rows = np.arange(len(starts))
        # bsdtar 3.6 refuses a block of up to three bytes that are not zero, but ignores such bytes behind a field.
        for row in np.flatnonzero((ends > starts) & (ends - starts < 4)).tolist():
            self.is_broken[entries[row]] |= any(data[starts[row] : ends[row]])
        while len(rows):
            fits = starts + 4 <= ends
            starts, ends, rows = starts[fits], ends[fits], rows[fits]
            if len(rows) == 0:
                return
            identifiers, lengths = gather(data, "<u2", starts), gather(data, "<u2", starts + 2).astype(np.int64)
            fits = starts + 4 + lengths <= ends
            is_broken = ~fits
            for identifier, least in _LEAST_LENGTHS.items():
                is_broken |= (identifiers == identifier) & (lengths < least)
            self.is_broken[entries[rows[is_broken]]] = True
            starts, ends, rows, identifiers, lengths = (
                column[fits] for column in (starts + 4, ends, rows, identifiers, lengths)
            )
            found, first, counts = np.unique(identifiers, return_index=True, return_counts=True)
            for identifier, where, number in zip(found.tolist(), first.tolist(), counts.tolist(), strict=True):
                self.counts[identifier] = self.counts.get(identifier, 0) + number
                self.first.setdefault(identifier, int(entries[rows[where]]))
            wide = np.flatnonzero(identifiers == EXTRA_ZIP64)
            if len(wide):
                self.has_zip64[entries[rows[wide]]] = True
                agree = _agree(widened, data, starts[wide], lengths[wide], rows[wide])
                self.contradicts[entries[rows[wide[~agree]]]] = True
            for row in np.flatnonzero(identifiers == EXTRA_UNICODE_PATH).tolist():
                begin = int(starts[row])
                self.unicode_paths.append((int(entries[rows[row]]), bytes(data[begin : begin + int(lengths[row])])))
            starts = starts + lengths


def _agree(
    widened: Widened, data: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return for each ZIP64 field (at `starts` in `data`) whether the field agrees with its header (in row `rows`).

    4.5.3: fields "MUST only appear if the corresponding … field is set to 0xFFFF or 0xFFFFFFFF". A writer that always
    writes all of these fields does no harm if the values agree.
    """
    is_wide, values, may_be_zero = widened[0][rows], widened[1][rows], widened[2][rows]
    counts, fits = lengths // 8, np.ones(len(rows), bool)
    for place in range(is_wide.shape[1]):
        is_present = counts > place
        held = gather(data, "<u8", np.where(is_present, starts + 8 * place, 0))
        fits &= (held == values[:, place]) | ~is_present | (may_be_zero & (held == 0))
    others = np.flatnonzero(~fits)
    if len(others):
        fits[others] = _hold_wide_values(data, starts[others], counts[others], is_wide[others], values[others])
    return fits


def _hold_wide_values(
    data: bytes,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    is_wide: NDArray[np.bool_],
    values: NDArray[np.uint64],
) -> NDArray[np.bool_]:
    """Return for each ZIP64 field whether it contains exactly the values that need 64 bits."""
    fits: NDArray[np.bool_] = counts == is_wide.sum(1)
    places = np.cumsum(is_wide, 1) - 1
    for place in range(is_wide.shape[1]):
        needed = is_wide[:, place]
        held = gather(data, "<u8", np.where(needed & fits, starts + 8 * places[:, place], 0))
        fits &= ~needed | (held == values[:, place])
    return fits


def count_central_extras(columns: Columns, prepended: int) -> ExtraFields:
    """Return counts of the extra fields in a central directory, by entry and by kind."""
    fields = ExtraFields(len(columns))
    lengths = columns.field("<u2", 30)
    entries = np.flatnonzero(lengths)
    starts = columns.starts[entries] + CENTRAL_HEADER.size + columns.name_lengths[entries]
    is_wide = np.stack([columns.field("<u4", place)[entries] == MASK_32 for place in (24, 20, 42)], 1)
    offsets = columns.header_offsets[entries] - np.uint64(prepended)
    values = np.stack([columns.uncompressed_sizes[entries], columns.compressed_sizes[entries], offsets], 1)
    widened = is_wide, values, np.zeros(len(entries), bool)
    fields.count(columns.buffer, starts, starts + lengths[entries], entries, widened)
    return fields


def iter_other_paths(columns: Columns, paths: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield each entry whose Unicode Path field contradicts its name, and the name in the field.

    `paths`: pairs of an entry and the data of its field.
    """
    for entry, data in paths:
        path = contradicting_path(columns.raw_name(entry), int(columns.flags[entry]), data)
        if path is not None:
            yield entry, path


def find_unicode_paths(columns: Columns) -> list[tuple[int, bytes]]:
    """Return each entry with a Unicode Path field in the central directory, and the data of the field."""
    identifier = EXTRA_UNICODE_PATH.to_bytes(2, "little")
    if not columns.field("<u2", 30).any() or identifier not in columns.buffer:
        return []
    return count_central_extras(columns, 0).unicode_paths
