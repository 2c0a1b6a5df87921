"""How OME-Zarr metadata says an image is to be shown: channels with colour and contrast, label colours and properties.

Read are 0.4 and 0.5, "omero" and "image-label"; both have the same form in either. Nothing here fails: what is
missing or malformed is None or left out, since no picture depends on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_numbers, as_object, as_text

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

# OME-Zarr 0.5, "omero": six hexadecimal digits. Some writers put "#" before or an alpha value behind them.
_COLOR = re.compile(r"#?([0-9A-Fa-f]{6})(?:[0-9A-Fa-f]{2})?")
_DEFAULTS = ("defaultZ", "defaultT")
# For channels without a colour: told apart by everyone, in the order of their number.
_PALETTE = ("00FFFF", "FF00FF", "FFFF00", "FF0000", "00FF00", "0000FF")


@dataclass(frozen=True, slots=True)
class Window:
    """The contrast of a channel: shown from `start` to `end`, which a user may move between `min` and `max`."""

    start: float
    end: float
    min: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class ShownChannel:
    """How one channel is to be shown; `color` is six hexadecimal digits in upper case, RRGGBB."""

    label: str | None
    color: str | None
    active: bool
    window: Window | None


@dataclass(frozen=True, slots=True)
class ShownPlane:
    """Which plane of an image is shown first.

    Attributes
    ----------
    z, t
        Its numbers at full resolution, None where the metadata does not say; nobody has checked that they are in range.
    is_gray
        Whether one channel is shown in shades of gray, instead of all active ones in their colours.
    """

    z: int | None = None
    t: int | None = None
    is_gray: bool = False


@dataclass(frozen=True, slots=True)
class LabelDisplay:
    """How a label image is to be shown.

    Attributes
    ----------
    colors
        Red, green, blue and alpha, each from 0 to 255, by label value.
    properties
        What is known of a label, by label value: name to value.
    """

    colors: dict[int, tuple[int, int, int, int]]
    properties: dict[int, dict[str, Any]]


def parse_shown_channels(attributes: dict[str, Any], zarr_format: int) -> tuple[ShownChannel, ...]:
    """Return what ``omero`` says of the channels, in their order; none where it is missing.

    Parameters
    ----------
    attributes
        The attributes of the image's group: ``attributes`` of a ``zarr.json``, or the whole ``.zattrs``.
    zarr_format
        3: the metadata stands under ``ome``; 2: at the top.

    Examples
    --------
    >>> attributes = {"ome": {"omero": {"channels": [{"color": "3a7bff", "window": {"start": 0, "end": 9}}]}}}
    >>> parse_shown_channels(attributes, 3)
    (ShownChannel(label=None, color='3A7BFF', active=True, window=Window(start=0.0, end=9.0, min=None, max=None)),)
    """
    channels = as_list(as_object(_ome(attributes, zarr_format).get("omero")).get("channels"))
    return tuple(_parse_channel(as_object(channel)) for channel in channels)


def parse_shown_plane(attributes: dict[str, Any], zarr_format: int) -> ShownPlane:
    """Return what ``rdefs`` of ``omero`` says of the plane to begin with.

    Examples
    --------
    >>> parse_shown_plane({"ome": {"omero": {"rdefs": {"defaultZ": 7, "defaultT": 0, "model": "color"}}}}, 3)
    ShownPlane(z=7, t=0, is_gray=False)
    """
    defaults = as_object(as_object(_ome(attributes, zarr_format).get("omero")).get("rdefs"))
    z, t = (value if type(value) is int and value >= 0 else None for value in map(defaults.get, _DEFAULTS))
    return ShownPlane(z, t, defaults.get("model") == "greyscale")


def default_color(number: int, count: int) -> str:
    """Return the colour of a channel that has none of its own, one of `count`.

    Examples
    --------
    >>> default_color(0, 1), default_color(1, 2)
    ('FFFFFF', 'FF00FF')
    """
    return "FFFFFF" if count == 1 else _PALETTE[number % len(_PALETTE)]


def parse_label_display(attributes: dict[str, Any], zarr_format: int) -> LabelDisplay:
    """Return the colours and properties that ``image-label`` gives to label values.

    Examples
    --------
    >>> display = parse_label_display({"ome": {"image-label": {
    ...     "colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}],
    ...     "properties": [{"label-value": 1, "area": 12}]}}}, 3)
    >>> display.colors, display.properties
    ({1: (255, 0, 0, 255)}, {1: {'area': 12}})
    """
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
