"""Request values from a server before they are reached: many at a time, and neighbours by one request.

A request takes a round trip, whatever it brings. A sink takes entries one after the other, so this looks ahead: the
values that follow are requested meanwhile, and those that lie beside each other in an archive together.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ozx.flow.entry import BytesPart, Entry, Part

__all__ = ["Place", "RemotePart", "read_ahead", "spans_of"]

_REQUESTS = 64
# Bytes that are requested or kept; twice as many are in use for a moment.
_ROOM = 128 << 20
# The most that neighbours are joined to, and the longest request.
_JOINED = 8 << 20
_LONGEST = 16 << 20
# Neighbours are joined across gaps that cost at most this share of what they hold.
_GAP_SHARE = 1 / 32


class Place(NamedTuple):
    """The place of a value: bytes `start` to `stop` of `source`, which `read` returns, and `take` turns into the value.

    `take` gets the offset and the bytes of a span that contains the place, and checks the value.
    """

    source: object
    start: int
    stop: int
    read: Callable[[int, int], bytes]
    take: Callable[[int, bytes], bytes]


class RemotePart(Part, Protocol):
    """A part whose bytes may be requested from a server."""

    def place(self) -> Place | None:
        """Return where the bytes are, or None if they are on this computer."""


@dataclass(slots=True)
class _Batch:
    """Entries that are read by the same requests; without a place, they are read when they are reached."""

    entries: list[Entry] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    payload: int = 0

    def takes(self, place: Place) -> bool:
        """Tell whether a value is near enough to the last one to be read with it."""
        if not self.places or self.places[-1].source is not place.source:
            return False
        gap = place.start - self.places[-1].stop
        length = place.stop - self.places[0].start
        return 0 <= gap <= (self.payload + place.stop - place.start) * _GAP_SHARE and length <= _JOINED

    def add(self, entry: Entry, place: Place | None) -> None:
        self.entries.append(entry)
        if place is not None:
            self.places.append(place)
            self.payload += place.stop - place.start

    @property
    def length(self) -> int:
        """Number of bytes to request."""
        return self.places[-1].stop - self.places[0].start if self.places else 0

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield offset and length of each request."""
        for done in range(0, self.length, _LONGEST):
            yield self.places[0].start + done, min(_LONGEST, self.length - done)


def read_ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries in their order, those of servers with their bytes in memory.

    At most 64 requests are made at a time, and 128 MiB are waiting. A value of more is read in pieces, when it is
    reached. Entries on this computer pass unchanged, and no thread is started for them.

    Raises
    ------
    FormatError
        A value is damaged, or changed since it was listed.
    ResourceError
        A server cannot be reached, or refuses.

    Examples
    --------
    >>> entry = Entry("zarr.json", (BytesPart(b"{}"),))
    >>> next(read_ahead([entry])) is entry
    True
    """
    following = iter(entries)
    for entry in following:
        if _place_of(entry) is not None:
            yield from _request_ahead(itertools.chain([entry], following))
            return
        yield entry


def _request_ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    waiting: deque[tuple[_Batch, list[Future[bytes]]]] = deque()
    used = requests = 0
    threads = ThreadPoolExecutor(_REQUESTS, "ozx-request")
    try:
        for batch in _batches(entries):
            while waiting and (used + batch.length > _ROOM or requests >= _REQUESTS):
                done, futures = waiting.popleft()
                yield from _finish(done, futures)
                used -= done.length
                requests -= len(futures)
            pieces = [threads.submit(batch.places[0].read, *span) for span in batch.spans()]
            waiting.append((batch, pieces))
            used += batch.length
            requests += len(pieces)
        while waiting:
            yield from _finish(*waiting.popleft())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def spans_of(entries: Iterable[Entry]) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each request that `read_ahead` makes for entries of one archive."""
    for batch in _batches(entries):
        yield from batch.spans()


def _batches(entries: Iterable[Entry]) -> Iterator[_Batch]:
    batch = _Batch()
    for entry in entries:
        place = _place_of(entry)
        if batch.entries and (place is None or not batch.takes(place)):
            yield batch
            batch = _Batch()
        batch.add(entry, place)
        if place is None:
            yield batch
            batch = _Batch()
    if batch.entries:
        yield batch


def _place_of(entry: Entry) -> Place | None:
    """Return the place of a value that is requested as a whole."""
    find: Callable[[], Place | None] | None = getattr(entry.parts[0], "place", None) if len(entry.parts) == 1 else None
    place = None if find is None else find()
    return None if place is None or place.stop - place.start > _ROOM else place


def _finish(batch: _Batch, pieces: list[Future[bytes]]) -> Iterator[Entry]:
    """Yield the entries of a batch once their bytes are there."""
    if not batch.places:
        yield from batch.entries
        return
    data = b"".join(piece.result() for piece in pieces)
    for entry, place in zip(batch.entries, batch.places, strict=True):
        yield Entry(entry.key, (BytesPart(place.take(batch.places[0].start, data)),))
