"""Conversion of a group's metadata between OME-Zarr 0.5 and 0.6."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ozx.errors import UnsupportedError, UsageError
from ozx.ome.transformations import (
    LEVEL_KINDS,
    LevelTransformation,
    exact,
    intrinsic_system,
    parse_transformations,
    with_axes,
    with_systems,
)
from ozx.ome.versions import has_systems, is_before_objects
from ozx.zarr.json_reading import Document, as_list, as_object, as_text, copy_json

#: Versions that ozx can write.
VERSIONS = ("0.5", "0.6")

# Name of the levels' coordinate system, which has no name in 0.5.
_INTRINSIC = "physical"
# In 0.5, transformations of the whole image apply after those of every level; in 0.6, each level contains both. This is
# the coordinate system before those of the whole image, so that a conversion back to 0.5 can separate them.
_LEVELS = "levels"
# Objects that may have a version of their own in 0.5 and before.
_VERSIONED = ("omero", "plate", "well", "image-label")
# 0.5, "well": "The `path` MUST contain only alphanumeric characters".
_FIELD = re.compile("[A-Za-z0-9]+")


def checked_version(version: str) -> str:
    """Return `version` if ozx can write it, else raise an error."""
    if version not in VERSIONS:
        raise UsageError(f"expected the OME-Zarr version {' or '.join(VERSIONS)}; got {version!r}")
    return version


@dataclass(frozen=True, slots=True)
class ConvertedGroup:
    """A group's metadata, converted to another OME-Zarr version, or from Zarr v2 to v3."""

    document: Document  # the ``zarr.json``; the original object if nothing changed
    # For each level, its path below the group, and the names of its dimensions, which 0.5 demands in the array.
    dimension_names: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # A phrase for each value that was removed because 0.5 cannot express it; from Zarr v2, for each other difference.
    notes: tuple[str, ...] = ()


def convert_group(document: Document, version: str, where: str, *, drop: bool = False) -> ConvertedGroup:
    """Return a group's metadata in the given version; with `drop`, values that 0.5 cannot express are removed."""
    ome = as_object(as_object(document.get("attributes")).get("ome"))
    found = as_text(ome.get("version"))
    if not ome or found == version:
        return ConvertedGroup(document)
    old = has_systems(found)
    if old is None or found is None or found.startswith("0.9") or is_before_objects(found):
        raise UnsupportedError(
            f"{where}: expected OME-Zarr 0.5 or 0.6 to convert to {version}; found version {found}",
            hint="Without a version, the metadata stays unchanged.",
        )
    new = copy_json(document)
    if version == "0.6":
        _to_06(new["attributes"]["ome"], where, is_older=not old)
        return ConvertedGroup(new)
    dropped = _to_05(new["attributes"]["ome"], where, drop=drop) if old else []
    new["attributes"]["ome"]["version"] = version
    return ConvertedGroup(new, tuple(_dimension_names(new["attributes"]["ome"])), tuple(dropped))


def _to_06(ome: dict[str, Any], where: str, *, is_older: bool) -> None:
    ome["version"] = "0.6"
    if not is_older:  # a release candidate of 0.6, already in the form of 0.6
        return
    for part in [*as_list(ome.get("multiscales")), *(ome.get(key) for key in _VERSIONED)]:
        as_object(part).pop("version", None)
    if isinstance(ome.get("multiscales"), list):
        ome["multiscales"] = [_image_to_06(as_object(item), where) for item in ome["multiscales"]]


def _image_to_06(item: dict[str, Any], where: str) -> dict[str, Any]:
    axes = as_list(item.get("axes"))
    common = as_list(item.pop("coordinateTransformations", []))
    levels = [as_object(level) for level in as_list(item.get("datasets"))]
    item["datasets"] = [_joined_level(level, common, len(axes), where) for level in levels]
    systems = [{"name": _INTRINSIC, "axes": axes}]
    datasets = []
    for path in (level.get("path") for level in levels):
        ends = {"input": {"path": path}, "output": {"name": _INTRINSIC}}
        datasets.append({"path": path, "coordinateTransformations": [ends]})
    original: dict[str, Any] = {"coordinateSystems": systems, "datasets": datasets}
    if common:
        systems.append({"name": _LEVELS, "axes": copy_json(axes)})
        step = common[0] if len(common) == 1 else {"type": "sequence", "transformations": common}
        original["coordinateTransformations"] = [{**step, "input": {"name": _LEVELS}, "output": {"name": _INTRINSIC}}]
    return with_systems(item, original)


def _joined_level(level: dict[str, Any], common: list[Any], count: int, where: str) -> dict[str, Any]:
    """Return a level of OME-Zarr 0.5, with the transformations of the whole image merged into the level's own."""
    steps = as_list(level.get("coordinateTransformations"))
    kinds = [as_object(step).get("type") for step in steps]
    placement = parse_transformations([*steps, *common], count) if steps else None
    if kinds not in LEVEL_KINDS or placement is None:
        raise UnsupportedError(
            f"{where}, level {level.get('path')!r}: expected one scale, then at most one translation, each "
            f"of {count} finite numbers; found {[*steps, *common]!r:.200}",
            hint="OME-Zarr 0.6 allows no other transformations of levels.",
        )
    if not common:
        return level
    own = parse_transformations(steps, count)
    after = parse_transformations(common, count)
    made: list[dict[str, Any]] = []
    if own is not None and after is not None:
        scale, translation = _exact_product(own, after)
        made = [{"type": "scale", "scale": scale}]
        if len(steps) > 1 or any(translation):
            made.append({"type": "translation", "translation": translation})
    return {**level, "coordinateTransformations": made}


