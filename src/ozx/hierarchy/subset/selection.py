"""What is wanted of each image of a hierarchy: levels, a region, or fewer of the finest levels."""

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
    """What is wanted of each image.

    Attributes
    ----------
    levels
        Which levels; None for those that show the region.
    region
        By axis, in pixels of the full resolution.
    skipped
        How many more of the finest levels are left out; the coarsest stays.
    """

    levels: LevelChoice | None = None
    region: Region = field(default_factory=dict)
    skipped: int = 0

    def check(self, multiscales: Sequence[Multiscale]) -> None:
        """Refuse what none of the images of a hierarchy has.

        Raises
        ------
        UsageError
            There is no image, or none has such an axis or such levels.
        """
        if not multiscales and (self.region or self.levels is not None or self.skipped):
            raise UsageError("expected an image to take levels or a region of; there is none")
        names = {axis.name for multiscale in multiscales for axis in multiscale.axes if axis.name is not None}
        for axis in self.region:
            if axis not in names:
                raise UsageError(f"expected an axis that is there, one of {', '.join(sorted(names))}; got {axis!r}")
        counts = [len(multiscale.datasets) for multiscale in multiscales]
        if self.levels is not None and not any(map(self.levels.choose, counts)):
            raise UsageError(
                f"expected levels that are there; no image has any of {self.levels}, the most are {max(counts)}",
                hint="0 is the finest; -1 is the coarsest.",
            )
