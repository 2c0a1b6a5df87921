"""Writer of OME-TIFF files: tifffile writes the directories first; then `OmeTiff.append` adds the tiles.

A TIFF file lists the place of each tile. So tifffile first writes all directories, for empty tiles. The tiles follow as
they are read from the source. At the end, the tables of their places are filled in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ozx.exporting.exported_image import ExportedImage, Region
from ozx.exporting.tile_encoding import Mosaic, TileId, TilePiece, cut_block, plan_blocks
from ozx.extras import needed
from ozx.ome.units import in_micrometers
from ozx.progress import Progress
from ozx.threads import in_order, working

with needed("tiff", "writing a TIFF file"):
    from tifffile import TiffFile, TiffPage, TiffWriter

LARGEST_CLASSIC = (1 << 32) - (1 << 20)
_DIRECTORY = 512  # bytes of a directory, without its tables
_TILE = 512
_COMPRESSION, _OFFSETS, _COUNTS = 259, 324, 325  # TIFF 6.0, "Compression", "TileOffsets" and "TileByteCounts"
_NUMBERS = {3: "<u2", 4: "<u4", 16: "<u8"}  # types of numbers: SHORT, LONG (TIFF 6.0), LONG8 (BigTIFF)
_REDUCED = 1  # TIFF 6.0, "NewSubfileType": a reduced-resolution version of another image
_CENTIMETER = 3  # TIFF 6.0, "ResolutionUnit"


def choose_tile(image: ExportedImage, asked: int | None) -> tuple[int, int]:
    """Return the height and width of an image's tiles: the requested side, else suitable chunk lengths, else 512.

    No tile exceeds its image, except to make its sides multiples of 16 (TIFF 6.0, "TileWidth").
    """
    sides = []
    for length, chunk in zip(image.shape[3:], image.read_alignment(image.levels[0])[3:], strict=True):
        is_odd = chunk % _TILE and _TILE % chunk
        side = asked or (chunk if is_odd and chunk % 16 == 0 and 128 <= chunk <= 1024 else _TILE)
        sides.append(min(side, -(-length // 16) * 16))
    return sides[0], sides[1]


class OmeTiff:
    """Writer of an OME-TIFF file: call `add` for each image, then `finish_directories`, `append` and `close`."""

    def __init__(self, file: BinaryIO, *, is_big: bool) -> None:
        self._file = file
        self._writer = TiffWriter(file, bigtiff=is_big, byteorder="<", ome=False)
        self._images: list[tuple[ExportedImage, Sequence[Mosaic]]] = []
        self._end = 0

    def add(self, mosaics: Sequence[Mosaic], description: str | None) -> None:
        """Write the directories of the levels of an image; `append` fills in the places of their tiles.

        `description` is the OME-XML for the first image, and None for all other images.
        """
        first, image = mosaics[0], mosaics[0].image
        options: dict[str, Any] = {
            "dtype": image.dtype.newbyteorder("<"),
            "tile": first.tile,
            # zlib also for uncompressed tiles: else tifffile would write the pixels. `_places` corrects the tag later.
            "compression": "zlib" if first.compression == "none" else first.compression,
            "predictor": 2 if first.has_predictor else None,
            "photometric": "minisblack" if not image.is_rgb else "ycbcr" if first.is_lossy else "rgb",
            "planarconfig": "contig" if image.is_rgb else None,
            "metadata": None,
            "software": False,
            "contiguous": False,
        }
        for number, mosaic in enumerate(mosaics):
            empty = (b"" for _ in range(image.page_count * mosaic.places[0].shape[1]))
            shape = (image.page_count, *mosaic.shape[3:], *([first.samples] if image.is_rgb else []))
            if number:
                self._writer.write(empty, shape=shape, subfiletype=_REDUCED, **options)
            else:
                self._writer.write(
                    empty,
                    shape=shape,
                    subifds=len(image.levels) - 1,
                    description=None if description is None else description.encode(),
                    **_resolution(image),
                    **options,
                )
        self._images.append((image, mosaics))

    def finish_directories(self) -> None:
        """Mark the directories as complete; after this call only tiles can be written."""
        self._writer.close()
        self._end = -(-self._file.seek(0, 2) // 16) * 16

    def append(self, mosaic: Mosaic, tiles: Sequence[tuple[TileId, bytes | memoryview]]) -> None:
        """Write tiles of one level at the end of the file."""
        self._file.seek(self._end)
        self._file.writelines(data for _, data in tiles)
        offsets, counts = mosaic.places
        for place, data in tiles:
            offsets[place], counts[place] = self._end, len(data)
            self._end += len(data)

    def close(self) -> None:
        """Write the offsets and sizes of all tiles into the directories; `file` stays open."""
        self._file.seek(0)
        # Read before anything is written: tifffile and this class share the position in the file.
        with TiffFile(self._file) as tiff:
            places = list(self._places(tiff))
        for offset, values in places:
            self._file.seek(offset)
            self._file.write(values.tobytes())
        self._file.flush()

    def _places(self, tiff: TiffFile) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield, for each tag to complete, the file offset of the tag's values, and the values to write."""
        pages = iter(tiff.pages)
        for image, mosaics in self._images:
            for plane in np.ndindex(image.planes[:3]):
                page = next(pages)
                found = [page, *(page.pages or ())]
                for mosaic, one in zip(mosaics, found, strict=True):
                    row = _plane_of(mosaic, plane, image.shape[2])
                    for code, numbers in zip((_OFFSETS, _COUNTS), mosaic.places, strict=True):
                        yield _table_place(one, code, numbers[row])
                    if mosaic.compression == "none":
                        yield _table_place(one, _COMPRESSION, np.ones(1, np.uint64))


