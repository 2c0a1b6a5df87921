"""Tiles of pixels as TIFF stores them: little-endian, differences of neighbours where that helps, compressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError

__all__ = ["COMPRESSIONS", "TileEncoding", "parse_compression"]

#: What a file can be compressed with, by the names that tifffile has for them.
COMPRESSIONS = ("zlib", "zstd", "lzw", "none")

# libdeflate's first level with the predictor compresses images better than its sixth without, and ten times as fast.
_DEFLATE_LEVEL = 1
_ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class TileEncoding:
    """How tiles are compressed.

    Attributes
    ----------
    compression
        One of `COMPRESSIONS`.
    tile
        Height and width of a tile, multiples of 16 (TIFF 6.0, "TileWidth").
    """

    compression: str
    tile: tuple[int, int]

    def has_predictor(self, dtype: np.dtype[Any]) -> bool:
        """Tell whether neighbours are subtracted (TIFF 6.0, section 14); the predictor of floats few readers know."""
        return self.compression != "none" and dtype.kind in "iu"

    def size(self, dtype: np.dtype[Any]) -> int:
        """Return how many bytes a tile takes at most: some more than its pixels, where these cannot be compressed."""
        raw = self.tile[0] * self.tile[1] * dtype.itemsize
        return raw * 3 // 2 + 64 if self.compression == "lzw" else raw + raw // 256 + 64

    def encode(self, pixels: NDArray[Any]) -> bytes | memoryview:
        """Return a tile as it is stored; what it lacks at the edge of the image is zero.

        What is not compressed may be a view of `pixels`.

        Examples
        --------
        >>> len(TileEncoding("none", (16, 16)).encode(np.ones((10, 16), "uint16")))
        512
        """
        dtype = pixels.dtype.newbyteorder("<")
        if pixels.shape == self.tile:
            tile = np.ascontiguousarray(pixels, dtype)
        else:
            tile = np.zeros(self.tile, dtype)
            tile[: pixels.shape[0], : pixels.shape[1]] = pixels
        if self.compression == "none":
            return tile.reshape(-1).view("u1").data
        if self.has_predictor(dtype):
            tile = imagecodecs.delta_encode(tile, axis=-1)
        data = tile.tobytes()
        if self.compression == "zlib":
            return bytes(imagecodecs.deflate_encode(data, level=_DEFLATE_LEVEL))
        if self.compression == "zstd":
            return bytes(imagecodecs.zstd_encode(data, level=_ZSTD_LEVEL))
        return bytes(imagecodecs.lzw_encode(data))


def parse_compression(name: str) -> str:
    """Return the name of a compression.

    Raises
    ------
    UsageError
        There is none of this name.
    """
    if name not in COMPRESSIONS:
        raise UsageError(
            f"expected a compression, one of {', '.join(COMPRESSIONS)}; got {name!r}",
            hint="zlib is what every reader of TIFF knows.",
        )
    return name
