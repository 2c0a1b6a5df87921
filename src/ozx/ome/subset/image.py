"""Metadata of a cropped image, and notes on what the crop leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from ozx.errors import UnsupportedError
from ozx.ome.downscaling import describe_downscaling
from ozx.ome.model import Dataset, Multiscale
from ozx.ome.subset.exact import place_computed
from ozx.ome.subset.levels import SMALL, Box, ImageCrop, PixelRange
from ozx.ome.transformations import LevelTransformation, exact, parse_transformations, with_axes, with_systems
from ozx.zarr.json_reading import Document, as_list, as_object, copy_json
from ozx.zarr.layout import ArrayLayout, Lengths


def crop_image_document(
    document: Document,
    multiscales: Sequence[Multiscale],
    crops: Sequence[ImageCrop],
    shapes: Mapping[str, Lengths],
    where: str,
) -> tuple[Document, list[str]]:
    """Return the ``zarr.json`` of an image's group, limited to the kept levels and region; also return notes.

    Every kept pixel stays in place: the translation of a level, which comes before the transformations of the whole
    multiscale, grows by the start of its box. Computed levels get the place and the method by which they are computed.
    Channels and default planes of ``omero`` are adapted. `shapes` are the known shapes of the uncropped arrays, by path
    below the group; `where` is the group's name in messages.
    """
    new: Document = copy_json(document)
    ome = new["attributes"]["ome"]
    items = [number for number, item in enumerate(ome["multiscales"]) if isinstance(item, dict)]
    for place, multiscale, levels in zip(items, multiscales, crops, strict=True):
        axes = multiscale.axes
        original = ome["multiscales"][place]
        # A crop of whole levels leaves their transformations alone, whatever these are.
        has_systems = "coordinateSystems" in original and any(box is not None for box in levels.boxes)
        item = with_axes(original, where) if has_systems else original
        kept: list[Document] = []
        places = [_place(item["datasets"][number], len(axes), where) for number in levels.kept if levels.computed]
        for turn, (number, box) in enumerate(zip(levels.kept, levels.boxes, strict=True)):
            dataset = item["datasets"][number]
            if levels.computed and turn:
                first = _place(kept[0], len(axes), where)
                halved = [axis for halvings in levels.computed[:turn] for each in halvings for axis in each]
                factors = tuple(1 << halved.count(axis) for axis in range(len(axes)))
                moved = place_computed(first, places[0], places[turn], factors, levels.method)
                _replace(dataset, moved, has_translation=len(kept[0]["coordinateTransformations"]) > 1)
            elif box is not None:
                steps = as_list(dataset.get("coordinateTransformations"))
                # Picked channels are numbered from 0 on, without a shift.
                start = tuple(0 if dimension in box.picked else at for dimension, at in enumerate(box.start))
                dataset["coordinateTransformations"] = _shifted(steps, start, f"{where}, level {dataset['path']!r}")
            kept.append(dataset)
        item["datasets"] = kept
        if levels.computed:
            item |= describe_downscaling(levels.method)
        ome["multiscales"][place] = with_systems(item, original) if has_systems else item
    if not isinstance(ome.get("omero"), dict):
        return new, []
    shown, finest = multiscales[0], crops[0].kept[0]
    old, own = (shapes.get(shown.datasets[number].path or "") for number in (0, finest))
    if old is None or own is None or len(old) != len(shown.axes) or len(own) != len(old):
        return new, []
    box = crops[0].boxes[0] or Box((0,) * len(own), own)
    names = ["c" if axis.type == "channel" else axis.name for axis in shown.axes]
    return new, _crop_omero(ome["omero"], names, old, own, box)


def _place(dataset: Document, dimensions: int, where: str) -> LevelTransformation:
    """Return scale and translation of a level by its own transformations, without those of the whole multiscale."""
    steps = as_list(dataset.get("coordinateTransformations"))
    return parse_transformations(steps, dimensions) or _refuse(steps, dimensions, f"{where}, level {dataset['path']!r}")


def _replace(dataset: Document, place: LevelTransformation, *, has_translation: bool) -> None:
    """Give a level a scale, and a translation if it needs one or the first level has one.

    Readers infer the form of all levels from the first.
    """
    steps: list[Document] = [{"type": "scale", "scale": list(place.scale)}]
    if has_translation or any(place.translation):
        steps.append({"type": "translation", "translation": list(place.translation)})
    dataset["coordinateTransformations"] = steps


def _refuse(steps: list[Any], dimensions: int, where: str) -> NoReturn:
    raise UnsupportedError(
        f"{where}: expected scales and translations of {dimensions} finite numbers; found {steps!r:.200}",
        hint="Omit the region to extract whole levels.",
    )


def _shifted(steps: list[Any], start: Lengths, where: str) -> list[Any]:
    """Return an array's transformations `steps`, adapted to a crop that begins at pixel `start`."""
    if parse_transformations(steps, len(start)) is None or any("transformations" in as_object(step) for step in steps):
        _refuse(steps, len(start), where)
    if not any(start):
        return steps
    shift = [Fraction(at) for at in start]
    for step in steps:
        if step.get("type") == "scale":
            shift = [by * exact(factor) for by, factor in zip(shift, step["scale"], strict=True)]
        elif step.get("type") == "translation":
            moved = [float(exact(at) + by) if by else at for at, by in zip(step["translation"], shift, strict=True)]
            step["translation"] = moved
            return steps
    # OME-Zarr 0.5, "multiscales": at most one translation, after the scale.
    return [*steps, {"type": "translation", "translation": [float(by) for by in shift]}]


