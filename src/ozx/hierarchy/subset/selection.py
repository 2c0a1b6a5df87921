"""The requested part of each image of a hierarchy: levels, a region, or fewer of the finest levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ozx.errors import UsageError
from ozx.hierarchy.ome.metadata import Multiscale
from ozx.hierarchy.subset.level_choice import LevelChoice
from ozx.hierarchy.subset.region import Region

__all__ = ["Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested part of each image."""

    # The levels; None for those that show the region.
    levels: LevelChoice | None = None
    # By axis, in pixels of the full resolution.
    region: Region = field(default_factory=dict)
    # Number of further finest levels to leave out; the coarsest stays.
    skipped: int = 0

    def check(self, multiscales: Sequence[Multiscale]) -> None:
        """Refuse axes and levels that no image of a hierarchy has.

        Raises
        ------
        UsageError
            There is no image, or none has such an axis or such levels.
        """
        if not multiscales and (self.region or self.levels is not None or self.skipped):
            raise UsageError("expected an image, to extract levels or a region; there is none")
        names = {axis.name for multiscale in multiscales for axis in multiscale.axes if axis.name is not None}
        for axis in self.region:
            if axis not in names:
                raise UsageError(f"unknown axis {axis!r}; the axes are {', '.join(sorted(names))}")
        counts = [len(multiscale.datasets) for multiscale in multiscales]
        if self.levels is not None and not any(map(self.levels.choose, counts)):
            raise UsageError(
                f"no image has any of the levels {self.levels}; the largest has {max(counts)} levels",
                hint="0 is the finest; -1 is the coarsest.",
            )
