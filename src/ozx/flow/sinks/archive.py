"""Entries into an archive, the plain way: any source, any platform, one entry after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ozx.archive.writer import ArchiveWriter
from ozx.flow.entry import Entry
from ozx.progress import Progress

__all__ = ["write_entries"]


def write_entries(writer: ArchiveWriter, entries: Iterable[Entry], progress: Progress) -> None:
    """Write `entries` to `writer`, in their order, reading each only while it is written.

    Raises
    ------
    FormatError
        A value's source changed or is damaged; the archive is not to be used then.
    """
    for entry in entries:
        writer.add_blocks(entry.key, entry.size, _counted(entry.iter_blocks(), progress))


def _counted(blocks: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    for block in blocks:
        yield block
        progress.advance(len(block))
