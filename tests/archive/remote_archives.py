"""Shared parts of the tests of remote reading: archives that are longer than the tail, and readers of them."""

import random
from contextlib import contextmanager
from datetime import timedelta

from cases.archive_builder import ArchiveBuilder, array, group
from servers import serving

from ozx.archive.reader import ArchiveReader
from ozx.places.byte_source import MemorySource
from ozx.places.remote.source import RemoteSource

MIB = 1 << 20
TAIL = ("GET", f"bytes=-{MIB}")
CHUNK = random.Random(3).randbytes(300_000)
ZEROS = bytes(2 * MIB)
#: Metadata, then three chunks; the last chunk is longer than the tail.
VALUES = {
    "zarr.json": group(),
    "0/zarr.json": array([4], [1]),
    "1/zarr.json": array([4], [1]),
    "0/c/0": CHUNK,
    "0/c/1": CHUNK[::-1],
    "1/c/0": ZEROS,
}
#: Repeats requests soon, but not at once: obstore 0.12 panics if both times are equal.
SOON = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=10)}
HURRY = {"retry_config": {"max_retries": 3, "backoff": SOON}}


def build(values=VALUES) -> ArchiveBuilder:
    return ArchiveBuilder.of(values)


def header_end(data: bytes, name: str) -> tuple[int, int]:
    reader = ArchiveReader(MemorySource(data))
    index = reader.find(name)
    return int(reader.columns.header_offsets[index]), reader.data_offset(index)


def span(start: int, stop: int) -> tuple[str, str]:
    return "GET", f"bytes={start}-{stop - 1}"


@contextmanager
def opened(data: bytes, *, prefetch: bool = True):
    """Yield a server, whose list of requests is empty, and a reader that has read the directory (and the head)."""
    with serving(data) as server:
        reader = ArchiveReader(RemoteSource(server.url, HURRY))
        reader.check()
        if prefetch:
            reader.prefetch_head()
        server.take_requests()
        yield server, reader
