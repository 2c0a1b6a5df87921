"""Metadata of an array cropped to whole chunks."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, relayout_document

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picked:
    """A selection of non-adjacent whole chunks along one dimension."""

    dimension: int
    # In ascending order.
    pixels: Lengths

    def chunks(self, length: int) -> Lengths:
        """Return the numbers of the chunks that contain the pixels, if each chunk has `length` pixels."""
        return tuple(dict.fromkeys(pixel // length for pixel in self.pixels))


@dataclass(frozen=True, slots=True)
class Box:
    """A box of pixels in an array, with a start and a length for each dimension."""

    # Its first pixel along each dimension: multiples of the chunks' lengths.
    start: Lengths
    # Its lengths. It ends at chunk borders or at the array's edge.
    shape: Lengths
    # The pixels along the dimension that has gaps: `start` is the first of them, and `shape` contains their number.
    picked: Picked | None = None

    def is_whole(self, shape: Lengths) -> bool:
        """Return whether the box covers a whole array of the given shape."""
        return self.shape == shape and not any(self.start)


def crop_document(document: Document, layout: ArrayLayout, box: Box) -> Document:
    """Return the ``zarr.json`` of an array cropped to `box`; chunk shape, key encoding and codecs stay unchanged.

    Shards keep their lengths unless the array becomes shorter.
    """
    new: Document = {**document, "shape": list(box.shape)}
    if layout.shards is None:
        return new
    clipped = tuple(
        min(shard, -(-length // chunk) * chunk)
        for shard, chunk, length in zip(layout.shards, layout.chunks, box.shape, strict=True)
    )
    return relayout_document(new, clipped)
