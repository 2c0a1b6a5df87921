"""Notes on the crops of levels: what is left out, why a region grows, and which chunks would fit it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from ozx.hierarchy.ome.metadata import Dataset, Multiscale
from ozx.hierarchy.subset.alignment import Interval
from ozx.hierarchy.subset.levels import SMALL, LevelCrops
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout

# Shorter chunks cost more than they save.
_LEAST = 16


def name_levels(multiscale: Multiscale, numbers: Iterable[int]) -> str:
    """Return the paths of levels as a part of a sentence."""
    names = [multiscale.datasets[number].path or "" for number in numbers]
    return f"level{'s' if len(names) > 1 else ''} {', '.join(names)}"


def explain_crops(
    multiscale: Multiscale,
    crops: LevelCrops,
    layout_of: Callable[[Dataset], ArrayLayout],
    kept_chunks: Mapping[str, tuple[int, Interval]],
) -> str:
    """Return a note on levels whose chunks are too large for the region, with one command for smaller chunks.

    The text is empty if all chunks fit the region.
    """
    note, left_out_chunks = _explain_left_out(multiscale, crops, layout_of) if crops.left_out else ("", {})
    command = _repack_first(kept_chunks, left_out_chunks) if kept_chunks or left_out_chunks else ""
    return "; ".join(part for part in (note, command) if part)


def _explain_left_out(
    multiscale: Multiscale, crops: LevelCrops, layout_of: Callable[[Dataset], ArrayLayout]
) -> tuple[str, dict[str, tuple[int, Interval]]]:
    """Return a note on the levels that are left out, and the chunks that are too large, as for `explain_whole`."""
    note = f"left out {name_levels(multiscale, crops.left_out)}, because the chunks are too large for the region"
    box = crops.boxes[-1]
    coarsest = layout_of(multiscale.datasets[crops.kept[-1]]).shape if box is None else box.shape
    space = [length for axis, length in zip(multiscale.axes, coarsest, strict=True) if axis.type == "space"]
    if max(space, default=0) <= SMALL:
        return f"{note}; an image of this size is shown without them", {}
    layout = layout_of(multiscale.datasets[crops.left_out[-1]])
    whole = layout_of(multiscale.datasets[0]).shape
    chunks = {}
    for axis, length, chunk, all_pixels in zip(multiscale.axes, layout.shape, layout.chunks, whole, strict=True):
        region = crops.region.get(axis.name or "")
        share = Fraction(length, all_pixels)
        if region is not None and region.length * share < chunk:
            chunks[str(axis.name)] = chunk, Interval(region.start * share, region.stop * share)
    return note, chunks


def explain_whole(chunks: Mapping[str, tuple[int, Interval]]) -> str:
    """Return a note that explains why a region includes the whole image, and which command makes smaller chunks.

    Examples
    --------
    >>> from fractions import Fraction
    >>> explain_whole({"y": (512, Interval(Fraction(0), Fraction(300)))}).partition("; ")[0]
    'no pixels are cropped, because all chunks (y=512) overlap the region'
    """
    found = ",".join(f"{axis}={length}" for axis, (length, _) in chunks.items())
    return f"no pixels are cropped, because all chunks ({found}) overlap the region; {_repack_first(chunks)}"


def explain_larger_label(crops: LevelCrops, image: LevelCrops) -> str:
    """Return a note on a label image that keeps more than its image, whose chunks are shorter; else an empty text."""
    larger = [
        f"{axis}={interval.text()}"
        for axis, interval in crops.region.items()
        if interval.length > image.region[axis].length
    ]
    if not larger:
        return ""
    return (
        f"keeps more than its image, {','.join(larger)}, because only whole chunks are copied; "
        "`ozx repack FILE NEW.ozx --chunks` can give both images equal chunks"
    )


def _repack_first(*too_large: Mapping[str, tuple[int, Interval]]) -> str:
    """Return a part of a sentence with the command that makes smaller chunks, which fit the region better.

    Each mapping describes the chunks of one level (see `explain_whole`). The command has the smallest length along each
    axis.

    Examples
    --------
    >>> from fractions import Fraction
    >>> _repack_first({"y": (512, Interval(Fraction(0), Fraction(300)))})
    'smaller chunks fit the region better: `ozx repack FILE NEW.ozx --chunks y=64`, then extract from NEW.ozx'
    """
    lengths: dict[str, int] = {}
    for axis, length in (pair for chunks in too_large for pair in _smaller_chunks(chunks).items()):
        lengths[axis] = min(length, lengths.get(axis, length))
    command = f"ozx repack FILE NEW.ozx --chunks {','.join(f'{axis}={length}' for axis, length in lengths.items())}"
    return f"smaller chunks fit the region better: `{command}`, then extract from NEW.ozx"


def _smaller_chunks(chunks: Mapping[str, tuple[int, Interval]]) -> dict[str, int]:
    """Return smaller chunk lengths by axis: powers of two, if possible about a quarter of the requested interval."""
    lengths = {
        axis: min(max(math.floor(interval.length) // 4, min(_LEAST, chunk // 4)), chunk - 1)
        for axis, (chunk, interval) in chunks.items()
    }
    return {axis: 1 << max(0, length.bit_length() - 1) for axis, length in lengths.items()}
