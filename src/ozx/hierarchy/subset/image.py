"""Metadata of a cropped image: some resolution levels, or a region of each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ozx.errors import UnsupportedError
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import as_list, as_object, copy_json
from ozx.hierarchy.ome.metadata import Multiscale
from ozx.hierarchy.ome.systems import with_axes, with_systems
from ozx.hierarchy.ome.transformations import parse_transformations
from ozx.hierarchy.subset.array import Box
from ozx.hierarchy.subset.levels import LevelCrops

Lengths = tuple[int, ...]


def crop_image_document(
    document: Document,
    multiscales: Sequence[Multiscale],
    crops: Sequence[LevelCrops],
    shapes: Mapping[str, Lengths],
    where: str,
) -> tuple[Document, list[str]]:
    """Return the ``zarr.json`` of an image's group, limited to the kept levels and region; also return notes.

    Every kept pixel stays in place: the translation of a level, which comes before the transformations of the whole
    multiscale, grows by the start of its box. Channels and default planes of ``omero`` are adapted. `shapes` are the
    known shapes of the uncropped arrays, by path below the group; `where` is the group's name in messages.
    """
    new: Document = copy_json(document)
    ome = new["attributes"]["ome"]
    items = [number for number, item in enumerate(ome["multiscales"]) if isinstance(item, dict)]
    for place, levels in zip(items, crops, strict=True):
        original = ome["multiscales"][place]
        # A crop of whole levels leaves their transformations alone, whatever these are.
        has_systems = "coordinateSystems" in original and any(box is not None for box in levels.boxes)
        item = with_axes(original, where) if has_systems else original
        kept = []
        for number, box in zip(levels.kept, levels.boxes, strict=True):
            dataset = item["datasets"][number]
            if box is not None:
                steps = as_list(dataset.get("coordinateTransformations"))
                # Picked channels are numbered from 0 on, without a shift.
                start = tuple(
                    0 if box.picked is not None and dimension == box.picked.dimension else at
                    for dimension, at in enumerate(box.start)
                )
                dataset["coordinateTransformations"] = _shifted(steps, start, f"{where}, level {dataset['path']!r}")
            kept.append(dataset)
        item["datasets"] = kept
        ome["multiscales"][place] = with_systems(item, original) if has_systems else item
    if not isinstance(ome.get("omero"), dict):
        return new, []
    first, finest = multiscales[0], crops[0].kept[0]
    old, own = (shapes.get(first.datasets[number].path or "") for number in (0, finest))
    if old is None or own is None or len(old) != len(first.axes) or len(own) != len(old):
        return new, []
    box = crops[0].boxes[0] or Box((0,) * len(own), own)
    axes = ["c" if axis.type == "channel" else axis.name for axis in first.axes]
    return new, _crop_omero(ome["omero"], axes, old, own, box)


def _shifted(steps: list[Any], start: Lengths, where: str) -> list[Any]:
    """Return an array's transformations `steps`, adapted to a crop that begins at pixel `start`."""
    if parse_transformations(steps, len(start)) is None or any("transformations" in as_object(step) for step in steps):
        raise UnsupportedError(
            f"{where}: expected scales and translations of {len(start)} finite numbers; found {steps!r:.200}",
            hint="Omit the region to extract whole levels.",
        )
    if not any(start):
        return steps
    shift = [Fraction(at) for at in start]
    for step in steps:
        if step.get("type") == "scale":
            shift = [by * _exact(factor) for by, factor in zip(shift, step["scale"], strict=True)]
        elif step.get("type") == "translation":
            moved = [float(_exact(at) + by) if by else at for at, by in zip(step["translation"], shift, strict=True)]
            step["translation"] = moved
            return steps
    # OME-Zarr 0.5, "multiscales": at most one translation, after the scale.
    return [*steps, {"type": "translation", "translation": [float(by) for by in shift]}]


def _exact(number: float) -> Fraction:
    # Exact in decimal digits, so that 3 * 0.1 is 0.3.
    return Fraction(repr(number))


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
    start = box.start[number]
    picked = range(start, start + box.shape[number]) if box.picked is None else box.picked.pixels
    omero["channels"] = [channels[channel] for channel in picked]
    return []
