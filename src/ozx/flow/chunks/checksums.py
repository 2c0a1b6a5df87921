"""Add or remove the ``crc32c`` checksum of each chunk without decoding the chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.flow.chunks.inner_chunks import FoundChunks, InnerChunks
from ozx.flow.chunks.stored_chunks import StoredChunks, places_of
from ozx.flow.entry import Part, read_into
from ozx.flow.read_ahead import Place, place_of
from ozx.hierarchy.zarr.codecs import CHECKSUM_BYTES
from ozx.hierarchy.zarr.layout import ArrayLayout


class ChecksummedChunks(InnerChunks):
    """The chunks of an array, indexed by chunk number; a four-byte checksum is added to or removed from each chunk."""

    def __init__(self, stored: StoredChunks, layout: ArrayLayout, path: str, *, is_added: bool) -> None:
        super().__init__(stored, layout)
        self._path = path
        self._is_added = is_added

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return the stored chunks with these numbers, one part per chunk; see `InnerChunks.find`."""
        del is_joined  # checksums separate the chunks
        found = super().find(numbers, is_joined=False)
        if self._is_added:
            parts: list[Part] = [_SummedPart(part) for part in found.parts]
            return FoundChunks(found.positions, found.lengths + CHECKSUM_BYTES, parts)
        short = np.flatnonzero(found.lengths <= CHECKSUM_BYTES)
        if len(short):
            raise self._damaged(int(numbers[found.positions[short[0]]]), "the chunk is too short")
        wanted: list[int] = numbers[found.positions].tolist()
        parts = [_ComparedPart(part, self, number) for part, number in zip(found.parts, wanted, strict=True)]
        return FoundChunks(found.positions, found.lengths - CHECKSUM_BYTES, parts)

    def mismatch_error(self, number: int) -> FormatError:
        """Return the error for a chunk with a wrong checksum."""
        return self._damaged(number, "the checksum differs")

    def _damaged(self, number: int, found: str) -> FormatError:
        (place,) = places_of([number], self.grid)
        return FormatError(
            f"{self._path or 'the root'}: expected chunk {place} to end in its CRC-32C; {found}",
            rule="zarr/chunk-data",
            hint="Copy or download the file again. With --chunk-checksums keep, the chunk is copied unchecked.",
        )


class _SummedPart(NamedTuple):
    """A chunk with its checksum appended; these parts are tuples, to save memory in lists of a million chunks."""

    chunk: Part

    @property
    def length(self) -> int:
        return self.chunk.length + CHECKSUM_BYTES

    def iter_blocks(self) -> Iterator[bytes]:
        checksum = 0
        for block in self.chunk.iter_blocks():
            checksum = google_crc32c.extend(checksum, block)
            yield block
        yield _stored(checksum)

    def place(self) -> Place | None:
        return place_of(self.chunk, lambda chunk: self._replace(chunk=chunk))

    def read_into(self, view: memoryview) -> None:
        body = view[:-CHECKSUM_BYTES]
        read_into(self.chunk, body)
        # google_crc32c takes neither a memoryview nor a bytearray.
        view[-CHECKSUM_BYTES:] = _stored(google_crc32c.value(np.frombuffer(body, np.uint8)))


class _ComparedPart(NamedTuple):
    """A chunk without its checksum; reading verifies the checksum."""

    chunk: Part
    chunks: ChecksummedChunks
    number: int

    @property
    def length(self) -> int:
        return self.chunk.length - CHECKSUM_BYTES

    def iter_blocks(self) -> Iterator[bytes]:
        checksum, held = 0, b""
        for block in self.chunk.iter_blocks():
            data = held + block
            body, held = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
            checksum = google_crc32c.extend(checksum, body)
            yield body
        if held != _stored(checksum):
            raise self.chunks.mismatch_error(self.number)

    def place(self) -> Place | None:
        return place_of(self.chunk, lambda chunk: self._replace(chunk=chunk))


def _stored(checksum: int) -> bytes:
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
