"""The document of an array of which a box of whole chunks is left."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, relayout_document

__all__ = ["Box", "crop_document"]

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A box of an array, in pixels.

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
        """Tell whether it is all of an array."""
        return self.shape == shape and not any(self.start)


def crop_document(document: Document, layout: ArrayLayout, cut: Box) -> Document:
    """Return the ``zarr.json`` of an array of which `cut` is left; chunks, their keys and their codecs stay.

    Shards keep their lengths as long as the array is longer.

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
    new: Document = {**document, "shape": list(cut.shape)}
    if layout.shards is None:
        return new
    clipped = tuple(
        min(shard, -(-length // chunk) * chunk)
        for shard, chunk, length in zip(layout.shards, layout.chunks, cut.shape, strict=True)
    )
    return relayout_document(new, clipped)
