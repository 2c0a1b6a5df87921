"""The lower resolution levels that ozx computes: where they end, and their methods."""

from __future__ import annotations

from typing import Any, Literal

from ozx.errors import UsageError

#: The longest side of the coarsest level in pixels: that of a thumbnail.
COARSEST = 256

#: A method of downsampling, see `ozx.images.writing.downsampling`.
Method = Literal["mean", "nearest", "mode"]

#: The methods, and which of the pixels that it replaces a new pixel is.
METHODS: dict[Method, str] = {"mean": "the mean", "nearest": "the first", "mode": "the most frequent"}


def parse_method(text: str) -> Method:
    """Parse the name of a downsampling method."""
    if text not in tuple(METHODS):  # which compares lists, too, unlike a dictionary
        raise UsageError(f"expected one of the methods {', '.join(METHODS)}; got {text!r}")
    return text


def usual_method(*, is_label: bool) -> Method:
    """Return the method for an image if nobody names one; labels cannot be averaged."""
    return "nearest" if is_label else "mean"


def choose_method(declared: Any, *, is_label: bool) -> Method:
    """Return the method by which the levels of an image are computed: that of its levels, if ozx has it."""
    can_be = declared in tuple(METHODS) and not (is_label and declared == "mean")
    return declared if can_be else usual_method(is_label=is_label)


def describe_downscaling(method: Method, given: int = 1) -> dict[str, Any]:
    """Return the type and parameters of the downscaling method (OME-Zarr 0.5, "multiscales").

    The first `given` levels were not computed.
    """
    first = "first level comes" if given == 1 else f"first {given} levels come"
    pixel = f"Each pixel of another level is {METHODS[method]} of the pixels that it replaces in the previous level."
    return {"type": method, "metadata": {"description": f"The {first} from the source. {pixel}"}}
