"""The requested part of each image of a hierarchy: some resolution levels, or a region."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ozx.errors import UsageError
from ozx.hierarchy.ome.axis_names import unknown_axis
from ozx.hierarchy.ome.metadata import Multiscale
from ozx.hierarchy.subset.region import Region

_SLICE = re.compile(r"\s*(-?[0-9]{1,9})?\s*(:)?\s*(-?[0-9]{1,9})?\s*")
_HINT = "Write '2:' for all but the 2 finest levels, ':3' for the 3 finest, 0 for the finest, -1 for the coarsest."


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """A range of levels, like a Python slice; level 0 is the full resolution."""

    start: int | None = None
    stop: int | None = None

    def choose(self, count: int) -> list[int]:
        """Return the chosen level numbers for an image of `count` levels."""
        return list(range(*slice(self.start, self.stop).indices(count)))

    def check(self, counts: Sequence[int]) -> None:
        """Check that at least one image has a chosen level; `counts` has the number of levels of each image."""
        if not any(map(self.choose, counts)):
            raise UsageError(
                f"no image has any of the levels {self}; the images have at most {max(counts)} levels",
                hint="Level 0 is the finest level, -1 the coarsest.",
            )

    def nearest(self, count: int) -> list[int]:
        """Return the chosen level numbers for an image of `count` levels; if none exists, the nearest level."""
        found = self.choose(count)
        if found:
            return found
        return [count - 1 if self.start is not None and self.start > 0 else 0]

    def __str__(self) -> str:
        return f"{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested part of each image: levels and region."""

    # The levels; None for those that show the region.
    levels: LevelChoice | None = None
    # By axis, in pixels of the full resolution.
    region: Region = field(default_factory=dict)
    # Number of levels to leave out in addition, from the finest on; the coarsest level stays.
    skipped: int = 0
    # Names or numbers of channels; empty for all.
    channels: tuple[str, ...] = ()

    def check(self, multiscales: Sequence[Multiscale]) -> None:
        """Raise an error if an axis or level of the selection exists in no image."""
        if not multiscales and (self.region or self.channels or self.levels is not None or self.skipped):
            raise UsageError("expected an image from which to extract levels, channels or a region; found none")
        names = [axis.name for multiscale in multiscales for axis in multiscale.axes if axis.name is not None]
        for axis in self.region:
            if axis not in names:
                raise unknown_axis(axis, names)
        channel_axes = {axis.name for multiscale in multiscales for axis in multiscale.axes if axis.type == "channel"}
        if self.channels and not channel_axes:
            raise UsageError("expected an image with channels; no image has a channel axis")
        if self.channels and channel_axes & self.region.keys():
            raise UsageError("channels are given twice: by name and in the region", hint="Give only one of them.")
        if self.levels is not None:
            self.levels.check([len(multiscale.datasets) for multiscale in multiscales])


def parse_levels(value: str | int | slice) -> LevelChoice:
    """Parse a choice of levels from text, an index or a slice."""
    if type(value) is int:
        return _one(value)
    if isinstance(value, slice):
        ends = (value.start, value.stop)
        if value.step not in (None, 1) or not all(end is None or type(end) is int for end in ends):
            raise UsageError(f"expected consecutive levels; got {value}", hint=_HINT)
        return LevelChoice(*ends)
    match = _SLICE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groups()) or (match[2] is None and match[3] is not None):
        raise UsageError(f"expected levels as in a Python slice; got {value!r}", hint=_HINT)
    start, stop = (None if text is None else int(text) for text in (match[1], match[3]))
    return LevelChoice(start, stop) if match[2] or start is None else _one(start)


def _one(index: int) -> LevelChoice:
    return LevelChoice(index, None if index == -1 else index + 1)
