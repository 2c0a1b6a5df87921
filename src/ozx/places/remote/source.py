"""A source of bytes for an archive at a URL, read by range requests.

The first request is for the last MiB of the file. Its response also contains the length of the file and its ETag or
modification time, by which ozx notices a change. A caller that reads metadata next lets a second request for the
beginning of the file go with it. docs/decisions/0009-remote-by-obstore.md explains why obstore is used, and which
requests are made.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ozx.errors import OzxError
from ozx.file_changes import Mark
from ozx.places.byte_source import MemorySource
from ozx.places.remote.access import access_options
from ozx.places.remote.cache import LONGEST_RECORD, Record, find_record, has_strong_tag, store_record
from ozx.places.remote.deadline import count_traffic, in_background
from ozx.places.remote.errors import printable_url
from ozx.places.remote.requests import Requests, is_forked
from ozx.places.remote.urls import split_key_url

if TYPE_CHECKING:
    from ozx.places.remote.helper import HelperRequests

    Transport: TypeAlias = Requests | HelperRequests

# Reading of many values of one remote file with few requests.

_MOST_HELD = 4
# A read of this length is a request of its own.
_LONG = 8 << 20
# How often a block is requested, because other reads have displaced it; after that, reads of it are exact.
_MOST_FETCHES = 3


#: Returns a number of bytes from an offset, or fewer bytes at the end of the file.
ReadView: TypeAlias = Callable[[int, int], bytes | memoryview]


def reading_blocks(fetch: ReadView, block_length: int) -> ReadView:
    """Return a reader of the short reads of one file, by requests for whole blocks; thread-safe.

    The first read in a block requests only its own bytes, the second read requests the block: a few values that lie far
    apart stay cheap. At most four blocks are held, those that were read last.
    """
    lock = threading.Lock()
    blocks: OrderedDict[int, Future[bytes | memoryview]] = OrderedDict()
    reads: Counter[int] = Counter()  # by block: one read, then the number of requests for the block

    def block_of(number: int) -> bytes | memoryview | None:
        """Return the bytes of a block; None for the first read in the block, and if the block was displaced often."""
        with lock:
            held = blocks.get(number)
            if held is None:
                reads[number] += 1
                if not 1 < reads[number] <= _MOST_FETCHES + 1:
                    return None
                own = blocks[number] = Future()
                if len(blocks) > _MOST_HELD:
                    blocks.popitem(last=False)
            else:
                blocks.move_to_end(number)
        if held is not None:
            return held.result()
        try:
            own.set_result(fetch(number * block_length, block_length))
        except BaseException as error:
            own.set_exception(error)
            with lock:
                blocks.pop(number, None)
            raise
        return own.result()

    def read(offset: int, length: int) -> bytes | memoryview:
        if length >= _LONG:
            return fetch(offset, length)
        found = []
        while length > 0:
            number, start = divmod(offset, block_length)
            taken = min(length, block_length - start)
            data = block_of(number)
            found.append(fetch(offset, taken) if data is None else data[start : start + taken])
            offset, length = offset + taken, length - taken
        return found[0] if len(found) == 1 else b"".join(found)

    return read


# Length of the first request: its response contains the whole directory of an archive of some thousand entries.
_TAIL = 1 << 20
# Length of the request for the beginning, which contains the `zarr.json` entries of most images, and those of a plate
# with 96 wells.
_HEAD = 1 << 19
# A server that answers within this time, in seconds, is near: then the beginning is requested when it is needed.
_PATIENCE = 0.0005
# The largest number of bytes that `remember` keeps.
_HEAD_LIMIT = 64 << 20


def _store_kept(url: str, options: Mapping[str, Any], kept: dict[Mark, list[MemorySource]]) -> None:
    """Write the spans of metadata to the cache; called when the source is closed or deleted."""
    while kept:
        mark, spans = kept.popitem()
        store_record(url, options, Record(mark, tuple(spans)))


class RemoteSource:
    """A source of bytes for an object at a URL; safe to use with threads, event loops, fork and pickle.

    Every response is compared with the first one: a changed file raises an error and never gives wrong bytes. `name` is
    the URL without its query, which may contain a signature. `requests` and `bytes_read` do not count repetitions after
    failures.

    `url`: ``https://``, ``http://``, ``s3://bucket/key``, ``gs://bucket/key`` or ``az://container/key``. Characters are
    escaped as in any URL (``%20``).

    `options`: keyword arguments for obstore: `client_options` and `retry_config` for every scheme; for object stores
    also their configuration, such as ``{"region": "eu-central-1", "skip_signature": True}``.
    """

    #: The length of one request for a part of a long value.
    block = 32 << 20

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        scheme = split_key_url(url).scheme
        self.url = url
        self.name = printable_url(url)
        self.requests = self.bytes_read = 0
        self._options = access_options(scheme, options or {})
        self._expected: Mark | None = None
        # The first answer, and bytes that an earlier run read.
        self._known: Record | None = None
        self._cached: tuple[MemorySource, ...] = ()
        self._head = MemorySource(b"")
        self._reads_head = False
        self._early_head: Future[Record | None] | None = None
        self._read_blocks: ReadView | None = None
        self._kept: dict[Mark, list[MemorySource]] = {}  # metadata for the cache, by the mark of their file
        weakref.finalize(self, _store_kept, url, self._options, self._kept)
        self._begin_in_process()

    def __getstate__(self) -> dict[str, Any]:
        # A copy requests the tail again, and raises if the file changed.
        return {"url": self.url, "options": self._options, "expected": self._mark()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["url"], state["options"])  # type: ignore[misc]
        self._expected = state["expected"]

    def size(self) -> int:
        """Return the length in bytes, as it was at the first read."""
        return self._first().mark.size

    @property
    def identity(self) -> str:
        """The file's ETag, or its modification time if it has no ETag, or an empty string; read at the first use."""
        return self._first().mark.identity

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the file; make at most one request."""
        return bytes(self.read_view(offset, length))

    def read_view(self, offset: int, length: int) -> bytes | memoryview:
        """Return the same bytes as `read_at`, without a copy if one request returns all of them."""
        remembered, missing = self._look(self._first(), offset, length)
        if missing == 0:
            return remembered
        data = (self._read_blocks or self._request)(offset, missing)
        return b"".join((data, remembered)) if remembered else data

    def read_head_early(self) -> None:
        """Let the first use also request the beginning of the file, at the same time, unless the server is near."""
        self._reads_head = True

    def read_in_runs(self) -> None:
        """Combine later short reads into requests for 32 MiB, because most of the file will be read."""
        self._read_blocks = reading_blocks(self._request, self.block)

    @property
    def coalescing(self) -> tuple[int, int]:
        """The longest gap between two values that costs less than a second request, and the length of one request."""
        return (1 << 20, 16 << 20) if self._read_blocks is None else (0, 1 << 20)

    def _request(self, offset: int, length: int) -> bytes | memoryview:
        """Return `length` bytes from `offset`, or fewer bytes where the tail of the file begins, by one request."""
        length = min(length, self._first().spans[-1].start - offset)
        self._count(length)
        data = self._transport().fetch(offset, length, self._mark()).spans[0].data
        count_traffic(length)
        return data

    async def read_view_async(self, offset: int, length: int) -> bytes | memoryview:
        """Return the same bytes as `read_view`, without blocking the event loop."""
        known = self._known
        if known is None:
            known = await asyncio.to_thread(self._first)
        remembered, missing = self._look(known, offset, length)
        if missing == 0:
            return remembered
        if self._read_blocks is not None:
            return await asyncio.to_thread(self.read_view, offset, length)
        self._count(missing)
        data = (await self._transport().fetch_async(offset, missing, known.mark)).spans[0].data
        count_traffic(missing)
        return b"".join((data, remembered)) if remembered else data

    def missing(self, offset: int, length: int) -> int:
        """Return the number of bytes that `read_at` would request; bytes in memory are not requested."""
        return self._look(self._first(), offset, length)[1]

    def remember(self, offset: int, length: int) -> None:
        """Read a span of up to 64 MiB with one request, and keep it in memory for later reads."""
        length = min(length, _HEAD_LIMIT)
        self._take_head(self._first())
        if self._look(self._first(), offset, length)[1]:
            early = self._head.data if self._head.start == offset else b""
            rest = self.read_at(offset + len(early), length - len(early))
            self._head = MemorySource(b"".join((early, rest)), start=offset)
        if self._head.start <= offset < self._head.size():
            self.keep(offset, self._head.read_at(offset, length))

    def keep(self, offset: int, data: bytes, *, is_directory: bool = False) -> None:
        """Keep bytes of metadata for later runs, if the server gives a strong ETag; see `ozx.places.remote.cache`."""
        known = self._known
        if known is None or not has_strong_tag(known.mark.identity) or known.spans[-1].start == 0:
            return
        span = MemorySource(data, start=offset)
        if any(_holds(held, offset, span.size()) for held in self._kept.get(known.mark, self._cached)):
            return
        with self._own_lock():
            kept = self._kept.setdefault(known.mark, list(known.spans))
            if sum(len(each.data) for each in kept) + len(data) <= (LONGEST_RECORD if is_directory else _HEAD_LIMIT):
                kept.append(span)

    def check_unchanged(self) -> None:
        """Do nothing: every response is compared with the first response when it arrives."""

    def close(self) -> None:
        """Close connections and drop remembered bytes; a later read reconnects, and expects the same file."""
        _store_kept(self.url, self._options, self._kept)
        self._expected, self._known, self._head = self._mark(), None, MemorySource(b"")
        self._early_head, self._cached = None, ()
        self._read_blocks = None if self._read_blocks is None else reading_blocks(self._request, self.block)
        transport = self._opened
        self._begin_in_process()
        if transport is not None:
            transport.close()

    def _mark(self) -> Mark | None:
        return self._expected if self._known is None else self._known.mark

    def _first(self) -> Record:
        """Return the facts from the first response; make the first request if necessary."""
        known = self._known
        if known is not None:
            return known
        transport = self._transport()
        with self._own_lock():
            if self._known is None:
                record = find_record(self.url, self._options)
                if record is not None and self._is_present(record, transport):
                    self._known, self._cached = record, record.spans
                elif self._reads_head:
                    self._known = self._ask_both(transport)
                else:
                    self._known = self._ask(transport, _TAIL)
            return self._known

    def _is_present(self, record: Record, transport: Transport) -> bool:
        """Return whether a cached record is one of the present file, and contains its end; make a short request."""
        mark, spans = record
        is_present = self._ask(transport, 1).mark == mark and has_strong_tag(mark.identity)
        return is_present and spans != () and spans[-1].size() == mark.size

    def _ask_both(self, transport: Transport) -> Record:
        """Request the end of the file and, if the answer takes time, the beginning as well."""
        answered = threading.Event()
        expected = self._expected

        def ask_head() -> Record | None:
            return None if answered.wait(_PATIENCE) else transport.fetch(0, _HEAD, expected)

        self._early_head = in_background(ask_head)
        try:
            return self._ask(transport, _TAIL)
        finally:
            answered.set()

    def _take_head(self, known: Record) -> None:
        """Keep the beginning of the file, if it was requested early; after a failure, it will be requested again."""
        with self._own_lock():
            head, self._early_head = self._early_head, None
        with suppress(OzxError):
            answer = None if head is None else head.result()
            if answer is not None and answer.mark == known.mark:
                (self._head,) = answer.spans
                self._count(len(self._head.data))
                count_traffic(len(self._head.data))

    def _ask(self, transport: Transport, length: int) -> Record:
        """Request the last `length` bytes of the file."""
        self.requests += 1
        answer = transport.fetch(None, length, self._expected)
        size = len(answer.spans[0].data)
        self.bytes_read += size
        count_traffic(size)
        return answer

    def _look(self, known: Record, offset: int, length: int) -> tuple[bytes, int]:
        """Return the cached bytes of a read, and the number of uncached bytes before them."""
        stop = min(offset + length, known.mark.size)
        if stop <= offset:
            return b"", 0
        tail = known.spans[-1]
        for span in (tail, self._head, *known.spans[:-1]):
            if _holds(span, offset, stop):
                return span.read_at(offset, stop - offset), 0
        end = min(stop, tail.start) if offset < tail.start else stop
        return bytes(tail.data[: stop - end]), end - offset

    def _begin_in_process(self) -> None:
        """Make a new lock, and forget the transport: forked processes must not share them."""
        self._opened: Transport | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def _own_lock(self) -> threading.Lock:
        if self._pid != os.getpid():
            self._begin_in_process()
        return self._lock

    def _transport(self) -> Transport:
        with self._own_lock():
            if self._opened is None:
                self._opened = _open_transport(self.url, self._options)
            return self._opened

    def _count(self, length: int) -> None:
        with self._own_lock():
            self.requests += 1
            self.bytes_read += length


def _holds(span: MemorySource, offset: int, stop: int) -> bool:
    return span.start <= offset and stop <= span.size()


def _open_transport(url: str, options: Mapping[str, Any]) -> Transport:
    """Return a transport for this process: obstore if it works here, else a helper process."""
    if is_forked():
        from ozx.places.remote.helper import HelperRequests  # noqa: PLC0415 (few programs fork)

        return HelperRequests(url, options)
    return Requests(url, options)
