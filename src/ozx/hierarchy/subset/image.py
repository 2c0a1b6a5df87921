"""The document of an image of which some levels, or a region of each, are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ozx.errors import UnsupportedError
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import as_list, as_object, copy_json
from ozx.hierarchy.ome.metadata import Multiscale
from ozx.hierarchy.ome.transformations import parse_transformations
from ozx.hierarchy.subset.array import Box
from ozx.hierarchy.subset.levels import LevelCrops

__all__ = ["crop_image_document"]

Lengths = tuple[int, ...]


def crop_image_document(
    document: Document,
    multiscales: Sequence[Multiscale],
    cuts: Sequence[LevelCrops],
    shapes: Mapping[str, Lengths],
    where: str,
) -> tuple[Document, list[str]]:
    """Return the ``zarr.json`` of an image's group with what is kept of its levels, and notes.

    Every pixel that is kept stays where it is: where a level begins later, its own translation, which comes before the
    transformations of the whole multiscale, grows by as many pixels. Channels and default planes of ``omero`` follow.

    Parameters
    ----------
    document
        The ``zarr.json``; it is not touched.
    multiscales
        The images in it, as they were read from it.
    cuts
        What becomes of the levels of each.
    shapes
        The shapes of the arrays before, by path below the group, as far as they are known.
    where
        What messages call the group.

    Raises
    ------
    UnsupportedError
        A level's transformations are not scales and translations.
    """
    new: Document = copy_json(document)
    ome = new["attributes"]["ome"]
    items = [item for item in ome["multiscales"] if isinstance(item, dict)]
    for item, levels in zip(items, cuts, strict=True):
        kept = []
        for number, cut in zip(levels.kept, levels.cuts, strict=True):
            dataset = item["datasets"][number]
            if cut is not None:
                steps = as_list(dataset.get("coordinateTransformations"))
                dataset["coordinateTransformations"] = _shifted(steps, cut.start, f"{where}, level {dataset['path']!r}")
            kept.append(dataset)
        item["datasets"] = kept
    if not isinstance(ome.get("omero"), dict):
        return new, []
    first, finest = multiscales[0], cuts[0].kept[0]
    old, own = (shapes.get(first.datasets[number].path or "") for number in (0, finest))
    if old is None or own is None or len(old) != len(first.axes) or len(own) != len(old):
        return new, []
    cut = cuts[0].cuts[0] or Box((0,) * len(own), own)
    return new, _crop_omero(ome["omero"], [axis.name for axis in first.axes], old, own, cut)


def _shifted(steps: list[Any], start: Lengths, where: str) -> list[Any]:
    """Return the transformations of an array that begins at pixel `start` of the one they were written for."""
    if parse_transformations(steps, len(start)) is None or any("transformations" in as_object(step) for step in steps):
        raise UnsupportedError(
            f"{where}: expected scales and translations of {len(start)} finite numbers; found {steps!r:.200}",
            hint="Leave the region out; whole levels can be extracted.",
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
    # As its decimal digits say, so that 3 * 0.1 is 0.3.
    return Fraction(repr(number))


def _crop_omero(omero: dict[str, Any], axes: list[str | None], old: Lengths, own: Lengths, cut: Box) -> list[str]:
    """Bring channels and default planes into what is left, in place; return notes."""
    rendering = as_object(omero.get("rdefs"))
    for axis, name in (("z", "defaultZ"), ("t", "defaultT")):
        index = rendering.get(name)
        if axis not in axes or type(index) is not int:
            continue
        number = axes.index(axis)
        # The same plane at the resolution of the finest level that is kept.
        plane = (2 * index + 1) * own[number] // (2 * max(1, old[number])) - cut.start[number]
        rendering[name] = min(max(plane, 0), max(cut.shape[number] - 1, 0))
    channels = omero.get("channels")
    if "c" not in axes or not isinstance(channels, list):
        return []
    number = axes.index("c")
    start, stop = cut.start[number], cut.start[number] + cut.shape[number]
    if (start, stop) == (0, own[number]):
        return []
    if len(channels) != own[number]:
        return [f"omero lists {len(channels)} channels of {own[number]}: it is kept as it was, though channels are cut"]
    omero["channels"] = channels[start:stop]
    return []
