"""A plan into an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ozx.archive.writer import ArchiveWriter
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.sinks import fast_assembling, fast_packing
from ozx.flow.workers import Workers
from ozx.progress import Progress

__all__ = ["write_archive", "write_entries"]


def write_archive(plan: Plan, descriptor: int, workers: Workers, progress: Progress) -> tuple[int, int]:
    """Write a plan into the empty file `descriptor`; return the number of entries and of bytes.

    The bytes are the same on every system: POSIX systems write data by `fast_packing` or `fast_assembling`.

    Raises
    ------
    FormatError
        A value is damaged or changed while it was read; the file is not to be used then.
    """
    writer = ArchiveWriter(descriptor)
    write_entries(writer, plan.iter_head(), progress)
    if plan.files is not None and fast_packing.is_available():
        fast_packing.write_files(writer, plan.files.root, plan.files.folders, progress)
    elif fast_assembling.is_available():
        fast_assembling.write_entries(writer, plan.iter_data(workers), progress, workers.jobs)
    else:
        write_entries(writer, plan.iter_data(workers), progress)
    size = writer.finish(plan.comment)
    return writer.directory.entries, size


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
