"""Write the colours chosen in the viewer page into the file, as `ozx edit` does."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

from ozx.desktop.viewer.loopback import file_tag
from ozx.desktop.viewer.pictures import Picture, Pictures
from ozx.errors import ResourceError, UsageError
from ozx.ome.edit.request import EditRequest, parse_edits
from ozx.operations.edit import EditResult, edit_file
from ozx.places.place import Place
from ozx.zarr.json_reading import as_numbers
from ozx.zarr.keys import join_path

_VERSIONS = ("0.5", "0.6")


def can_keep(place: Place, pictures: Pictures, picture: Picture) -> bool:
    """Return whether a picture is no label image, and its file a local one that can be edited and replaced."""
    path = place.path
    # Windows replaces no file that is open.
    if os.name == "nt" or picture.view.is_label or not os.path.isfile(path):
        return False
    folder = os.path.dirname(os.path.realpath(path))
    if not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        return False
    found = [pictures.nodes[node].ome for node in ("", picture.path) if node in pictures.nodes]
    version = next((ome.version for ome in found if ome is not None and ome.version is not None), "")
    return pictures.group.metadata.zarr_format == 3 and version.startswith(_VERSIONS)


def check_unchanged(place: Place, identity: str) -> None:
    """Raise an error if the file is no longer the one that is shown."""
    if file_identity(place) != identity:
        raise ResourceError(
            "the file has changed since it was opened; nothing is written",
            hint="Close this window and run ozx view again.",
        )


def keep(place: Place, path: str, edits: EditRequest) -> EditResult:
    """Edit images at or below `path` in the file."""
    return edit_file(replace(place, node=join_path(place.node, path) if path else place.node), edits)


def parse_colors(body: bytes) -> tuple[str, EditRequest]:
    """Return the path of the image (empty for all images of a plate), and the edits that a page requests."""
    try:
        document = json.loads(body)
        path, channels = _text(document["path"]), document["channels"]
        colors = [channel.get("color") for channel in channels]
        windows: dict[str | int, tuple[float, float]] = {
            number: window for number, channel in enumerate(channels) if (window := _window(channel))
        }
        active = tuple(_flag(channel.get("active")) for channel in channels)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            "expected the path of an image and a list of channels, with the fields 'color', 'start', 'end' and 'active'"
        ) from None
    return path, replace(parse_edits(colors=colors), contrast=windows, active=active)


def file_identity(place: Place) -> str:
    """Return a text that changes whenever a local file changes; empty for a URL or a directory."""
    return file_tag(place.path) if place.kind() in ("a file", "a node") else ""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _window(channel: dict[str, Any]) -> tuple[float, float] | None:
    ends = [channel.get("start"), channel.get("end")]
    if ends == [None, None]:
        return None
    numbers = as_numbers(ends)
    if numbers is None or not numbers[0] < numbers[1]:
        raise ValueError
    return numbers[0], numbers[1]


def _flag(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ValueError
    return value
