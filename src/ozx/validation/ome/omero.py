"""Rules about display settings of an image (OME-Zarr 0.5.2, transitional "omero" metadata)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_numbers
from ozx.validation.nodes.expecting import MISSING, expect_object, expect_objects, find
from ozx.validation.nodes.place import Place
from ozx.validation.report import Finding
from ozx.validation.wording import shown

_COLOR = re.compile("[0-9A-Fa-f]{6}")
_WINDOW = ("min", "max", "start", "end")


def check_omero(value: Any, place: Place) -> Iterator[Finding]:
    """Yield findings about the display settings of an image's channels."""
    omero = yield from expect_object(value, place, "ome/omero")
    if omero is None:
        return
    # OME-Zarr 0.5.2, "omero": "The "omero" metadata is optional, but if present it MUST contain the field "channels",
    # which is an array of dictionaries describing the channels of the image."
    channels = find(omero, "channels")
    for where, channel in (yield from expect_objects(channels, place / "channels", "ome/omero", may_be_empty=True)):
        yield from _check_channel(channel, where)


def _check_channel(channel: dict[str, Any], place: Place) -> Iterator[Finding]:
    # "Each dictionary in "channels" MUST contain the field "color", which is a string of 6 hexadecimal digits
    # specifying the color of the channel in RGB format."
    color = find(channel, "color")
    if not isinstance(color, str) or not _COLOR.fullmatch(color):
        found = "it is missing" if color is MISSING else f"found {shown(color)}"
        where = place if color is MISSING else place / "color"
        yield where.finding("ome/channel-color", f"expected a color, six hexadecimal digits; {found}")
    # "Each dictionary in "channels" MUST contain the field "window", which is a dictionary describing the windowing of
    # the channel. The field "window" MUST contain the fields "min" and "max", which are the minimum and maximum values
    # of the window, respectively. It MUST also contain the fields "start" and "end", which are the start and end values
    # of the window, respectively."
    window = find(channel, "window")
    if isinstance(window, dict):
        yield from _check_window(window, place / "window")
    else:
        found = "it is missing" if window is MISSING else f"found {shown(window)}"
        yield place.finding("ome/channel-window", f"expected a window, an object; {found}")
    # Without `active` and `label`, vizarr and other viewers show nothing, or stop (tried in 2026).
    missing = [key for key in ("active", "label") if key not in channel]
    if missing:
        yield place.finding("ome/channel-display", f"expected {' and '.join(missing)}, which viewers rely on; missing")


def _check_window(window: dict[str, Any], place: Place) -> Iterator[Finding]:
    values = [find(window, key) for key in _WINDOW]
    if as_numbers(values) is None:
        wrong = [key for key, value in zip(_WINDOW, values, strict=True) if as_numbers([value]) is None]
        found = ", ".join("missing" if key not in window else shown(window[key]) for key in wrong)
        yield place.finding("ome/channel-window", f"expected numbers in {', '.join(wrong)}; found {found}")
    else:
        least, most, start, end = values
        if least > most or start > end:
            message = (
                f"expected min below max and start below end; found {shown(dict(zip(_WINDOW, values, strict=True)))}"
            )
            yield place.finding("ome/channel-window-order", message)
