"""Division of stored blocks of pixels into the tiles of a TIFF file.

Every block is read once. A tile that lies in several blocks waits until it is complete. No tile waits if chunks and
tiles fit together, as powers of two do; else about one row of tiles waits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lengths = tuple[int, ...]
Region = tuple[slice, ...]
#: The number of a plane (of t, c, z, the last one fastest) and of a tile in it, row by row.
TileId = tuple[int, int]


def plan_blocks(shape: Lengths, read_alignment: Lengths, wanted: int) -> Iterator[Region]:
    """Yield blocks (t, c, z, y, x) of an image in C order; lengths are multiples of `read_alignment` except at edges.

    Examples
    --------
    >>> [[(part.start, part.stop) for part in block[3:]] for block in plan_blocks((1, 1, 1, 5, 6), (1, 1, 1, 2, 2), 12)]
    [[(0, 2), (0, 6)], [(2, 4), (0, 6)], [(4, 5), (0, 6)]]
    """
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


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a tile, or the whole tile, with the position of its first pixel in the tile."""

    tile: TileId
    pixels: NDArray[Any]
    y: int
    x: int


@dataclass
class Mosaic:
    """The tiles of one level, each assembled from pieces."""

    shape: Lengths  # lengths of t, c, z, y, x
    tile: tuple[int, int]  # height and width of a tile
    _waiting: dict[TileId, tuple[NDArray[Any], int]] = field(default_factory=dict)

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

    def is_whole(self, piece: Piece) -> bool:
        """Return whether a piece contains all pixels of its tile that are inside the image."""
        return piece.pixels.shape == self.covered(piece.tile[1])

    def add(self, piece: Piece) -> NDArray[Any] | None:
        """Add a piece of a tile; return the tile if it is now complete, else None."""
        height, width = self.covered(piece.tile[1])
        pixels, missing = self._waiting.pop(piece.tile, (None, height * width))
        if pixels is None:
            pixels = np.empty((height, width), piece.pixels.dtype)
        rows, columns = piece.pixels.shape
        pixels[piece.y : piece.y + rows, piece.x : piece.x + columns] = piece.pixels
        missing -= rows * columns
        if missing == 0:
            return pixels
        self._waiting[piece.tile] = pixels, missing
        return None


def cut_block(mosaic: Mosaic, region: Region, block: NDArray[Any]) -> Iterator[Piece]:
    """Yield the tiles and parts of tiles in a block of pixels, as views of the block.

    Examples
    --------
    >>> mosaic = Mosaic((1, 1, 1, 20, 16), (16, 16))
    >>> block = np.zeros((1, 1, 1, 18, 16))
    >>> region = (slice(0, 1), slice(0, 1), slice(0, 1), slice(2, 20), slice(0, 16))
    >>> pieces = list(cut_block(mosaic, region, block))
    >>> [(piece.tile, piece.pixels.shape, piece.y, mosaic.is_whole(piece)) for piece in pieces]
    [((0, 0), (14, 16), 2, False), ((0, 1), (4, 16), 0, True)]
    """
    _, channels, depth = mosaic.shape[:3]
    rows, columns = (list(_cuts(part, side)) for part, side in zip(region[3:], mosaic.tile, strict=True))
    for t, c, z in np.ndindex(block.shape[:3]):
        plane = ((region[0].start + t) * channels + region[1].start + c) * depth + region[2].start + z
        pixels = block[t, c, z]
        for row, y, top in rows:
            for column, x, left in columns:
                yield Piece((plane, row * mosaic.across + column), pixels[y, x], top, left)


def _cuts(part: slice, side: int) -> Iterator[tuple[int, slice, int]]:
    """Yield, for each tile that overlaps a range: its number, the overlap, and the start of the overlap in the tile."""
    for number in range(part.start // side, -(-part.stop // side)):
        start, stop = max(part.start, number * side), min(part.stop, (number + 1) * side)
        yield number, slice(start - part.start, stop - part.start), start - number * side
