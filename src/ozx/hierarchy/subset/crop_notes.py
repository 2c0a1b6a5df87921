"""Notes on the crops of levels: what is left out, why a region grows, and which chunks would fit it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from ozx.hierarchy.ome.metadata import Dataset, Multiscale
from ozx.hierarchy.subset.alignment import Interval
from ozx.hierarchy.subset.levels import SMALL, LevelCrops
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

__all__ = ["explain_left_out", "explain_whole", "name_levels", "repack_first"]


# Shorter chunks cost more than they save.
_LEAST = 16


def name_levels(multiscale: Multiscale, numbers: Iterable[int]) -> str:
    """Return the paths of levels as a part of a sentence."""
    names = [multiscale.datasets[number].path or "" for number in numbers]
    return f"level{'s' if len(names) > 1 else ''} {', '.join(names)}"


def explain_left_out(multiscale: Multiscale, crops: LevelCrops, layout_of: Callable[[Dataset], ArrayLayout]) -> str:
    """Return a note on levels whose chunks are too large for the region, with the command that keeps them if needed.

    Parameters
    ----------
    multiscale
        The image.
    crops
        The crops of its levels; at least one level is left out.
    layout_of
        Function that returns the chunk layout of a level's array.
    """
    note = f"left out {name_levels(multiscale, crops.left_out)}, because the chunks are too large for the region"
    box = crops.boxes[-1]
    coarsest = layout_of(multiscale.datasets[crops.kept[-1]]).shape if box is None else box.shape
    space = [length for axis, length in zip(multiscale.axes, coarsest, strict=True) if axis.type == "space"]
    if max(space, default=0) <= SMALL:
        return f"{note}; an image of this size is shown without them"
    layout = layout_of(multiscale.datasets[crops.left_out[-1]])
    whole = layout_of(multiscale.datasets[0]).shape
    chunks = {}
    for axis, length, chunk, all_pixels in zip(multiscale.axes, layout.shape, layout.chunks, whole, strict=True):
        region = crops.region.get(axis.name or "")
        share = Fraction(length, all_pixels)
        if region is not None and region.length * share < chunk:
            chunks[str(axis.name)] = chunk, Interval(region.start * share, region.stop * share)
    if not chunks:
        return note
    return f"{note}; {repack_first(chunks)}"


def explain_whole(chunks: Mapping[str, tuple[int, Interval]]) -> str:
    """Return a note that explains why a region includes the whole image, and which command makes smaller chunks.

    Parameters
    ----------
    chunks
        By axis: the chunk length of the finest kept level, and the requested interval, both in pixels of this level.

    Examples
    --------
    >>> from fractions import Fraction
    >>> explain_whole({"y": (512, Interval(Fraction(0), Fraction(300)))}).partition("; ")[0]
    'no pixels are cropped, because all chunks (y=512) overlap the region'
    """
    found = ",".join(f"{axis}={length}" for axis, (length, _) in chunks.items())
    return f"no pixels are cropped, because all chunks ({found}) overlap the region; {repack_first(chunks)}"


def repack_first(chunks: Mapping[str, tuple[int, Interval]]) -> str:
    """Return the command that makes fitting chunks, as a part of a sentence; for `chunks`, see `explain_whole`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> repack_first({"y": (512, Interval(Fraction(0), Fraction(300)))})
    'smaller chunks fit the region better: `ozx repack FILE NEW.ozx --chunks y=64`, then extract from NEW.ozx'
    """
    command = f"ozx repack FILE NEW.ozx --chunks {_smaller_chunks(chunks)}"
    return f"smaller chunks fit the region better: `{command}`, then extract from NEW.ozx"


def _smaller_chunks(chunks: Mapping[str, tuple[int, Interval]]) -> str:
    """Return powers of two as chunk lengths: about a quarter of the interval, unless such chunks would be too small."""
    lengths = {
        axis: min(max(math.floor(interval.length) // 4, min(_LEAST, chunk // 4)), chunk - 1)
        for axis, (chunk, interval) in chunks.items()
    }
    return ",".join(f"{axis}={1 << max(0, length.bit_length() - 1)}" for axis, length in lengths.items())
