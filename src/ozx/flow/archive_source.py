"""Entries out of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ozx.archive.reader import ArchiveReader
from ozx.flow.entry import Entry

__all__ = ["ArchivedPart", "iter_entries"]


@dataclass(frozen=True, slots=True)
class ArchivedPart:
    """The value of an entry of an archive, inflated where it is deflated, its CRC-32 checked."""

    reader: ArchiveReader
    index: int

    @property
    def length(self) -> int:
        """The number of bytes after inflating."""
        return int(self.reader.columns.uncompressed_sizes[self.index])

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the value; raises what `ArchiveReader.read` raises."""
        return self.reader.iter_blocks(self.index)


def iter_entries(reader: ArchiveReader, indices: Iterable[int]) -> Iterator[Entry]:
    """Yield the entries with `indices`; each value is read, inflated and checked when its bytes are asked for."""
    for index in indices:
        yield Entry(reader.columns.name(index), (ArchivedPart(reader, index),))
