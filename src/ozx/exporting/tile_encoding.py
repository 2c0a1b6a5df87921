"""The tiles of an OME-TIFF file: cut from stored blocks of pixels, compressed, with a predictor where it helps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from ozx.exporting.exported_image import ExportedImage, Lengths, Region  # loads zarr, half a second
    from ozx.store.level import Level

# Division of stored blocks of pixels into the tiles of a TIFF file.
#
# Every block is read once. A tile that lies in several blocks waits until it is complete. No tile waits if chunks and
# tiles fit together, as powers of two do; else about one row of tiles waits.

#: The number of a plane (of t, c, z, the last one fastest) and of a tile in it, row by row.
TileId = tuple[int, int]
# Place and length of each tile take 16 bytes of memory until the end.
_MOST_TILES = 1 << 26

#: Supported compressions, with tifffile's names.
COMPRESSIONS = ("zlib", "zstd", "lzw", "jpeg", "none")

# libdeflate's level 1 with predictor compresses images better than level 6 without, and ten times as fast.
_DEFLATE_LEVEL = 1
_ZSTD_LEVEL = 3
# As slide scanners use it; the colours at half resolution, as TIFF readers expect them (TIFF 6.0, "YCbCrSubSampling").
_JPEG_QUALITY = 90


def plan_blocks(shape: Lengths, read_alignment: Lengths, wanted: int) -> Iterator[Region]:
    """Yield blocks (t, c, z, y, x) in C order; lengths are multiples of `read_alignment` except at edges."""
    lengths = [min(part, length) for part, length in zip(read_alignment, shape, strict=True)]
    for axis in (4, 3, 2, 1, 0):
        times = max(1, wanted // int(np.prod(lengths)))
        lengths[axis] = min(lengths[axis] * times, shape[axis])
        if lengths[axis] < shape[axis]:
            break
    parts = [
        [slice(start, min(start + step, length)) for start in range(0, length, step)]
        for step, length in zip(lengths, shape, strict=True)
    ]
    yield from itertools.product(*parts)


#: A tile, some of its pixels, and the position of their first in the tile.
TilePiece = tuple[TileId, NDArray[Any], int, int]


@dataclass
class Mosaic:
    """The tiles of one level, each assembled from pieces; their encoding, and their places in the file."""

    image: ExportedImage
    level: Level
    compression: str  # one of `COMPRESSIONS`
    tile: tuple[int, int]  # height and width of a tile, multiples of 16 (TIFF 6.0, "TileWidth")
    _waiting: dict[TileId, tuple[NDArray[Any], int]] = field(default_factory=dict)

    @cached_property
    def shape(self) -> Lengths:
        """Lengths of t, c, z, y, x."""
        return self.image.planes_of(self.level)

    @cached_property
    def places(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """File offsets and sizes of the tiles, with one row per plane."""
        shape = (self.plane_count, self.tiles_per_plane)
        if shape[0] * shape[1] > _MOST_TILES:
            raise UnsupportedError(
                f"expected an image of at most {_MOST_TILES:,} tiles in TIFF; it would have {shape[0] * shape[1]:,}",
                hint="Export some of its levels by levels=…, or a part of it by region=….",
            )
        return np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)

    @property
    def across(self) -> int:
        """Number of tiles in one row of tiles."""
        return -(-self.shape[4] // self.tile[1])

    @property
    def tiles_per_plane(self) -> int:
        """Number of tiles in a plane."""
        return -(-self.shape[3] // self.tile[0]) * self.across

    @property
    def plane_count(self) -> int:
        """Number of planes."""
        return int(np.prod(self.shape[:3]))

    def covered(self, tile: int) -> tuple[int, int]:
        """Return height and width of the part of a tile inside the image; tiles at the edges extend beyond it."""
        row, column = divmod(tile, self.across)
        return (
            min(self.tile[0], self.shape[3] - row * self.tile[0]),
            min(self.tile[1], self.shape[4] - column * self.tile[1]),
        )

    def is_whole(self, tile: TileId, pixels: NDArray[Any]) -> bool:
        """Return whether these are all pixels of a tile that are inside the image."""
        return pixels.shape[:2] == self.covered(tile[1])

    def add(self, piece: TilePiece) -> NDArray[Any] | None:
        """Add a piece of a tile; return the tile if it is now complete, else None."""
        tile, pixels, y, x = piece
        height, width = self.covered(tile[1])
        whole, missing = self._waiting.pop(tile, (None, height * width))
        if whole is None:
            whole = np.empty((height, width, *pixels.shape[2:]), pixels.dtype)
        rows, columns = pixels.shape[:2]
        whole[y : y + rows, x : x + columns] = pixels
        missing -= rows * columns
        if missing == 0:
            return whole
        self._waiting[tile] = whole, missing
        return None

    @property
    def samples(self) -> int:
        """Number of values of a pixel."""
        return self.image.shape[1] // self.image.planes[1]

    @property
    def is_lossy(self) -> bool:
        """Whether pixels change."""
        return self.compression == "jpeg"

    @property
    def has_predictor(self) -> bool:
        """Whether tiles store differences of neighbouring pixels (TIFF 6.0, section 14)."""
        return self.compression not in ("none", "jpeg") and self.image.dtype.kind in "iu"

    @property
    def largest_tile(self) -> int:
        """The largest possible size of an encoded tile in bytes, for incompressible pixels."""
        raw = self.tile[0] * self.tile[1] * self.image.dtype.itemsize * self.samples
        return raw * 3 // 2 + 64 if self.compression == "lzw" else raw + raw // 256 + 64

    def encode(self, pixels: NDArray[Any]) -> bytes | memoryview:
        """Return the encoded bytes of a tile, padded with zeros beyond the edge of the image.

        Without compression, the result may be a view of `pixels`.
        """
        dtype = pixels.dtype.newbyteorder("<")
        if pixels.shape[:2] == self.tile:
            tile = np.ascontiguousarray(pixels, dtype)
        elif self.is_lossy:  # a black edge would reach into the image
            missing = [(0, side - length) for side, length in zip(self.tile, pixels.shape, strict=False)]
            tile = np.pad(pixels, [*missing, (0, 0)], mode="edge")
        else:
            tile = np.zeros((*self.tile, *pixels.shape[2:]), dtype)
            tile[: pixels.shape[0], : pixels.shape[1]] = pixels
        if self.compression == "none":
            return tile.reshape(-1).view("u1").data
        if self.is_lossy:
            return bytes(imagecodecs.jpeg8_encode(tile, level=_JPEG_QUALITY, subsampling="420"))
        if self.has_predictor:
            tile = imagecodecs.delta_encode(tile, axis=1)
        data = tile.tobytes()
        if self.compression == "zlib":
            return bytes(imagecodecs.deflate_encode(data, level=_DEFLATE_LEVEL))
        if self.compression == "zstd":
            return bytes(imagecodecs.zstd_encode(data, level=_ZSTD_LEVEL))
        return bytes(imagecodecs.lzw_encode(data))


def cut_block(mosaic: Mosaic, region: Region, block: NDArray[Any]) -> Iterator[TilePiece]:
    """Yield the tiles and parts of tiles in a block of pixels, as views of the block."""
    _, channels, depth = mosaic.shape[:3]
    rows, columns = (list(_cuts(part, side)) for part, side in zip(region[3:], mosaic.tile, strict=True))
    for t, c, z in np.ndindex(block.shape[:3]):
        plane = ((region[0].start + t) * channels + region[1].start + c) * depth + region[2].start + z
        pixels = block[t, c, z]
        for row, y, top in rows:
            for column, x, left in columns:
                yield (plane, row * mosaic.across + column), pixels[y, x], top, left


def _cuts(part: slice, side: int) -> Iterator[tuple[int, slice, int]]:
    """Yield, for each tile that overlaps a range: its number, the overlap, and the start of the overlap in the tile."""
    for number in range(part.start // side, -(-part.stop // side)):
        start, stop = max(part.start, number * side), min(part.stop, (number + 1) * side)
        yield number, slice(start - part.start, stop - part.start), start - number * side


def parse_compression(name: str) -> str:
    """Return the TIFF compression with this name; raise an error for an unknown name."""
    if name not in COMPRESSIONS:
        raise UsageError(
            f"expected a compression, one of {', '.join(COMPRESSIONS)}; got {name!r}",
            hint="Choose zlib, which all TIFF readers support.",
        )
    return name
