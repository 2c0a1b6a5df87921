"""Request values from a server in advance: adjacent values share a request, and many requests run at a time.

Each request takes a round trip. While a sink takes one entry after the other, this module requests
the values that follow. Values that are adjacent in an archive share one request.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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
    """One part of an entry, and where it is; without a part, a whole entry on this computer."""

    entry: Entry
    part: Part | None = None
    place: RemoteRange | None = None
    is_last: bool = True


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
    waiting: deque[tuple[list[_Wanted], int, list[Future[bytes]]]] = deque()
    used = requests = 0
    threads = ThreadPoolExecutor(_MOST_REQUESTS, "ozx-request")
    parts: list[Part] = []  # of the entry that is not yet complete
    try:
        for batch in _batches(entries):
            start, length = _bounds(batch)
            place = batch[0].place
            most = _MOST_REQUESTS if place is not None and place.is_of_object_store else _REQUESTS
            while waiting and (used + length > _ROOM or requests >= most):
                done, size, futures = waiting.popleft()
                yield from _finish(done, futures, parts)
                used -= size
                requests -= len(futures)
            futures = []
            if place is not None:
                futures = [threads.submit(place.read, *span) for span in divided(start, length, _LONGEST)]
            waiting.append((batch, length, futures))
            used += length
            requests += len(futures)
        while waiting:
            done, _, futures = waiting.popleft()
            yield from _finish(done, futures, parts)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def spans_of(entries: Iterable[Entry]) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each request that `read_ahead` makes for these entries."""
    for batch in _batches(entries):
        yield from divided(*_bounds(batch), _LONGEST)


def _batches(entries: Iterable[Entry]) -> Iterator[list[_Wanted]]:
    """Yield lists of parts that are read by the same requests; each part that is not on a server is a list of its own.

    A part joins the parts before it if it is so near that one request can read them all.
    """
    batch: list[_Wanted] = []
    start = stop = payload = 0
    for piece in _pieces(entries):
        place = piece.place
        before = batch[-1].place if batch else None
        is_joined = (
            before is not None
            and place is not None
            and before.source is place.source
            and 0 <= place.start - stop <= max(LONGEST_HEADER, (payload + place.stop - place.start) * _GAP_SHARE)
            and stop - start < _JOINED
            and place.stop - start <= _MOST_JOINED
        )
        if batch and not is_joined:
            yield batch
            batch = []
        if place is not None:
            start, payload = (start, payload) if batch else (place.start, 0)
            stop, payload = place.stop, payload + place.stop - place.start
        batch.append(piece)
    if batch:
        yield batch


def _bounds(batch: list[_Wanted]) -> tuple[int, int]:
    """Return offset and length of the bytes to request; 0 and 0 if nothing is on a server."""
    first, last = batch[0].place, batch[-1].place
    return (0, 0) if first is None or last is None else (first.start, last.stop - first.start)


def _pieces(entries: Iterable[Entry]) -> Iterator[_Wanted]:
    for entry in entries:
        places = [place_of(part) for part in entry.parts] if entry.size <= _ROOM else []
        if not any(place is not None for place in places):
            yield _Wanted(entry)
            continue
        last = len(places) - 1
        for number, (part, place) in enumerate(zip(entry.parts, places, strict=True)):
            yield _Wanted(entry, part, place, number == last)


def place_of(part: Part, change: Callable[[BytesPart], Part] | None = None) -> RemoteRange | None:
    """Return the place of a part on a server, or None; `change` makes another part of the bytes."""
    find: Callable[[], RemoteRange | None] | None = getattr(part, "place", None)
    place = None if find is None else find()
    if place is None or change is None:
        return place
    take = place.take
    return place._replace(take=lambda offset, data: read_part(change(BytesPart(take(offset, data)))))


def _finish(batch: list[_Wanted], futures: list[Future[bytes]], parts: list[Part]) -> Iterator[Entry]:
    """Wait for a batch and yield its completed entries; `parts` holds the first parts of an incomplete entry."""
    data, (start, _) = b"".join(future.result() for future in futures), _bounds(batch)
    for entry, part, place, is_last in batch:
        if part is None:
            yield entry
            continue
        parts.append(part if place is None else BytesPart(place.take(start, data)))
        if is_last:
            yield Entry(entry.key, tuple(parts))
            parts.clear()