def needs_big(mosaics: Iterable[Mosaic], beside: int) -> bool:
    """Return whether a file must be a BigTIFF, because the tiles and `beside` other bytes may exceed 4 GiB."""
    size = beside
    for mosaic in mosaics:
        size += mosaic.plane_count * mosaic.tiles_per_plane * mosaic.largest_tile
        size += mosaic.image.page_count * (_DIRECTORY + 8 * mosaic.tiles_per_plane)
    return size > LARGEST_CLASSIC


def _plane_of(mosaic: Mosaic, plane: tuple[int, ...], depth: int) -> int:
    """Return the number of a level's plane for the full-resolution `plane`; `depth` is the full length of z."""
    t, c, z = plane
    _, channels, planes = mosaic.shape[:3]
    return (t * channels + c) * planes + z * planes // depth


def _table_place(page: TiffPage, code: int, values: NDArray[np.uint64]) -> tuple[int, NDArray[Any]]:
    tag = page.tags[code]
    return tag.valueoffset, values.astype(_NUMBERS[int(tag.dtype)])


def _resolution(image: ExportedImage) -> dict[str, Any]:
    """Return the TIFF tags for the pixel size, for readers that ignore OME-XML."""
    sizes = [in_micrometers(size) for axis in "xy" if (size := image.description.sizes.get(axis)) is not None]
    if len(sizes) != 2 or None in sizes:
        return {}
    return {"resolution": tuple(10_000 / size for size in sizes if size), "resolutionunit": _CENTIMETER}


# Writing of the tiles of an OME-TIFF file by several threads, in a fixed order.

# Decoded pixels: so many that threads seldom wait for each other, so few that a dozen blocks fit into memory.
BLOCK_BYTES = 8 << 20
# A tile from several blocks is written this many blocks later; a fixed number gives the same bytes every time.
_LATER = 4

Encoded = list[tuple[TileId, bytes | memoryview]]


def write_tiles(tiff: OmeTiff, mosaics: Sequence[Mosaic], *, jobs: int, progress: Progress) -> None:
    """Write all tiles of the given levels; each chunk is read once."""
    late: deque[tuple[int, Mosaic, Future[Encoded]]] = deque()
    with working(jobs) as workers:
        made = in_order(_submitted(workers.executor, mosaics), 2 * jobs + 1)
        for number, (mosaic, (tiles, pieces, size)) in enumerate(made):
            if tiles:
                tiff.append(mosaic, tiles)
            whole = [(piece[0], pixels) for piece in pieces if (pixels := mosaic.add(piece)) is not None]
            if whole:
                late.append((number + _LATER, mosaic, workers.executor.submit(_encode, mosaic, whole)))
            while late and late[0][0] <= number:
                _, of_tiles, encoded = late.popleft()
                tiff.append(of_tiles, encoded.result())
            progress.advance(size)
        for _, of_tiles, encoded in late:
            tiff.append(of_tiles, encoded.result())


def _submitted(
    executor: Executor, mosaics: Sequence[Mosaic]
) -> Iterator[tuple[Mosaic, Future[tuple[Encoded, list[TilePiece], int]]]]:
    for mosaic in mosaics:
        wanted = BLOCK_BYTES // mosaic.image.dtype.itemsize // mosaic.samples
        for region in plan_blocks(mosaic.shape, mosaic.image.read_alignment(mosaic.level), wanted):
            yield mosaic, executor.submit(_make, mosaic, region)


def _make(mosaic: Mosaic, region: Region) -> tuple[Encoded, list[TilePiece], int]:
    """Return the encoded complete tiles of a block, the pieces of other tiles, and the size of the block in bytes."""
    block = mosaic.image.read(mosaic.level, region)
    tiles: Encoded = []
    pieces: list[TilePiece] = []
    for piece in cut_block(mosaic, region, block):
        tile, pixels, _, _ = piece
        if mosaic.is_whole(tile, pixels):
            tiles.append((tile, mosaic.encode(pixels)))
        else:
            pieces.append(piece)
    return tiles, pieces, block.nbytes


def _encode(mosaic: Mosaic, tiles: list[tuple[TileId, NDArray[np.generic]]]) -> Encoded:
    return [(tile, mosaic.encode(pixels)) for tile, pixels in tiles]
