"""What the tests of remote reading share: archives of more than the tail holds, and readers of them."""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import timedelta

from range_server import serving

from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.source import RemoteSource
from ozx.validation.cases.archive_builder import ArchiveBuilder, array, group

MIB = 1 << 20
TAIL = ("GET", f"bytes=-{MIB}")
CHUNK = random.Random(3).randbytes(300_000)
ZEROS = bytes(2 * MIB)
#: What is read first, then three chunks, then more than the tail holds.
VALUES = {
    "zarr.json": group(),
    "0/zarr.json": array([4], [1]),
    "1/zarr.json": array([4], [1]),
    "0/c/0": CHUNK,
    "0/c/1": CHUNK[::-1],
    "1/c/0": ZEROS,
}
#: Repeats soon. Not at once: obstore 0.12 panics when both times are the same.
SOON = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=10)}
HURRY = {"retry_config": {"max_retries": 3, "backoff": SOON}}


def build(values=VALUES) -> ArchiveBuilder:
    builder = ArchiveBuilder()
    for name, value in values.items():
        builder.add(name, value)
    return builder


def header_end(data: bytes, name: str) -> tuple[int, int]:
    """Return where the local header of an entry begins, and where its data begin."""
    reader = ArchiveReader(MemorySource(data))
    index = reader.find(name)
    return int(reader.columns.header_offsets[index]), reader.data_offset(index)


def span(start: int, stop: int) -> tuple[str, str]:
    return "GET", f"bytes={start}-{stop - 1}"


@contextmanager
def opened(data: bytes, *, prefetch: bool = True):
    """Give a server and a reader that knows the directory (and the head); their requests are taken already."""
    with serving(data) as server:
        reader = ArchiveReader(RemoteSource(server.url, HURRY))
        reader.check()
        if prefetch:
            reader.prefetch_head()
        server.take_requests()
        yield server, reader
