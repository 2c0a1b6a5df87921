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


class _Piece(NamedTuple):
    """One part of an entry, or an entry that passes unchanged if `part` is None."""

    entry: Entry
    part: Part | None
    place: Place | None
    is_last: bool


@dataclass(slots=True)
class _Batch:
    """Parts that are read by the same requests; without places, they are on this computer."""

    pieces: list[_Piece] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    payload: int = 0

    def takes(self, place: Place | None) -> bool:
        """Tell whether a value is near enough to the last one to be read with it."""
        if not self.places or place is None or self.places[-1].source is not place.source:
            return False
        gap = place.start - self.places[-1].stop
        length = place.stop - self.places[0].start
        return 0 <= gap <= (self.payload + place.stop - place.start) * _GAP_SHARE and length <= _JOINED

    def add(self, piece: _Piece) -> None:
        self.pieces.append(piece)
        if piece.place is not None:
            self.places.append(piece.place)
            self.payload += piece.place.stop - piece.place.start

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
        if any(_place_of(part) is not None for part in entry.parts):
            yield from _request_ahead(itertools.chain([entry], following))
            return
        yield entry


def _request_ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    waiting: deque[tuple[_Batch, list[Future[bytes]]]] = deque()
    used = requests = 0
    threads = ThreadPoolExecutor(_REQUESTS, "ozx-request")
    parts: list[Part] = []  # of the present entry
    try:
        for batch in _batches(entries):
            while waiting and (used + batch.length > _ROOM or requests >= _REQUESTS):
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
    """Yield offset and length of each request that `read_ahead` makes for entries."""
    for batch in _batches(entries):
        yield from batch.spans()


def _batches(entries: Iterable[Entry]) -> Iterator[_Batch]:
    batch = _Batch()
    for piece in _pieces(entries):
        if batch.pieces and not batch.takes(piece.place):
            yield batch
            batch = _Batch()
        batch.add(piece)
    if batch.pieces:
        yield batch


def _pieces(entries: Iterable[Entry]) -> Iterator[_Piece]:
    for entry in entries:
        places = [_place_of(part) for part in entry.parts] if entry.size <= _ROOM else []
        if not any(place is not None for place in places):
            yield _Piece(entry, None, None, is_last=True)
            continue
        last = len(places) - 1
        for number, (part, place) in enumerate(zip(entry.parts, places, strict=True)):
            yield _Piece(entry, part, place, is_last=number == last)


def _place_of(part: Part) -> Place | None:
    find: Callable[[], Place | None] | None = getattr(part, "place", None)
    return None if find is None else find()


def _finish(batch: _Batch, futures: list[Future[bytes]], parts: list[Part]) -> Iterator[Entry]:
    """Yield the entries whose last part is in a batch, once its bytes are there; `parts` has those before."""
    data = b"".join(future.result() for future in futures)
    for entry, part, place, is_last in batch.pieces:
        if part is None:
            yield entry
            continue
        parts.append(part if place is None else BytesPart(place.take(batch.places[0].start, data)))
        if is_last:
            yield Entry(entry.key, tuple(parts))
            parts.clear()
