"""Rendering of pixels and label values as red, green and blue.

Plain NumPy. A plane is an array (y, x); a picture is an array (y, x, 3) of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError
from ozx.hierarchy.ome.colors import WHITE, LabelDisplay, ShownChannel, Window
from ozx.images.pictures.channels import check_numbers, is_telling, percentile_window

_NO_COLOR = (128, 128, 128, 255)  # of label values without a colour, if others have one
_GOLDEN = 0.6180339887498949  # the golden ratio: hues far apart


def render_channels(
    planes: Sequence[NDArray[Any]], channels: Sequence[ShownChannel], windows: Sequence[Window]
) -> NDArray[np.uint8]:
    """Return a picture of several channels: the sum of their colours.

    `planes`: at least one plane, all of the same shape, with any type of numbers. NaN is dark, infinities are the ends
    of the window, and complex numbers are shown by magnitude.
    """
    total = np.zeros((*planes[0].shape, 3), np.float32)
    for plane, channel, window in zip(planes, channels, windows, strict=True):
        color = bytes.fromhex(channel.color or WHITE)
        total += scale_to_window(plane, window)[..., None] * np.frombuffer(color, np.uint8).astype(np.float32)
    return (np.minimum(total, 255) + 0.5).astype(np.uint8)


def render_labels(values: NDArray[Any], display: LabelDisplay) -> NDArray[np.uint8]:
    """Return a picture of label values (y, x) as red, green, blue and alpha (y, x, 4).

    0 is transparent unless it has a colour. If no value has a colour, each gets a colour unlike those of nearby values.
    """
    if values.dtype.kind not in "biu":  # OME-Zarr 0.5, "labels": the arrays MUST be of an integer type
        raise UnsupportedError(f"expected label values that are integers; found {values.dtype}")
    found, places = np.unique(values, return_inverse=True)
    colors = _made_colors(found)
    if display.colors:
        known = (display.colors.get(int(value), _NO_COLOR) for value in found)
        colors = np.array(list(known), np.uint8).reshape(-1, 4)
    if 0 not in display.colors:
        colors[found == 0] = 0
    return colors[places.reshape(values.shape)]


def on_black(labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Draw labels from `render_labels` on a black ground."""
    part = labels[..., 3:].astype(np.float32) * (1 / 255)
    return (labels[..., :3] * part + 0.5).astype(np.uint8)


def scale_to_window(plane: NDArray[Any], window: Window) -> NDArray[np.float32]:
    """Scale pixel values to a contrast window: 0 at its start, 1 at its end."""
    check_numbers(plane.dtype)
    # Halved, because the difference of the largest numbers would be infinite; NaN stays NaN without a warning.
    with np.errstate(all="ignore"):
        values = (np.abs(plane) if plane.dtype.kind == "c" else plane).astype(np.float64) / 2
        start, end = window.start / 2, window.end / 2
        scaled = np.clip((values - start) / (end - start), 0, 1)
    return np.nan_to_num(scaled, copy=False).astype(np.float32)


def choose_windows(channels: Sequence[ShownChannel], pictures: Sequence[Sequence[NDArray[Any]]]) -> list[Window]:
    """Return the contrast of each channel for pictures shown together: its own if it is useful, else computed."""
    windows = []
    for channel, planes in zip(channels, zip(*pictures, strict=True), strict=True):
        window = channel.window
        if window is None or not is_telling(window, planes[0].dtype):
            window = percentile_window(np.concatenate([plane.reshape(-1) for plane in planes]))
        windows.append(window)
    return windows


def _made_colors(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an opaque, bright colour for each label value; small values have clearly different colours."""
    turns = (values.astype(np.float64) % (1 << 24)) * _GOLDEN
    waves = np.cos(2 * np.pi * (turns[:, None] + np.array([0.0, 1 / 3, 2 / 3])))
    colors = np.full((len(values), 4), 255, np.uint8)
    colors[:, :3] = np.rint(155 + 100 * waves)
    return colors
