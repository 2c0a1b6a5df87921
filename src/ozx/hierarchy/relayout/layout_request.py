"""Layout options before they are parsed: imports nothing slow, so that packing starts fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LayoutRequest"]


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """Layout options as given; `ozx.hierarchy.relayout.layout_choice.LayoutChoice.parse` parses them."""

    shards: str | Mapping[str, int]
    chunks: str | Mapping[str, int] | None
    codec: str | None
    chunk_checksums: str | None

    @property
    def changes_nothing(self) -> bool:
        """Whether every value of a Zarr v3 hierarchy stays unchanged."""
        is_same_layout = self.shards == "keep" and self.chunks is None and self.codec is None
        return is_same_layout and self.chunk_checksums in (None, "keep")
