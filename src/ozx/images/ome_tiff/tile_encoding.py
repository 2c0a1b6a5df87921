"""Encoding of TIFF tiles: little-endian, compressed, with a predictor where it reduces the size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError

#: Supported compressions, with tifffile's names.
COMPRESSIONS = ("zlib", "zstd", "lzw", "none")

# libdeflate's level 1 with predictor compresses images better than level 6 without, and ten times as fast.
_DEFLATE_LEVEL = 1
_ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class TileEncoding:
    """Shape and compression of tiles."""

    compression: str  # one of `COMPRESSIONS`
    tile: tuple[int, int]  # height and width of a tile, multiples of 16 (TIFF 6.0, "TileWidth")

    def has_predictor(self, dtype: np.dtype[Any]) -> bool:
        """Return whether tiles store differences of neighbouring pixels (TIFF 6.0, section 14)."""
        return self.compression != "none" and dtype.kind in "iu"

    def size(self, dtype: np.dtype[Any]) -> int:
        """Return the largest possible size of an encoded tile in bytes, for incompressible pixels."""
        raw = self.tile[0] * self.tile[1] * dtype.itemsize
        return raw * 3 // 2 + 64 if self.compression == "lzw" else raw + raw // 256 + 64

    def encode(self, pixels: NDArray[Any]) -> bytes | memoryview:
        """Return the encoded bytes of a tile, padded with zeros beyond the edge of the image.

        Without compression, the result may be a view of `pixels`.

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
    """Return the TIFF compression with this name; raise an error for an unknown name."""
    if name not in COMPRESSIONS:
        raise UsageError(
            f"expected a compression, one of {', '.join(COMPRESSIONS)}; got {name!r}",
            hint="Choose zlib, which all TIFF readers support.",
        )
    return name
