"""Which channels of an image are shown, in which colours, and between which values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError
from ozx.hierarchy.ome.rendering import ShownChannel, Window, default_color

__all__ = ["choose_channels", "complete_channels", "is_telling", "percentile_window"]

# Light of more channels than these adds up to white, and each costs a read.
_MOST_SHOWN = 6
_MOST_CHANNELS = 10_000
_RGB = (("Red", "FF0000"), ("Green", "00FF00"), ("Blue", "0000FF"))
# Hot pixels and the darkest noise lie outside.
_LOW, _HIGH = 1.0, 99.8
# More values do not move a percentile by anything one could see.
_MOST_VALUES = 1 << 20


def choose_channels(
    described: Sequence[ShownChannel], count: int, dtype: np.dtype[Any], *, is_gray: bool = False
) -> dict[int, ShownChannel]:
    """Return the channels to be shown by their number, each with a colour; at most six.

    Parameters
    ----------
    described, count, dtype, is_gray
        As in `complete_channels`.

    Examples
    --------
    >>> described = [ShownChannel("DAPI", None, False, None), ShownChannel("GFP", "00FF00", True, None)]
    >>> [(number, channel.color) for number, channel in choose_channels(described, 3, np.dtype("u2")).items()]
    [(1, '00FF00'), (2, 'FFFF00')]
    """
    channels = complete_channels(described, count, dtype, is_gray=is_gray)
    return {number: channel for number, channel in enumerate(channels) if channel.active}


def complete_channels(
    described: Sequence[ShownChannel], count: int, dtype: np.dtype[Any], *, is_gray: bool = False
) -> list[ShownChannel]:
    """Return how each channel of an image is shown: all with a colour, at most six of them active.

    Three or four channels of 8 bits of which nothing is said are the red, green and blue of a picture; a fourth is not
    shown. Where all are said to be hidden, the first is shown all the same.

    Parameters
    ----------
    described
        What ``omero`` says of the channels, in their order; may be fewer or more than there are.
    count
        How many there are.
    dtype
        The type of their pixels.
    is_gray
        Whether only the first of those is shown, in shades of gray.

    Raises
    ------
    UnsupportedError
        There are more channels than any image has.

    Examples
    --------
    >>> [(channel.label, channel.color) for channel in complete_channels([], 3, np.dtype("u1"))]
    [('Red', 'FF0000'), ('Green', '00FF00'), ('Blue', '0000FF')]
    """
    if count > _MOST_CHANNELS:
        raise UnsupportedError(f"expected at most {_MOST_CHANNELS:,} channels; found {count:,}")
    unknown = ShownChannel(None, None, True, None)
    known = [*described[:count], *[unknown] * (count - len(described))]
    if not described and count in (3, 4) and dtype == np.uint8:
        whole = Window(0.0, 255.0, 0.0, 255.0)
        known = [ShownChannel(label, color, True, whole) for label, color in _RGB]
        known += [replace(unknown, active=False)] * (count - len(_RGB))
    shown = [number for number, channel in enumerate(known) if channel.active] or [0]
    shown = shown[: 1 if is_gray else _MOST_SHOWN]
    return [
        replace(
            channel,
            color="FFFFFF" if is_gray and number in shown else channel.color or default_color(number, count),
            active=number in shown,
        )
        for number, channel in enumerate(known)
    ]


def is_telling(window: Window | None, dtype: np.dtype[Any]) -> bool:
    """Tell whether somebody chose a window by looking at the pixels.

    The whole range of a type of 16 bits or more is what programs write that did not; few images would be anything but
    black in it.

    Examples
    --------
    >>> whole = Window(0, 65535, 0, 65535)
    >>> is_telling(whole, np.dtype("u2")), is_telling(whole, np.dtype("f4")), is_telling(None, np.dtype("u2"))
    (False, True, False)
    """
    if window is None:
        return False
    if dtype.kind not in "iu" or dtype.itemsize == 1:
        return True
    limits = np.iinfo(dtype)
    return window.start > limits.min or window.end < limits.max


def percentile_window(values: NDArray[Any]) -> Window:
    """Return a window that nearly all of `values` lie in; never an empty one.

    `min` and `max` are the range of an integer type, and of other types that of the values. NaN and infinities do not
    count; of many values a part decides.

    Examples
    --------
    >>> percentile_window(np.arange(1001, dtype="uint16"))
    Window(start=10.0, end=998.0, min=0.0, max=65535.0)
    """
    if values.dtype.kind == "b":
        return Window(0.0, 1.0, 0.0, 1.0)
    flat = values.reshape(-1)
    # An odd step does not go down the same columns row after row, as one that divides the width would.
    sample = _as_floats(flat[:: (flat.size // _MOST_VALUES) | 1])
    sample = sample[np.isfinite(sample)]
    least, most = (float(sample.min()), float(sample.max())) if sample.size else (0.0, 1.0)
    start, end = map(float, np.percentile(sample, (_LOW, _HIGH))) if sample.size else (0.0, 1.0)
    if not start < end:  # a few bright pixels on an even ground
        start, end = least, most
    if not start < end:  # an even plane: nothing is black, all else full light
        start, end = (least, 0.0) if least < 0 else (0.0, most or 1.0)
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        return Window(start, end, float(limits.min), float(limits.max))
    return Window(start, end, min(least, start), max(most, end))


def _as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.abs(values) if values.dtype.kind == "c" else values, np.float64)
