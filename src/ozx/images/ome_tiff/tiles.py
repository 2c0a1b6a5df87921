"""Writing of the tiles of an OME-TIFF file by several threads, in a fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.images.exported_image import ExportedLevel, Region
from ozx.images.ome_tiff.file import OmeTiff, TileTable
from ozx.images.ome_tiff.tile_cutting import Mosaic, Piece, TileId, cut_block, plan_blocks
from ozx.images.ome_tiff.tile_encoding import TileEncoding
from ozx.progress import Progress

# Decoded pixels: so many that threads seldom wait for each other, so few that a dozen blocks fit into memory.
BLOCK_BYTES = 8 << 20
# A tile from several blocks is written this many blocks later; a fixed number gives the same bytes every time.
_LATER = 4

Encoded = list[tuple[TileId, bytes | memoryview]]


@dataclass(frozen=True)
class LevelWork:
    """A level to write: its pixels, and the table of its tiles."""

    level: ExportedLevel
    encoding: TileEncoding
    table: TileTable


@dataclass(frozen=True)
class _Block:
    """A part of a level that a thread encodes: its complete tiles, and pieces of incomplete tiles."""

    work: LevelWork
    mosaic: Mosaic
    made: Future[tuple[Encoded, list[Piece], int]]


def write_tiles(tiff: OmeTiff, works: Sequence[LevelWork], *, jobs: int, progress: Progress) -> None:
    """Write all tiles of the given levels; each chunk is read once."""
    late: deque[tuple[int, TileTable, Future[Encoded]]] = deque()
    pool = ThreadPoolExecutor(jobs, "ozx-export")
    try:
        for number, block in enumerate(_made_ahead(pool, works, 2 * jobs)):
            tiles, pieces, size = block.made.result()
            if tiles:
                tiff.append(block.work.table, tiles)
            whole = [(piece.tile, pixels) for piece in pieces if (pixels := block.mosaic.add(piece)) is not None]
            if whole:
                late.append((number + _LATER, block.work.table, pool.submit(_encode, block.work.encoding, whole)))
            while late and late[0][0] <= number:
                _, table, encoded = late.popleft()
                tiff.append(table, encoded.result())
            progress.advance(size)
        for _, table, encoded in late:
            tiff.append(table, encoded.result())
    finally:
        pool.shutdown(cancel_futures=True)


def _made_ahead(pool: ThreadPoolExecutor, works: Sequence[LevelWork], most: int) -> Iterator[_Block]:
    """Yield blocks in order, and compute up to `most` following blocks in advance."""
    running: deque[_Block] = deque()
    for work in works:
        mosaic = Mosaic(work.level.shape, work.encoding.tile)
        wanted = BLOCK_BYTES // work.level.dtype.itemsize
        for region in plan_blocks(work.level.shape, work.level.read_alignment, wanted):
            running.append(_Block(work, mosaic, pool.submit(_make, work, mosaic, region)))
            if len(running) > most:
                yield running.popleft()
    yield from running


def _make(work: LevelWork, mosaic: Mosaic, region: Region) -> tuple[Encoded, list[Piece], int]:
    block = work.level.read(region)
    tiles: Encoded = []
    pieces: list[Piece] = []
    for piece in cut_block(mosaic, region, block):
        if mosaic.is_whole(piece):
            tiles.append((piece.tile, work.encoding.encode(piece.pixels)))
        else:
            pieces.append(piece)
    return tiles, pieces, block.nbytes


def _encode(encoding: TileEncoding, tiles: list[tuple[TileId, NDArray[np.generic]]]) -> Encoded:
    return [(tile, encoding.encode(pixels)) for tile, pixels in tiles]
