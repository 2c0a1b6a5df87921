"""Names, colours and contrast of channels, in the ``omero`` block of an image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ozx.errors import FormatError, UsageError
from ozx.hierarchy.edit.differences import Difference
from ozx.hierarchy.edit.request import Edits
from ozx.hierarchy.json.values import as_list, as_numbers, as_object, as_text, copy_json
from ozx.hierarchy.ome.metadata import Axis
from ozx.hierarchy.ome.rendering import default_color
from ozx.hierarchy.zarr.array import ArrayMetadata

_INTEGER = re.compile(r"(u?)int(8|16|32|64)")


def edit_channels(
    ome: dict[str, Any], edits: Edits, node: str, axes: Sequence[Axis], array: ArrayMetadata | None, notes: list[str]
) -> list[Difference]:
    """Apply the requested channel edits to the ``ome`` attributes of an image, in place; return the differences.

    If the ``omero`` block is missing or lists too few channels, complete channels are added: viewers fail on
    channels without window or colour (OME-Zarr 0.5, "omero" metadata). A sentence about assumed values is added to
    `notes`.
    """
    count = count_channels(ome, node, axes, array)
    requested: tuple[tuple[str, Sequence[Any] | None], ...] = (
        ("channel names", edits.channel_names),
        ("colors", edits.colors),
        ("contrast windows", edits.windows),
        ("values of active", edits.active),
    )
    for what, values in requested:
        if values is not None and len(values) != count:
            raise UsageError(
                f"{node or 'the image'}: expected one value per channel for the {what}, {count} in all; "
                f"got {len(values)}",
                hint="Give a value for each channel; an empty value keeps the present one. In a shell, write A,,C "
                '("\\," is a comma in a name); in Python, ["A", None, "C"].',
            )
    omero = copy_json(as_object(ome.get("omero"))) or _new_block(axes, array)
    old = list(as_list(omero.get("channels")))
    data_type = None if array is None else array.data_type
    channels, made = _complete(old, count, data_type)
    differences = []
    for index, channel in enumerate(channels[:count]):
        before = as_object(old[index] if index < len(old) else None)
        for word, member, values in (
            ("name", "label", edits.channel_names),
            ("color", "color", edits.colors),
            ("active", "active", edits.active),
        ):
            value = None if values is None else values[index]
            if value is not None and before.get(member) != value:
                was = before.get(member)
                known = was if isinstance(was, bool) else as_text(was)
                differences.append(Difference(node, f"channel {index} {word}", known, value))
                channel[member] = value
        window = None if edits.windows is None else edits.windows[index]
        if window is not None:
            differences += _set_window(channel, as_object(before.get("window")), window, data_type, (node, index))
    differences += _show_colors(omero, edits.colors, node)
    if differences:
        omero["channels"] = channels
        ome["omero"] = omero
        notes += made
    return differences


def _show_colors(omero: dict[str, Any], colors: Sequence[str | None] | None, node: str) -> list[Difference]:
    """Change the rendering model ``greyscale``, in place, if a requested colour is not white.

    With this model, viewers ignore the colours of the channels.
    """
    rdefs = as_object(omero.get("rdefs"))
    is_colored = any(color is not None and color.upper() != "FFFFFF" for color in colors or ())
    if not is_colored or rdefs.get("model") != "greyscale":
        return []
    omero["rdefs"] = {**rdefs, "model": "color"}
    return [Difference(node, "rendering model", "greyscale", "color")]


def _set_window(
    channel: dict[str, Any],
    before: dict[str, Any],
    window: tuple[float, float],
    data_type: str | None,
    place: tuple[str, int],
) -> list[Difference]:
    """Set the contrast window of a channel, in place; extend the limits `min` and `max` to contain the window."""
    node, index = place
    differences = []
    new = {**_window(data_type)[0], **before}
    for member, value in zip(("start", "end"), window, strict=True):
        if before.get(member) != value:
            old = as_numbers([before.get(member)])
            was = None if old is None else old[0]
            differences.append(Difference(node, f"channel {index} {member}", was, value))
            new[member] = value
    if differences:
        limits = as_numbers([new["min"], new["max"]]) or window
        new["min"], new["max"] = min(limits[0], window[0]), max(limits[1], window[1])
        channel["window"] = new
    return differences


def count_channels(ome: dict[str, Any], node: str, axes: Sequence[Axis], array: ArrayMetadata | None) -> int:
    """Return the number of channels of an image: the length of its channel axis, or 1 without a channel axis.

    If the axes, the array of the full resolution or its shape are missing, the channels of the ``omero`` block are
    counted.
    """
    index = _index(axes, "channel", "c")
    if index is None and axes:
        return 1
    if index is not None and array is not None and array.shape is not None and index < len(array.shape):
        return array.shape[index]
    listed = len(as_list(as_object(ome.get("omero")).get("channels")))
    if not listed:
        raise FormatError(
            f"{node or 'the root'}: expected the array of the full resolution, to count the channels; found none"
        )
    return listed


def _new_block(axes: Sequence[Axis], array: ArrayMetadata | None) -> dict[str, Any]:
    depth = _index(axes, "space", "z")
    planes = array.shape[depth] if depth is not None and array is not None and array.shape is not None else 1
    return {"channels": [], "rdefs": {"defaultT": 0, "defaultZ": planes // 2, "model": "color"}}


def _complete(channels: list[Any], count: int, data_type: str | None) -> tuple[list[Any], list[str]]:
    """Add defaults for missing channels, up to `count`; return all channels, and a note if a default was added."""
    window, assumed = _window(data_type)
    complete = list(channels)
    made = 0
    for index in range(count):
        if index < len(channels) and isinstance(channels[index], dict):
            continue
        color = default_color(index, count)
        complete[index : index + 1] = [
            {"active": True, "color": color, "label": f"Channel {index}", "window": dict(window)}
        ]
        made += 1
    low, high = window["min"], window["max"]
    note = (
        f"{made} of {count} channels had no description; these got defaults, with a contrast window from {low} to "
        f"{high} ({assumed}; no pixels were read)"
    )
    return complete, [note] if made else []


def _window(data_type: str | None) -> tuple[dict[str, float], str]:
    match = _INTEGER.fullmatch(data_type or "")
    if match is None:
        low, high, assumed = 0.0, 1.0, f"assumed for {data_type or 'an unknown data type'}"
    else:
        bits = int(match[2])
        low, high = (0, (1 << bits) - 1) if match[1] else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        assumed = f"the range of {data_type}"
    return {"min": low, "max": high, "start": low, "end": high}, assumed


def _index(axes: Sequence[Axis], kind: str, name: str) -> int | None:
    """Return the index of the axis of this type and name; a channel axis may have any name.

    If an axis has no type, only its name is compared.
    """
    for index, axis in enumerate(axes):
        is_named = (axis.name or "").lower() == name
        if (axis.type == kind and (is_named or kind == "channel")) or (axis.type is None and is_named):
            return index
    return None
