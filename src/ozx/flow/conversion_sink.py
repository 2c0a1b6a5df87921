"""A converted hierarchy into an archive or a directory, and the proof that what was written is what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from ozx.archive.writer import ArchiveWriter
from ozx.flow.conversion import Conversion
from ozx.flow.entry import Entry
from ozx.flow.sinks import archive as archive_sink
from ozx.flow.sinks import directory as directory_sink
from ozx.flow.sinks import fast_assembling
from ozx.flow.sinks.verification import check_same_entries
from ozx.hierarchy.comment import make_comment
from ozx.progress import Progress

__all__ = ["Workers", "check_archive", "iter_entries", "working", "write_archive", "write_directory"]


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work.

    Attributes
    ----------
    jobs
        How many threads move bytes, and how many shards are transcoded at the same time.
    executor
        Decodes and encodes what is transcoded.
    """

    jobs: int
    executor: Executor


@contextmanager
def working(jobs: int | None, executor: Executor | None) -> Iterator[Workers]:
    """Give workers, which are sent home in the end where nobody brought them."""
    count = fast_assembling.default_jobs() if jobs is None else jobs
    if executor is not None:
        yield Workers(count, executor)
        return
    pool = ThreadPoolExecutor(count, "ozx-transcode")  # starts threads when there is something to do
    try:
        yield Workers(count, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def write_archive(conversion: Conversion, descriptor: int, workers: Workers, progress: Progress) -> tuple[int, int]:
    """Write an archive into the empty file `descriptor`; return its number of entries and of bytes.

    Raises
    ------
    FormatError
        A value is damaged or changed while it was read; the file is not to be used then.
    """
    writer = ArchiveWriter(descriptor)
    archive_sink.write_entries(writer, conversion.iter_head(), progress)
    data = conversion.iter_data(workers.executor, workers.jobs)
    if fast_assembling.is_available():
        fast_assembling.write_entries(writer, data, progress, workers.jobs)
    else:
        archive_sink.write_entries(writer, data, progress)
    # RFC-9 (R2): jsonFirst is true as `iter_head` comes first, breadth-first.
    size = writer.finish(make_comment(conversion.version, json_first=True))
    return writer.directory.entries, size


def write_directory(conversion: Conversion, folder: str, workers: Workers, progress: Progress) -> tuple[int, int]:
    """Write files into the empty directory `folder`; return how many, and of how many bytes; see `write_archive`."""
    counted = _Counter()
    directory_sink.write_lazily(folder, counted.count(iter_entries(conversion, workers)), progress)
    return counted.entries, counted.bytes


def check_archive(conversion: Conversion, path: str, workers: Workers, progress: Progress) -> None:
    """Read an archive back and compare each value with what it was made from, made once more.

    Raises
    ------
    ResourceError
        A key is missing or a value differs: memory, disk or network damaged it.
    """
    check_same_entries(path, iter_entries(conversion, workers), progress)


def iter_entries(conversion: Conversion, workers: Workers) -> Iterator[Entry]:
    """Yield all entries of a converted hierarchy in the order of an archive."""
    yield from conversion.iter_head()
    yield from conversion.iter_data(workers.executor, workers.jobs)


class _Counter:
    def __init__(self) -> None:
        self.entries = self.bytes = 0

    def count(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            self.entries += 1
            self.bytes += entry.size
            yield entry
