"""Entries out of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ozx.archive.reader import ArchiveReader
from ozx.flow.entry import ArchivedPart, Entry

__all__ = ["iter_entries"]


def iter_entries(reader: ArchiveReader, indices: Iterable[int]) -> Iterator[Entry]:
    """Yield the entries with `indices`; each value is read, inflated and checked when its bytes are asked for."""
    for index in indices:
        yield Entry(reader.columns.name(index), (ArchivedPart(reader, index),))
