"""Image metadata read from a file of another format, in the terms of OME-Zarr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ozx.hierarchy.ome.rendering import Window


@dataclass(frozen=True, slots=True)
class PixelSize:
    """Distance between neighbouring pixels along an axis.

    Attributes
    ----------
    value
        The distance in units.
    unit
        The unit as OME-Zarr spells it; None if the file has none that OME-Zarr allows.
    unknown
        The unit in the file, if it is not understood.
    """

    value: float
    unit: str | None = None
    unknown: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ChannelDescription:
    """Name and display settings of a channel.

    Attributes
    ----------
    name
        Its name.
    color
        Six hexadecimal digits, RRGGBB.
    emission
        Emission wavelength, in nanometers.
    window
        The contrast range that was set when the file was saved.
    is_shown
        Whether the channel is shown at first; False for transparency.
    """

    name: str | None = None
    color: str | None = None
    emission: float | None = None
    window: Window | None = None
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """Metadata of an image from a file of another format.

    Attributes
    ----------
    name
        Its name.
    sizes
        Pixel sizes by axis (t, z, y, x); unknown sizes are left out.
    channels
        Its channels in order; empty if unknown.
    acquired
        The acquisition date, in the file's format.
    notes
        Remarks about metadata that were left out.
    """

    name: str | None = None
    sizes: Mapping[str, PixelSize] = field(default_factory=dict)
    channels: tuple[ChannelDescription, ...] = ()
    acquired: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WellDescription:
    """A well: its row and column, counted from 0, and the numbers of the images that are its fields of view.

    `acquisitions` has one value per field: the number of its acquisition (a recording of the plate), or None.
    """

    row: int
    column: int
    fields: tuple[int, ...]
    acquisitions: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class PlateDescription:
    """A plate: the names of its rows and columns, and its wells.

    `acquisitions` has the name, start time and end time (milliseconds since 1970, UTC) of each recording of the plate.
    """

    name: str | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    wells: tuple[WellDescription, ...]
    acquisitions: tuple[tuple[str | None, int | None, int | None], ...] = ()

    def renumbered(self, numbers: Mapping[int, int]) -> PlateDescription | None:
        """Return the plate with only the images in `numbers`, a map of old to new numbers; None if no image remains."""
        wells = []
        for well in self.wells:
            pairs = [pair for pair in zip(well.fields, well.acquisitions, strict=True) if pair[0] in numbers]
            if pairs:
                fields, acquisitions = zip(*pairs, strict=True)
                wells.append(replace(well, fields=tuple(numbers[field] for field in fields), acquisitions=acquisitions))
        return replace(self, wells=tuple(wells)) if wells else None


def describe_samples(count: int, most: float | None) -> tuple[ChannelDescription, ...]:
    """Return the channels of a colour image: red, green, blue, and transparency, which is not displayed.

    Parameters
    ----------
    count
        Samples per pixel.
    most
        The pixel value of full brightness; None if unknown.

    Examples
    --------
    >>> [(channel.name, channel.color, channel.is_shown) for channel in describe_samples(4, 255)][2:]
    [('Blue', '0000FF', True), ('Alpha', 'FFFFFF', False)]
    """
    window = None if most is None else Window(0.0, most, 0.0, most)
    samples = [
        ChannelDescription("Red", "FF0000", window=window),
        ChannelDescription("Green", "00FF00", window=window),
        ChannelDescription("Blue", "0000FF", window=window),
        ChannelDescription("Alpha", "FFFFFF", window=window, is_shown=False),
    ]
    return tuple(samples[:count])
