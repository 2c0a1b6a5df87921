"""Metadata of an array cropped to whole chunks."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, relayout_document

__all__ = ["Box", "crop_document"]

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A box of pixels in an array.

    Attributes
    ----------
    start
        Its first pixel along each dimension: multiples of the chunks' lengths.
    shape
        Its lengths. It ends at chunk borders or at the array's edge.
    """

    start: Lengths
    shape: Lengths

    def is_whole(self, shape: Lengths) -> bool:
        """Tell whether it covers an array of this shape."""
        return self.shape == shape and not any(self.start)


def crop_document(document: Document, layout: ArrayLayout, box: Box) -> Document:
    """Return the ``zarr.json`` of an array cropped to `box`; chunks, keys and codecs stay.

    Shards keep their lengths unless the array becomes shorter.

    Examples
    --------
    >>> from ozx.hierarchy.zarr.chunk_layout import parse_layout
    >>> document = {
    ...     "node_type": "array", "shape": [100], "data_type": "uint8", "codecs": [{"name": "bytes"}],
    ...     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16]}}, "chunk_key_encoding": "default",
    ... }
    >>> crop_document(document, parse_layout(document, "0"), Box((32,), (40,)))["shape"]
    [40]
    """
    new: Document = {**document, "shape": list(box.shape)}
    if layout.shards is None:
        return new
    clipped = tuple(
        min(shard, -(-length // chunk) * chunk)
        for shard, chunk, length in zip(layout.shards, layout.chunks, box.shape, strict=True)
    )
    return relayout_document(new, clipped)
