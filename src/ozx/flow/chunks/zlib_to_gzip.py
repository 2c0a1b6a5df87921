"""Convert zlib chunks to gzip, which Zarr v3 supports, by replacing only the header and the trailer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.flow.chunks.stored_chunks import StoredChunks
from ozx.flow.entry import Part, read_part
from ozx.flow.read_ahead import Place, place_of
from ozx.hierarchy.zarr_v2.zlib_to_gzip import zlib_to_gzip

# RFC 1950: 2 bytes of header and 4 of Adler-32; RFC 1952: 10 of header, CRC-32 and size.
_LONGER = (10 + 8) - (2 + 4)


@dataclass(frozen=True, slots=True)
class GzipChunks:
    """The stored values of an array of zlib streams, converted to gzip."""

    stored: StoredChunks  # the zlib streams

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The positions of the stored chunks in the chunk grid (C order), ascending."""
        return self.stored.numbers

    def name(self, number: int) -> str:
        """Return the key of the stored value with this number, for messages."""
        return self.stored.name(number)

    def parts(self, numbers: Sequence[int]) -> list[Part]:
        """Return the values with these numbers; each value is converted to gzip when it is read."""
        parts = self.stored.parts(numbers)
        return [_ReframedPart(self.stored.name(number), part) for number, part in zip(numbers, parts, strict=True)]


@dataclass(frozen=True, slots=True)
class _ReframedPart:
    key: str
    part: Part

    @property
    def length(self) -> int:
        # An empty chunk is corrupt; it stays empty, so that the fault is noticed.
        return self.part.length and self.part.length + _LONGER

    def iter_blocks(self) -> Iterator[bytes]:
        try:
            data = zlib_to_gzip(read_part(self.part))
        except FormatError as error:
            raise FormatError(f"{self.key}: {error.message}", rule=error.rule, hint=error.hint) from None
        if len(data) != self.length:
            raise FormatError(
                f"{self.key}: expected one zlib stream; found {self.length - len(data):,} bytes after its end",
                rule="zarr/chunk-data",
                hint="Repack with --codec, which decodes the chunks.",
            )
        yield data

    def place(self) -> Place | None:
        return place_of(self.part, lambda part: replace(self, part=part))
