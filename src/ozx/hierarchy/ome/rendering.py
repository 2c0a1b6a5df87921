"""Display settings of channels in OME-Zarr metadata: colours, contrast, and the plane to show first.

"omero" has the same form in 0.4 and 0.5. Parsing never fails: missing or malformed settings are
None or left out, because no picture depends on them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_numbers, as_object, as_text
from ozx.hierarchy.ome.dyes import dye_color
from ozx.hierarchy.ome.metadata import ome_object

# OME-Zarr 0.5, "omero": six hexadecimal digits. Some writers add "#" in front, or an alpha value at the end.
_COLOR = re.compile(r"#?([0-9A-Fa-f]{6})(?:[0-9A-Fa-f]{2})?")
_DEFAULTS = ("defaultZ", "defaultT")
# For channels without a colour, in order: everyone can tell these apart.
_PALETTE = ("00FFFF", "FF00FF", "FFFF00", "FF0000", "00FF00", "0000FF")


@dataclass(frozen=True, slots=True)
class Window:
    """The contrast of a channel: values from `start` to `end` are shown; `min` and `max` limit the user's choice."""

    start: float
    end: float
    min: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class ShownChannel:
    """Display settings of one channel; `color` is six hexadecimal digits in upper case, RRGGBB."""

    label: str | None
    color: str | None
    active: bool
    window: Window | None


@dataclass(frozen=True, slots=True)
class ShownPlane:
    """The plane that viewers show first when they open the image."""

    # Its indices at full resolution, or None; they may be out of range.
    z: int | None = None
    t: int | None = None
    # Whether one channel is shown in shades of gray, instead of all active ones in their colours.
    is_gray: bool = False


def parse_shown_channels(attributes: dict[str, Any], zarr_format: int) -> tuple[ShownChannel, ...]:
    """Return the display settings of each channel from ``omero``; empty if ``omero`` is missing."""
    channels = as_list(as_object(ome_object(attributes, zarr_format).get("omero")).get("channels"))
    return tuple(_parse_channel(as_object(channel)) for channel in channels)


def parse_shown_plane(attributes: dict[str, Any], zarr_format: int) -> ShownPlane:
    """Return the plane that viewers show first, from ``rdefs`` of ``omero``."""
    defaults = as_object(as_object(ome_object(attributes, zarr_format).get("omero")).get("rdefs"))
    z, t = (value if type(value) is int and value >= 0 else None for value in map(defaults.get, _DEFAULTS))
    return ShownPlane(z, t, defaults.get("model") == "greyscale")


def default_color(number: int, count: int, label: str | None = None, emission: float | None = None) -> str:
    """Return the default colour of channel `number` of `count` channels, for channels without a colour in metadata.

    The dye in the channel's name decides, else the channel's emission wavelength in nanometers. Otherwise a single
    channel is white, and several channels are cyan, magenta, yellow, red, green and blue in turn.

    Examples
    --------
    >>> default_color(0, 2, "DAPI"), default_color(1, 2), default_color(0, 1)
    ('0000FF', 'FF00FF', 'FFFFFF')
    """
    return dye_color(label, emission) or ("FFFFFF" if count == 1 else _PALETTE[number % len(_PALETTE)])


def _parse_channel(channel: dict[str, Any]) -> ShownChannel:
    match = _COLOR.fullmatch(as_text(channel.get("color")) or "")
    active = channel.get("active")
    return ShownChannel(
        label=as_text(channel.get("label")),
        color=None if match is None else match[1].upper(),
        active=active if isinstance(active, bool) else True,
        window=_parse_window(as_object(channel.get("window"))),
    )


def _parse_window(window: dict[str, Any]) -> Window | None:
    shown = as_numbers([window.get("start"), window.get("end")])
    if shown is None or not shown[0] < shown[1]:
        return None
    least, most = (as_numbers([window.get(key)]) for key in ("min", "max"))
    return Window(shown[0], shown[1], None if least is None else least[0], None if most is None else most[0])
