"""Convert pixels to types that WebGL accepts: at most 32 bits, little-endian.

WebGL 2 has textures of 8, 16 and 32-bit integers and of 32-bit floats. Exact values of wider types are sent for single
pixels, on request.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UnsupportedError

_PLAIN = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
_LAST = (1 << 32) - 1


def sample_type(dtype: np.dtype[Any], *, is_label: bool) -> str:
    """Return the data type in which pixels of type `dtype` are sent."""
    if is_label and dtype.kind in "biu":
        return f"uint{8 * min(dtype.itemsize, 4)}"
    if is_label or dtype.kind not in "biufc":
        wanted = "label values that are integers" if is_label else "pixels that are numbers"
        raise UnsupportedError(f"expected {wanted}; found {dtype}", hint="Show the contents with ozx info.")
    if dtype.kind == "b":
        return "uint8"
    name = dtype.newbyteorder("=").name
    return name if name in _PLAIN else "float32"


def image_samples(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return pixels in the data type in which they are sent; complex pixels as their magnitude."""
    wanted = np.dtype(sample_type(pixels.dtype, is_label=False)).newbyteorder("<")
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.abs(pixels) if pixels.dtype.kind == "c" else pixels
        return plain.astype(wanted, copy=False)


def label_samples(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return label values as unsigned integers: only 0 becomes 0, and negative values wrap around."""
    wanted = np.dtype(sample_type(pixels.dtype, is_label=True)).newbyteorder("<")
    if pixels.dtype.itemsize <= 4:
        return pixels.astype(wanted)
    whole = pixels.astype(np.uint64)
    return np.where(whole == 0, 0, (whole - np.uint64(1)) % np.uint64(_LAST) + np.uint64(1)).astype(wanted)
