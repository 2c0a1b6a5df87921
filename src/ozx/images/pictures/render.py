"""Pixels and label values as red, green and blue: the channels to show, their colours and contrast; plain NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError
from ozx.ome.colors import RGBA, WHITE, LabelDisplay, ShownChannel, Window, default_color

# More channels add up to white, and each costs a read.
_MOST_SHOWN = 6
_MOST_CHANNELS = 10_000
# Excludes hot pixels and the darkest noise.
_LOW, _HIGH = 1.0, 99.8
# More values would not change a percentile visibly.
_MOST_VALUES = 1 << 20


def choose_channels(
    described: Sequence[ShownChannel], count: int, dtype: np.dtype[Any], *, is_gray: bool = False
) -> dict[int, ShownChannel]:
    """Return the channels to show, at most six, each with a colour; the keys are channel numbers."""
    channels = complete_channels(described, count, dtype, is_gray=is_gray)
    return {number: channel for number, channel in enumerate(channels) if channel.active}


def complete_channels(
    described: Sequence[ShownChannel], count: int, dtype: np.dtype[Any], *, is_gray: bool = False
) -> list[ShownChannel]:
    """Return the display settings of every channel, each with a colour; at most six channels are active.

    Three or four 8-bit channels without metadata are red, green and blue; a fourth is hidden. If all are hidden, the
    first is shown.

    Examples
    --------
    >>> [(channel.label, channel.color) for channel in complete_channels([], 3, np.dtype("u1"))]
    [('Red', 'FF0000'), ('Green', '00FF00'), ('Blue', '0000FF')]
    """
    if count > _MOST_CHANNELS:
        raise UnsupportedError(f"expected at most {_MOST_CHANNELS:,} channels; found {count:,}")
    known = [*described[:count], *[ShownChannel()] * (count - len(described))]
    if not described and count in (3, 4) and dtype == np.uint8:
        whole = Window(0.0, 255.0, 0.0, 255.0)
        known = [ShownChannel(label, color, True, whole) for label, color in RGBA[:3]]
        known += [ShownChannel(active=False)] * (count - 3)
    shown = [number for number, channel in enumerate(known) if channel.active] or [0]
    shown = shown[: 1 if is_gray else _MOST_SHOWN]
    return [
        replace(
            channel,
            color=WHITE
            if is_gray and number in shown
            else channel.color or default_color(number, count, channel.label),
            active=number in shown,
        )
        for number, channel in enumerate(known)
    ]


def is_telling(window: Window | None, dtype: np.dtype[Any]) -> bool:
    """Return whether a contrast window is useful: not None, and not the full range of integers of 16 bits or more.

    Programs that do not look at the pixels write this full range; most images look black with it.
    """
    if window is None:
        return False
    if dtype.kind not in "iu" or dtype.itemsize == 1:
        return True
    limits = np.iinfo(dtype)
    return window.start > limits.min or window.end < limits.max


def check_numbers(dtype: np.dtype[Any]) -> None:
    """Refuse pixels that are no numbers, such as texts or dates."""
    if dtype.kind not in "biufc":
        raise UnsupportedError(
            f"expected pixels that are numbers; found {dtype}", hint="Choose an image whose pixels are numbers."
        )


def percentile_window(values: NDArray[Any], zeros: int = 0) -> Window:
    """Return a non-empty contrast window that contains nearly all `values`, as if they ended with more `zeros`.

    For integers, `min` and `max` are the limits of the type; for other types, those of the values. NaN and infinities
    are ignored. If there are many values, the window is computed from a sample.
    """
    check_numbers(values.dtype)
    if values.dtype.kind == "b":
        return Window(0.0, 1.0, 0.0, 1.0)
    flat = values.reshape(-1)
    # The step is odd: a step that divides the width would sample the same columns in every row.
    count = flat.size + zeros
    step = (count // _MOST_VALUES) | 1
    sample = np.asarray(np.abs(flat[::step]) if flat.dtype.kind == "c" else flat[::step], np.float64)
    sample = np.concatenate([sample, np.zeros(-(-count // step) - sample.size)]) if zeros else sample
    sample = sample[np.isfinite(sample)]
    least, most = (float(sample.min()), float(sample.max())) if sample.size else (0.0, 1.0)
    start, end = map(float, np.percentile(sample, (_LOW, _HIGH))) if sample.size else (0.0, 1.0)
    if not start < end:  # a few bright pixels on a uniform background
        start, end = least, most
    if not start < end:  # a uniform plane: zero is black, all else full light
        start, end = (least, 0.0) if least < 0 else (0.0, most or 1.0)
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        return Window(start, end, float(limits.min), float(limits.max))
    return Window(start, end, min(least, start), max(most, end))


# Rendering. A plane is an array (y, x); a picture is an array (y, x, 3) of bytes.

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
    colors = made_label_colors(found)
    if display.colors:
        known = (display.colors.get(int(value), _NO_COLOR) for value in found)
        colors = np.array(list(known), np.uint8).reshape(-1, 4)
    if 0 not in display.colors:
        colors[found == 0] = 0
    return colors[places.reshape(values.shape)]


def label_outlines(values: NDArray[Any]) -> NDArray[Any]:
    """Return label values (y, x) with 0 for each pixel whose neighbours above, below, left and right are like it."""
    is_inside = np.ones(values.shape, bool)
    for along, inside in ((values, is_inside), (values.T, is_inside.T)):
        is_same = along[1:] == along[:-1]
        inside[1:] &= is_same
        inside[:-1] &= is_same
    return np.where(is_inside, values.dtype.type(0), values)


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


def made_label_colors(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an opaque, bright colour for each label value; small values have clearly different colours."""
    turns = (values.astype(np.float64) % (1 << 24)) * _GOLDEN
    waves = np.cos(2 * np.pi * (turns[:, None] + np.array([0.0, 1 / 3, 2 / 3])))
    colors = np.full((len(values), 4), 255, np.uint8)
    colors[:, :3] = np.rint(155 + 100 * waves)
    return colors
