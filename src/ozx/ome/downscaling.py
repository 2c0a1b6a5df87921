"""The lower resolution levels that ozx computes: where they end, and their method in the metadata."""

from __future__ import annotations

from typing import Any

#: The longest side of the coarsest level in pixels: that of a thumbnail.
COARSEST = 256

#: The methods of downsampling, and which of the pixels that it replaces a new pixel is.
METHODS = {"mean": "the mean", "nearest": "the first", "mode": "the most frequent"}


def describe_downscaling(method: str, given: int = 1) -> dict[str, Any]:
    """Return the type and parameters of the downscaling method (OME-Zarr 0.5, "multiscales").

    The first `given` levels were not computed.
    """
    first = "first level comes" if given == 1 else f"first {given} levels come"
    pixel = f"Each pixel of another level is {METHODS[method]} of the pixels that it replaces in the previous level."
    return {"type": method, "metadata": {"description": f"The {first} from the source. {pixel}"}}
