"""Search for Unicode Path extra fields whose names differ from the names in the headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ozx.archive.columns import Columns
from ozx.archive.extra_fields import ExtraCensus, Widened, count_extra_fields
from ozx.archive.file_kinds import central_field
from ozx.archive.names.decoding import contradicting_path
from ozx.archive.records import CENTRAL_HEADER, EXTRA_UNICODE_PATH, MASK_32


class OtherPath(NamedTuple):
    """A Unicode Path field that contradicts the name of entry `entry`; `path` is the name in the field."""

    entry: int
    path: bytes


def count_central_extras(columns: Columns, prepended: int) -> ExtraCensus:
    """Return counts of the extra fields in a central directory, by entry and by kind."""
    census = ExtraCensus.of(len(columns))
    lengths = central_field(columns, "<u2", 30)
    entries = np.flatnonzero(lengths)
    starts = columns.starts[entries] + CENTRAL_HEADER.size + columns.name_lengths[entries]
    is_wide = np.stack([central_field(columns, "<u4", place)[entries] == MASK_32 for place in (24, 20, 42)], 1)
    offsets = columns.header_offsets[entries] - np.uint64(prepended)
    values = np.stack([columns.uncompressed_sizes[entries], columns.compressed_sizes[entries], offsets], 1)
    widened = Widened(is_wide, values, np.zeros(len(entries), bool))
    count_extra_fields(columns.buffer, starts, starts + lengths[entries], entries, widened, census)
    return census


def iter_other_paths(columns: Columns, paths: Iterable[tuple[int, bytes]]) -> Iterator[OtherPath]:
    """Yield the Unicode Path fields that contradict an entry's name, given pairs of an entry and its field data."""
    for entry, data in paths:
        path = contradicting_path(columns.raw_name(entry), int(columns.flags[entry]), data)
        if path is not None:
            yield OtherPath(entry, path)


def find_unicode_paths(columns: Columns) -> list[tuple[int, bytes]]:
    """Return each entry with a Unicode Path field in the central directory, and the data of the field."""
    identifier = EXTRA_UNICODE_PATH.to_bytes(2, "little")
    if not central_field(columns, "<u2", 30).any() or identifier not in columns.buffer:
        return []
    return count_central_extras(columns, 0).unicode_paths
