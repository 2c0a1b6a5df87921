"""Image metadata read from a file of another format, in the terms of OME-Zarr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ozx.images.pixel_source import PixelSource
from ozx.ome.colors import RGBA, ShownChannel, Window
from ozx.ome.units import PixelSize


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """Metadata of an image from a file of another format; and once it is opened, its pixels."""

    name: str | None = None  # its name
    # Pixel sizes by axis (t, z, y, x); unknown sizes are left out.
    sizes: Mapping[str, PixelSize] = field(default_factory=dict)
    channels: tuple[ShownChannel, ...] = ()  # its channels in order; empty if unknown
    notes: tuple[str, ...] = ()  # remarks about metadata that were left out
    has_planes: bool = True  # whether the metadata name planes of pixels
    # The numbers of planes along T, C and Z, the slowest first, as the metadata have them; empty if unknown.
    planes: Mapping[str, int] = field(default_factory=dict, compare=False)
    # The place of the first pixel on the stage, by axis (z, y, x); unknown ones are left out.
    origin: Mapping[str, PixelSize] = field(default_factory=dict)
    # The pixels of the full resolution and of the stored lower levels; empty if the file is not opened for reading.
    sources: Sequence[PixelSource] = ()
    guesses: Sequence[str] = ()  # remarks about how the axes of the pixels were found


@dataclass(frozen=True, slots=True)
class PlateDescription:
    """A plate: the names of its rows and columns, and its wells.

    `acquisitions` has the name, start time and end time (milliseconds since 1970, UTC) of each recording of the plate.
    """

    name: str | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    # By row and column, counted from 0, the fields of view of each well: the number of the image, and that of its
    # acquisition, if there is one.
    wells: Mapping[tuple[int, int], Sequence[tuple[int, int | None]]]
    acquisitions: tuple[tuple[str | None, int | None, int | None], ...] = ()

    def renumbered(self, numbers: Mapping[int, int]) -> PlateDescription | None:
        """Return the plate with only the images in `numbers`, a map of old to new numbers; None if no image remains."""
        kept = {
            place: [(numbers[number], recorded) for number, recorded in fields if number in numbers]
            for place, fields in self.wells.items()
        }
        wells = {place: fields for place, fields in kept.items() if fields}
        return replace(self, wells=wells) if wells else None


def describe_samples(count: int, most: float | None) -> tuple[ShownChannel, ...]:
    """Return the channels of a colour image: red, green, blue, and transparency, which is not displayed."""
    window = None if most is None else Window(0.0, most, None, None)
    return tuple(ShownChannel(name, color, number < 3, window) for number, (name, color) in enumerate(RGBA[:count]))
