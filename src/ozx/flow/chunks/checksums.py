"""The chunks of an array with a checksum added behind each, or taken off: the codec ``crc32c``, no chunk decoded."""

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
from ozx.hierarchy.zarr.chunk_checksums import CHECKSUM_BYTES
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

__all__ = ["ChecksummedChunks"]


class ChecksummedChunks(InnerChunks):
    """The chunks of an array by number, four bytes longer than they are stored, or four bytes shorter.

    Parameters
    ----------
    stored
        The array's stored values.
    layout
        How its chunks are laid out in them.
    path
        Path of the array, for messages.
    is_added
        Whether a checksum is added behind each chunk; else the one there is is compared and taken off.
    """

    def __init__(self, stored: StoredChunks, layout: ArrayLayout, path: str, *, is_added: bool) -> None:
        super().__init__(stored, layout)
        self._path = path
        self._is_added = is_added

    def find(self, numbers: NDArray[np.int64], *, is_joined: bool) -> FoundChunks:
        """Return those of the chunks with `numbers` that are stored, a part for each; see `InnerChunks.find`.

        Raises
        ------
        FormatError
            As `InnerChunks.find`, and where a chunk is too short for the checksum that is to be taken off.
        """
        del is_joined  # a checksum stands between any two of them
        found = super().find(numbers, is_joined=False)
        if self._is_added:
            parts: list[Part] = [_SummedPart(part) for part in found.parts]
            return FoundChunks(found.positions, found.lengths + CHECKSUM_BYTES, parts)
        short = np.flatnonzero(found.lengths <= CHECKSUM_BYTES)
        if len(short):
            raise self._damaged(int(numbers[found.positions[short[0]]]), "it is too short for one")
        wanted: list[int] = numbers[found.positions].tolist()
        parts = [_ComparedPart(part, self, number) for part, number in zip(found.parts, wanted, strict=True)]
        return FoundChunks(found.positions, found.lengths - CHECKSUM_BYTES, parts)

    def differs(self, number: int) -> FormatError:
        """Return the error for a chunk whose bytes do not have the checksum behind them."""
        return self._damaged(number, "the bytes before it have another one")

    def _damaged(self, number: int, found: str) -> FormatError:
        (place,) = places_of([number], self.grid)
        return FormatError(
            f"{self._path or 'the root'}: expected chunk {place} with its CRC-32C behind it; {found}",
            rule="zarr/chunk-data",
            hint="Copy or download the file again. To carry the chunk as it is, keep the checksums.",
        )


class _SummedPart(NamedTuple):
    """A chunk and the checksum behind it; a tuple, as there may be a million."""

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

    def read_into(self, view: memoryview) -> None:
        body = view[:-CHECKSUM_BYTES]
        read_into(self.chunk, body)
        # google_crc32c takes neither a memoryview nor a bytearray.
        view[-CHECKSUM_BYTES:] = _stored(google_crc32c.value(np.frombuffer(body, np.uint8)))


class _ComparedPart(NamedTuple):
    """A chunk without the checksum behind it, which is compared when the chunk is read."""

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
            raise self.chunks.differs(self.number)


def _stored(checksum: int) -> bytes:
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