def _exact_product(own: LevelTransformation, after: LevelTransformation) -> tuple[list[float], list[float]]:
    """Return scale and translation of two transformations in sequence, exact in decimal digits."""
    scales = [exact(a) * exact(b) for a, b in zip(own.scale, after.scale, strict=True)]
    starts = zip(own.translation, after.scale, after.translation, strict=True)
    return list(map(float, scales)), [float(exact(at) * exact(by) + exact(to)) for at, by, to in starts]


def _to_05(ome: dict[str, Any], where: str, *, drop: bool) -> list[str]:
    """Convert OME-Zarr 0.6 metadata to 0.5 in place; return descriptions of the removed values."""
    dropped = []
    if "scene" in ome:
        dropped.append("the scene")
        del ome["scene"]
    images = []
    for item in map(as_object, as_list(ome.get("multiscales"))):
        dropped += _further(item)
        if any(as_object(axis).get("type") == "array" for axis in as_list(intrinsic_system(item).get("axes"))):
            raise UnsupportedError(f"{where}: found axes of the type 'array', which OME-Zarr 0.5 does not have")
        images.append(_apart(with_axes(item, where), item))
    if "multiscales" in ome:
        ome["multiscales"] = images
    if dropped and not drop:
        raise UnsupportedError(
            f"{where}: OME-Zarr 0.5 cannot express {', '.join(dropped)}",
            hint="Keep the OME-Zarr version, or let ozx repack --drop-transformations remove these values.",
        )
    for field in map(as_object, as_list(as_object(ome.get("well")).get("images"))):
        path = field.get("path")
        if isinstance(path, str) and not _FIELD.fullmatch(path):
            raise UnsupportedError(
                f"{where}: the path of a field of view is {path!r}; OME-Zarr 0.5 requires letters and digits",
                hint="Rename the group of the field, and its path in the well.",
            )
    return dropped


def _further(item: dict[str, Any]) -> list[str]:
    """Return an image's coordinate systems and transformations that OME-Zarr 0.5 cannot express."""
    own = (intrinsic_system(item).get("name"), _LEVELS if _common(item) else None)
    systems = [as_object(system).get("name") for system in as_list(item.get("coordinateSystems"))]
    found = [f"the coordinate system {name!r}" for name in systems if name not in own]
    steps = [] if _common(item) else as_list(item.get("coordinateTransformations"))
    return [*found, *(f"a transformation of type {as_object(step).get('type')!r}" for step in steps)]


def _common(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the whole image's transformations in 0.5 form if an earlier conversion to 0.6 stored them separately."""
    steps = [as_object(step) for step in as_list(item.get("coordinateTransformations"))]
    if len(steps) != 1 or as_object(steps[0].get("input")) != {"name": _LEVELS}:
        return []
    parts = steps[0].get("transformations") if steps[0].get("type") == "sequence" else steps
    kinds = [as_object(part).get("type") for part in as_list(parts)]
    if kinds not in LEVEL_KINDS:
        return []
    return [{"type": kind, kind: as_object(part).get(kind)} for kind, part in zip(kinds, as_list(parts), strict=True)]


def _apart(image: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """Return a 0.5 image in which the image's transformations are separate from its levels' transformations."""
    common = _common(item)
    after = parse_transformations(common, len(image.get("axes", ()))) if common else None
    if after is None or not all(after.scale):
        return image
    for level in image["datasets"]:
        own = parse_transformations(level["coordinateTransformations"], len(after.scale))
        if own is None:
            return image
        scale = [float(exact(a) / exact(b)) for a, b in zip(own.scale, after.scale, strict=True)]
        starts = zip(own.translation, after.translation, after.scale, strict=True)
        translation = [float((exact(at) - exact(to)) / exact(by)) for at, to, by in starts]
        steps: list[dict[str, Any]] = [{"type": "scale", "scale": scale}]
        if any(translation) or (len(level["coordinateTransformations"]) > 1 and not any(after.translation)):
            steps.append({"type": "translation", "translation": translation})
        level["coordinateTransformations"] = steps
    return {**image, "coordinateTransformations": common}


def _dimension_names(ome: dict[str, Any]) -> Sequence[tuple[str, tuple[str, ...]]]:
    # 0.5, "axes": "The "dimension_names" attribute MUST be included in the `zarr.json` of the Zarr array of a
    # multiscale level and MUST match the names in the "axes" metadata."
    return [
        (path, tuple(str(as_object(axis).get("name")) for axis in as_list(as_object(item).get("axes"))))
        for item in as_list(ome.get("multiscales"))
        for level in as_list(as_object(item).get("datasets"))
        if (path := as_text(as_object(level).get("path"))) is not None
    ]
