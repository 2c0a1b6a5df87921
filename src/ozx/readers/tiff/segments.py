"""Strips and tiles of TIFF pages: reading and decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.readers.images import FileSet

if TYPE_CHECKING:
    from tifffile import TiffFrame, TiffPage

#: Numbers of JPEG among the compressions of TIFF, of several versions.
JPEG = (6, 7, 34892, 33007)
_COMPLEX_INTEGER = 5
# The most decoded bytes of a strip or tile; a damaged tag may claim more than any memory has.
_LARGEST_SEGMENT = 8 << 30


def check_decodable(keyframe: TiffPage) -> None:
    """Check that ozx can decode a page's pixels and supports their type."""
    # A writer that was interrupted leaves a table without places; a sparse file lacks some tiles, not all of them.
    if keyframe.dataoffsets and not any(keyframe.dataoffsets):
        raise FormatError(
            f"page {keyframe.index}: none of its {len(keyframe.dataoffsets):,} strips or tiles is stored",
            hint="The program that wrote the file was interrupted: write it again.",
        )
    dtype = keyframe.dtype
    if dtype is None or dtype.kind not in "buif" or int(keyframe.sampleformat) == _COMPLEX_INTEGER:
        kind = getattr(keyframe.sampleformat, "name", str(keyframe.sampleformat)).lower()
        raise UnsupportedError(
            f"page {keyframe.index} has {kind} samples of {keyframe.bitspersample} bits; expected integers or "
            "floating-point numbers of up to 64 bits, or a mask"
        )
    problem = _decoding_problem(keyframe)
    if problem is not None:
        name = getattr(keyframe.compression, "name", None) or f"number {int(keyframe.compression)}"
        raise UnsupportedError(
            f"page {keyframe.index}: expected a compression that imagecodecs decodes; found {name} ({problem})",
            hint="Save the image with another compression, such as Deflate, LZW or Zstandard.",
        )


def _decoding_problem(keyframe: TiffPage) -> str | None:
    from tifffile import TIFF  # noqa: PLC0415 (an extra)

    compression, predictor = int(keyframe.compression), int(keyframe.predictor)
    try:
        if compression != 1 and TIFF.DECOMPRESSORS[compression] is None:
            return "no decoder is installed"
        if predictor != 1 and compression not in TIFF.IMAGE_COMPRESSIONS:
            TIFF.UNPREDICTORS[predictor]
        # Creates the decoder here, in one thread.
        keyframe.init_decode()
    except (KeyError, ValueError, NotImplementedError) as error:
        return str(error).strip("'\"")
    return None


class SegmentReader:
    """Reader that decodes the strips and tiles of all pages with the same layout as `keyframe`.

    The pixels of a page have five dimensions: separate samples, depth, height, width and samples of a pixel.
    """

    def __init__(self, keyframe: TiffPage, files: FileSet) -> None:
        check_decodable(keyframe)
        self._keyframe = keyframe
        self._files = files
        self._decode = keyframe.decode
        self._is_jpeg = int(keyframe.compression) in JPEG
        separate, depth, height, width, samples = keyframe.shaped
        if keyframe.is_tiled:
            self._word = "tile"
            block = (keyframe.tiledepth, keyframe.tilelength, keyframe.tilewidth)
        else:
            self._word = "strip"
            block = (1, min(keyframe.rowsperstrip, height), width)
        self.lengths = (1, *block, samples)
        size = prod(self.lengths) * np.dtype(keyframe.dtype).itemsize
        if not 0 < size <= _LARGEST_SEGMENT or 0 in keyframe.shaped:
            found = f"{'×'.join(map(str, block))} pixels in a page of {'×'.join(map(str, keyframe.shaped))}"
            raise FormatError(f"page {keyframe.index}: expected {self._word}s of at most 8 GiB; found {found}")
        self.grid = (separate, -(-depth // block[0]), -(-height // block[1]), -(-width // block[2]), 1)
        if len(keyframe.dataoffsets) < prod(self.grid):
            raise FormatError(
                f"page {keyframe.index}: expected {prod(self.grid):,} {self._word}s for "
                f"{'×'.join(map(str, keyframe.shaped))} pixels; it has {len(keyframe.dataoffsets):,}"
            )

    def iter_inside(self, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
        """Yield the number and the start of each strip or tile that overlaps a region of a page."""
        spans = zip(ranges, self.lengths, strict=True)
        for index in product(*[range(low // step, -(-high // step)) for (low, high), step in spans]):
            number = 0
            for place, count in zip(index, self.grid, strict=True):
                number = number * count + place
            yield number, [place * step for place, step in zip(index, self.lengths, strict=True)]

    def read(self, page: TiffPage | TiffFrame, number: int) -> NDArray[Any]:
        """Return the decoded pixels of a strip or tile; pixels outside of the page may be missing."""
        if number >= min(len(page.dataoffsets), len(page.databytecounts)):
            raise self._error(page, number, f"the page has only {len(page.dataoffsets):,} {self._word}s")
        offset, count = page.dataoffsets[number], page.databytecounts[number]
        if not (isinstance(offset, int) and isinstance(count, int)):  # a tag of another type
            raise self._error(page, number, "its offset or length is not a number")
        if offset < 0 or count < 0:
            raise self._error(page, number, f"its offset or length is negative: {offset:,}, {count:,}")
        if offset == 0 or count == 0:  # sparse files leave out empty ones
            return np.full(self.lengths, self._keyframe.nodata, self._keyframe.dtype)
        source = self._files[page.parent.filehandle.path]
        if offset + count > source.size():
            cut = f"bytes {offset:,} to {offset + count:,} are needed, but the file ends at {source.size():,}"
            raise self._error(page, number, cut, "The file is incomplete: copy or download it again.")
        options = {}
        if self._is_jpeg:
            options = {"jpegtables": page.jpegtables, "jpegheader": self._keyframe.jpegheader}
        data = source.read_at(offset, count)
        try:
            pixels = self._decode(data, number, **options)[0]
        except Exception as error:  # noqa: BLE001 (every codec has errors of its own)
            raise self._error(page, number, f"{type(error).__name__}: {error}") from None
        return np.asarray(pixels)[None]

    def _error(self, page: TiffPage | TiffFrame, number: int, problem: str, hint: str | None = None) -> FormatError:
        return FormatError(
            f"page {page.index}, {self._word} {number}: {problem}",
            path=page.parent.filehandle.path,
            hint=hint or "on_error='fill' replaces damaged parts by zeros.",
        )
