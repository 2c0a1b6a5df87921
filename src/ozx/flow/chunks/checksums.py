"""Add or remove the ``crc32c`` checksum of each chunk without decoding the chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple, cast

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.flow.chunks.inner_chunks import FoundChunks, InnerChunks
from ozx.flow.chunks.stored_chunks import StoredChunks, places_of
from ozx.flow.entry import Part, Span, iter_single, read_into, read_values
from ozx.flow.read_ahead import RemoteRange, place_of
from ozx.places.positional_reading import MOST_IN_RUN
from ozx.zarr.codecs import CHECKSUM_BYTES
from ozx.zarr.layout import ArrayLayout

# Adjacent chunks of a shard are read by one call, if they take at most 256 KiB, so that they stay in the processor's
# cache.
_LONGEST_RUN = 256 << 10


class ChecksummedChunks(InnerChunks):
    """The chunks of an array, indexed by chunk number; a four-byte checksum is added to or removed from each chunk."""

    def __init__(self, stored: StoredChunks, layout: ArrayLayout, path: str, *, is_added: bool) -> None:
        super().__init__(stored, layout)
        self._path = path
        self.is_added = is_added

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return the stored chunks with these numbers; see `InnerChunks.find`."""
        positions, lengths, parts = super().find(numbers, is_joined=is_joined)
        wanted, change = numbers[positions], CHECKSUM_BYTES if self.is_added else -CHECKSUM_BYTES
        if not self.is_added and len(short := np.flatnonzero(lengths <= CHECKSUM_BYTES)):
            raise self.damaged(int(wanted[short[0]]), "the chunk is too short")
        return positions, lengths + change, list(self._iter_runs(parts, _Rows(self, lengths, wanted), change))

    def _iter_runs(self, parts: list[Part], rows: _Rows, change: int) -> Iterator[Part]:
        """Divide the found parts, each of which has one or more chunks."""
        first, lengths = 0, rows.lengths.tolist()
        known: dict[int, int] = {}  # equal lengths are one number
        for part in parts:
            offset, end = 0, part.length
            while offset < end:
                stop, size = first + 1, lengths[first]
                while offset + size < end and stop - first < MOST_IN_RUN and size + lengths[stop] <= _LONGEST_RUN:
                    size += lengths[stop]
                    stop += 1
                stored = part if size == end else cast("Span", part).span(offset, size)  # shards have spans
                length = size + (stop - first) * change
                yield _ChecksummedRun(stored, rows, first, stop, known.setdefault(length, length))
                first, offset = stop, offset + size

    def damaged(self, number: int, found: str) -> FormatError:
        """Return the error for a chunk whose end is no checksum of it."""
        (place,) = places_of([number], self.grid)
        return FormatError(
            f"{self._path or 'the root'}: expected chunk {place} to end in its CRC-32C; {found}",
            rule="zarr/chunk-data",
            hint="Copy or download the file again. With chunk_checksums='keep', the chunk is copied unchecked.",
        )


class _Rows(NamedTuple):
    """Chunks that were found together: their lengths as they are stored, and their numbers, for messages."""

    chunks: ChecksummedChunks
    lengths: NDArray[np.int64]
    numbers: NDArray[np.int64]


class _ChecksummedRun(NamedTuple):
    """Adjacent chunks whose checksums are added, or compared and removed; tuples, as there may be millions of runs."""

    stored: Part
    rows: _Rows
    first: int  # the first row
    stop: int
    length: int

    @property
    def is_added(self) -> bool:
        return self.rows.chunks.is_added

    def iter_blocks(self) -> Iterator[bytes]:
        if self.stop - self.first > 1:
            buffer = bytearray(self.length)
            self.read_into(memoryview(buffer))
            yield bytes(buffer)
            return
        checksum, held, removed = 0, b"", 0 if self.is_added else CHECKSUM_BYTES
        for block in self.stored.iter_blocks():
            data = held + block
            end = max(0, len(data) - removed)
            body, held = data[:end], data[end:]
            checksum = google_crc32c.extend(checksum, body)
            yield body
        if self.is_added:
            yield _stored(checksum)
        elif held != _stored(checksum):
            raise self._mismatch(self.first)

    def place(self) -> RemoteRange | None:
        return place_of(self.stored, lambda stored: self._replace(stored=stored))

    def read_run(self, values: Sequence[Sequence[Part]], views: Sequence[memoryview], first: int) -> list[None]:
        """Read this value into ``views[first]``, with single chunks that follow it; see `ArchivedPart.read_run`."""
        runs = takewhile(
            lambda run: run.stop - run.first == 1 and run.is_added, iter_single(_ChecksummedRun, values, first)
        )
        stored = [(run.stored,) for run in runs]
        own = views[first : first + max(1, len(stored))]
        if stored:
            read_values(stored, [view[:-CHECKSUM_BYTES] for view in own])
            for view in own:
                data = np.frombuffer(view, np.uint8)
                view[-CHECKSUM_BYTES:] = _stored(google_crc32c.value(data[:-CHECKSUM_BYTES]))
        else:
            self.read_into(own[0])
        return [None] * len(own)

    def read_into(self, view: memoryview) -> None:
        is_added, start, bounds = self.is_added, 0, []
        for length in self.rows.lengths[self.first : self.stop].tolist():
            end = start + length - (0 if is_added else CHECKSUM_BYTES)
            bounds.append((start, end))
            start = end + (CHECKSUM_BYTES if is_added else 0)
        bodies = [view[start:end] for start, end in bounds]
        if is_added:
            sums = [view[end : end + CHECKSUM_BYTES] for _, end in bounds]
            read_into(self.stored, *bodies)
        else:
            buffer = memoryview(bytearray(CHECKSUM_BYTES * len(bounds)))
            sums = [buffer[at : at + CHECKSUM_BYTES] for at in range(0, len(buffer), CHECKSUM_BYTES)]
            read_into(self.stored, *chain.from_iterable(zip(bodies, sums, strict=True)))
        data = np.frombuffer(view, np.uint8)  # google_crc32c takes neither a memoryview nor a bytearray
        for place, (start, end) in enumerate(bounds):
            checksum = _stored(google_crc32c.value(data[start:end]))
            if is_added:
                sums[place][:] = checksum
            elif sums[place] != checksum:
                raise self._mismatch(self.first + place)

    def _mismatch(self, row: int) -> FormatError:
        return self.rows.chunks.damaged(int(self.rows.numbers[row]), "the checksum differs")


def _stored(checksum: int) -> bytes:
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
