"""The layout that options ask for, before it is parsed: nothing slow is imported here, so that packing starts fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LayoutRequest"]


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """Options of a layout as they were given; `ozx.hierarchy.relayout.layout_choice.LayoutChoice.parse` takes them.

    Attributes
    ----------
    shards, chunks, codec, chunk_checksums
        As for `ozx.repack`.
    """

    shards: str | Mapping[str, int]
    chunks: str | Mapping[str, int] | None
    codec: str | None
    chunk_checksums: str | None

    @property
    def changes_nothing(self) -> bool:
        """Whether every value of a hierarchy of Zarr v3 stays as it is."""
        is_same_layout = self.shards == "keep" and self.chunks is None and self.codec is None
        return is_same_layout and self.chunk_checksums in (None, "keep")
