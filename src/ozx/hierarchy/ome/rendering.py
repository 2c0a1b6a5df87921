"""Display settings in OME-Zarr metadata: channel colours and contrast, label colours and properties.

"omero" and "image-label" have the same form in 0.4 and 0.5. Parsing never fails: missing or malformed settings are
None or left out, because no picture depends on them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_numbers, as_object, as_text
from ozx.hierarchy.ome.dyes import dye_color

__all__ = [
    "LabelDisplay",
    "ShownChannel",
    "ShownPlane",
    "Window",
    "default_color",
    "parse_label_display",
    "parse_shown_channels",
    "parse_shown_plane",
]

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


@dataclass(frozen=True, slots=True)
class LabelDisplay:
    """Display settings of a label image."""

    # Red, green, blue and alpha, each from 0 to 255, by label value.
    colors: dict[int, tuple[int, int, int, int]]
    # The properties of each label value, as a mapping from property names.
    properties: dict[int, dict[str, Any]]


def parse_shown_channels(attributes: dict[str, Any], zarr_format: int) -> tuple[ShownChannel, ...]:
    """Return the display settings of each channel from ``omero``; empty if ``omero`` is missing."""
    channels = as_list(as_object(_ome(attributes, zarr_format).get("omero")).get("channels"))
    return tuple(_parse_channel(as_object(channel)) for channel in channels)


def parse_shown_plane(attributes: dict[str, Any], zarr_format: int) -> ShownPlane:
    """Return the plane that viewers show first, from ``rdefs`` of ``omero``."""
    defaults = as_object(as_object(_ome(attributes, zarr_format).get("omero")).get("rdefs"))
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


def parse_label_display(attributes: dict[str, Any], zarr_format: int) -> LabelDisplay:
    """Return the colours and properties of label values, from ``image-label``."""
    label = as_object(_ome(attributes, zarr_format).get("image-label"))
    colors: dict[int, tuple[int, int, int, int]] = {}
    for value, item in _by_label(label.get("colors")):
        rgba = as_list(item.get("rgba"))
        if len(rgba) == 4 and all(type(part) is int and 0 <= part <= 255 for part in rgba):
            colors[value] = (rgba[0], rgba[1], rgba[2], rgba[3])
    properties = {
        value: {name: known for name, known in item.items() if name != "label-value"}
        for value, item in _by_label(label.get("properties"))
    }
    return LabelDisplay(colors, properties)


def _ome(attributes: dict[str, Any], zarr_format: int) -> dict[str, Any]:
    return as_object(attributes.get("ome")) if zarr_format == 3 else attributes


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


def _by_label(value: Any) -> list[tuple[int, dict[str, Any]]]:
    items = [as_object(item) for item in as_list(value)]
    return [(item["label-value"], item) for item in items if type(item.get("label-value")) is int]