def _crop_omero(omero: dict[str, Any], axes: list[str | None], old: Lengths, own: Lengths, box: Box) -> list[str]:
    """Remove cropped channels and move the default planes into the cropped box, in place; return notes."""
    rendering = as_object(omero.get("rdefs"))
    for axis, name in (("z", "defaultZ"), ("t", "defaultT")):
        index = rendering.get(name)
        if axis not in axes or type(index) is not int:
            continue
        number = axes.index(axis)
        # The same plane at the resolution of the finest kept level.
        plane = (2 * index + 1) * own[number] // (2 * max(1, old[number])) - box.start[number]
        rendering[name] = min(max(plane, 0), max(box.shape[number] - 1, 0))
    channels = omero.get("channels")
    if "c" not in axes or not isinstance(channels, list):
        return []
    number = axes.index("c")
    if box.shape[number] == own[number]:
        return []
    if len(channels) != own[number]:
        return [f"omero lists {len(channels)} channels, but the image has {own[number]}; omero stays unchanged"]
    omero["channels"] = [channels[channel] for channel in box.pixels()[number]]
    return []


# Notes on the crops of levels: what is left out, why a region grows, and which chunks would fit it.

# Shorter chunks cost more than they save.
_LEAST = 16


def name_levels(multiscale: Multiscale, numbers: Iterable[int]) -> str:
    """Return the paths of levels as a part of a sentence."""
    names = [multiscale.datasets[number].path or "" for number in numbers]
    return f"level{'s' if len(names) > 1 else ''} {', '.join(names)}"


def explain_crops(
    multiscale: Multiscale,
    crops: ImageCrop,
    layout_of: Callable[[Dataset], ArrayLayout],
    kept_chunks: Mapping[str, tuple[int, PixelRange]],
) -> str:
    """Return a note on chunks that are too large for the region, with one command for smaller chunks, or no text."""
    note, left_out_chunks = _explain_left_out(multiscale, crops, layout_of) if crops.left_out else ("", {})
    command = _repack_first(kept_chunks, left_out_chunks) if kept_chunks or left_out_chunks else ""
    return "; ".join(part for part in (note, command) if part)


def _explain_left_out(
    multiscale: Multiscale, crops: ImageCrop, layout_of: Callable[[Dataset], ArrayLayout]
) -> tuple[str, dict[str, tuple[int, PixelRange]]]:
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
            chunks[str(axis.name)] = chunk, PixelRange(region.start * share, region.stop * share)
    return note, chunks


def explain_whole(chunks: Mapping[str, tuple[int, PixelRange]]) -> str:
    """Return a note that explains why a region includes the whole image, and which command makes smaller chunks."""
    found = ",".join(f"{axis}={length}" for axis, (length, _) in chunks.items())
    return f"no pixels are cropped, because all chunks ({found}) overlap the region; {_repack_first(chunks)}"


def explain_larger_label(crops: ImageCrop, image: ImageCrop) -> str:
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


def _repack_first(*too_large: Mapping[str, tuple[int, PixelRange]]) -> str:
    """Return a part of a sentence with the command that makes smaller chunks, which fit the region better.

    Each mapping describes the chunks of one level (see `explain_whole`). The command has the smallest length along each
    axis.
    """
    lengths: dict[str, int] = {}
    for axis, length in (pair for chunks in too_large for pair in _smaller_chunks(chunks).items()):
        lengths[axis] = min(length, lengths.get(axis, length))
    command = f"ozx repack FILE NEW.ozx --chunks {','.join(f'{axis}={length}' for axis, length in lengths.items())}"
    return f"smaller chunks fit the region better: `{command}`, then extract from NEW.ozx"


def _smaller_chunks(chunks: Mapping[str, tuple[int, PixelRange]]) -> dict[str, int]:
    """Return smaller chunk lengths by axis: powers of two, if possible about a quarter of the requested interval."""
    lengths = {
        axis: min(max(math.floor(interval.length) // 4, min(_LEAST, chunk // 4)), chunk - 1)
        for axis, (chunk, interval) in chunks.items()
    }
    return {axis: 1 << max(0, length.bit_length() - 1) for axis, length in lengths.items()}
