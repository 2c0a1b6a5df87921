"""Request values from a server in advance: adjacent values share a request, and many requests run at a time.

Each request takes a round trip. While a sink takes one entry after the other, this module requests
the values that follow. Values that are adjacent in an archive share one request.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from ozx.flow.entry import BytesPart, Entry, Part, read_part
from ozx.places.positional_reading import divided

# Simultaneous requests: to a web server, and to an object store.
_REQUESTS, _MOST_REQUESTS = 64, 128
# Bytes that are requested or kept at the same time; for a moment, twice as many are in use.
_ROOM = 128 << 20
# Values are joined until their length is at least the first number, and at most the second; then the longest request. A
# plan that runs twice (``--verify``) thus still makes less than one request for 8 MB of the source.
_JOINED, _MOST_JOINED = 16 << 20, 64 << 20
_LONGEST = 32 << 20
# A gap between adjacent values is requested with them if its length is at most this share of the length of the values,
# or at most that of a local header: the central directory, which is read in any case, has as many bytes per entry.
_GAP_SHARE = 1 / 32
LONGEST_HEADER = 256


class RemoteRange(NamedTuple):
    """Bytes `start` to `stop` of a remote `source`; `read` requests bytes, and `take` extracts and checks the value.

    The arguments of `take` are the offset and the bytes of a span that contains the place. An object store may get more
    simultaneous requests than a web server.
    """

    source: object
    start: int
    stop: int
    read: Callable[[int, int], bytes]
    take: Callable[[int, bytes], bytes]
    is_of_object_store: bool = False


class _Wanted(NamedTuple):
    """One part of an entry; if `part` is None, a whole entry whose bytes are on this computer."""

    entry: Entry
    part: Part | None
    place: RemoteRange | None
    is_last: bool


@dataclass(slots=True)
class _JoinedParts:
    """Parts that are read by the same requests; a batch is local if none of its parts is on a server."""

    pieces: list[_Wanted] = field(default_factory=list)
    places: list[RemoteRange] = field(default_factory=list)
    payload: int = 0

    def takes(self, place: RemoteRange | None) -> bool:
        """Return whether a value is so near to the batch's last value that one request can read both values."""
        if not self.places or place is None or self.places[-1].source is not place.source:
            return False
        gap = place.start - self.places[-1].stop
        length = place.stop - self.places[0].start
        allowed = max(LONGEST_HEADER, (self.payload + place.stop - place.start) * _GAP_SHARE)
        return 0 <= gap <= allowed and self.length < _JOINED and length <= _MOST_JOINED

    def add(self, piece: _Wanted) -> None:
        self.pieces.append(piece)
        if piece.place is not None:
            self.places.append(piece.place)
            self.payload += piece.place.stop - piece.place.start

    @property
    def length(self) -> int:
        """The number of bytes to request."""
        return self.places[-1].stop - self.places[0].start if self.places else 0

    @property
    def most_requests(self) -> int:
        """The maximal number of simultaneous requests to the server from which the batch is read."""
        return _MOST_REQUESTS if self.places and self.places[0].is_of_object_store else _REQUESTS

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield offset and length of each request."""
        if self.places:
            yield from divided(self.places[0].start, self.length, _LONGEST)


def read_ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries in order; the bytes of remote entries are already in memory.

    At most 64 requests (to an object store 128) run at the same time, and at most 128 MiB wait in memory. A value of
    more than 128 MiB is read in pieces when it is reached. Entries on this computer pass unchanged, without a thread.
    """
    following = iter(entries)
    for entry in following:
        if any(place_of(part) is not None for part in entry.parts):
            yield from _request_ahead(itertools.chain([entry], following))
            return
        yield entry


def _request_ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    waiting: deque[tuple[_JoinedParts, list[Future[bytes]]]] = deque()
    used = requests = 0
    threads = ThreadPoolExecutor(_MOST_REQUESTS, "ozx-request")
    parts: list[Part] = []  # of the entry that is not yet complete
    try:
        for batch in _batches(entries):
            while waiting and (used + batch.length > _ROOM or requests >= batch.most_requests):
                done, futures = waiting.popleft()
                yield from _finish(done, futures, parts)
                used -= done.length
                requests -= len(futures)
            futures = [threads.submit(batch.places[0].read, *span) for span in batch.spans()]
            waiting.append((batch, futures))
            used += batch.length
            requests += len(futures)
        while waiting:
            yield from _finish(*waiting.popleft(), parts)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def spans_of(entries: Iterable[Entry]) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each request that `read_ahead` makes for these entries."""
    for batch in _batches(entries):
        yield from batch.spans()


def _batches(entries: Iterable[Entry]) -> Iterator[_JoinedParts]:
    batch = _JoinedParts()
    for piece in _pieces(entries):
        if batch.pieces and not batch.takes(piece.place):
            yield batch
            batch = _JoinedParts()
        batch.add(piece)
    if batch.pieces:
        yield batch


def _pieces(entries: Iterable[Entry]) -> Iterator[_Wanted]:
    for entry in entries:
        places = [place_of(part) for part in entry.parts] if entry.size <= _ROOM else []
        if not any(place is not None for place in places):
            yield _Wanted(entry, None, None, is_last=True)
            continue
        last = len(places) - 1
        for number, (part, place) in enumerate(zip(entry.parts, places, strict=True)):
            yield _Wanted(entry, part, place, is_last=number == last)


def place_of(part: Part, change: Callable[[BytesPart], Part] | None = None) -> RemoteRange | None:
    """Return the place of a part on a server, or None; `change` makes another part of the bytes."""
    find: Callable[[], RemoteRange | None] | None = getattr(part, "place", None)
    place = None if find is None else find()
    if place is None or change is None:
        return place
    take = place.take
    return place._replace(take=lambda offset, data: read_part(change(BytesPart(take(offset, data)))))


def _finish(batch: _JoinedParts, futures: list[Future[bytes]], parts: list[Part]) -> Iterator[Entry]:
    """Wait for a batch and yield its completed entries; `parts` holds the first parts of an incomplete entry."""
    data = b"".join(future.result() for future in futures)
    for entry, part, place, is_last in batch.pieces:
        if part is None:
            yield entry
            continue
        parts.append(part if place is None else BytesPart(place.take(batch.places[0].start, data)))
        if is_last:
            yield Entry(entry.key, tuple(parts))
            parts.clear()
