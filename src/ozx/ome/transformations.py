"""Coordinate transformations and coordinate systems: combination, and conversion between 0.5 and 0.6."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ozx.errors import UnsupportedError
from ozx.zarr.json_reading import as_list, as_numbers, as_object, copy_json

# A sequence may hold sequences (0.6); no writer nests them deeper.
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class LevelTransformation:
    """Positions of an array's pixels: position = index * scale + translation, for each axis in its unit."""

    scale: tuple[float, ...]
    translation: tuple[float, ...]

    def then(self, other: LevelTransformation) -> LevelTransformation:
        """Return the combination of this transformation with `other`, which is applied second."""
        pairs = list(zip(other.scale, self.translation, other.translation, strict=True))
        return LevelTransformation(
            tuple(a * b for a, b in zip(self.scale, other.scale, strict=True)),
            tuple(factor * start + step for factor, start, step in pairs),
        )


def exact(number: float) -> Fraction:
    """Return a number exact in decimal digits: 3 * 0.1 is 0.3, and 0.65 is twice 0.325."""
    return Fraction(repr(number))


def parse_transformations(value: Any, dimensions: int) -> LevelTransformation | None:
    """Combine a list of scales and translations, applied in order; return None if there are other transformations.

    OME-Zarr 0.4 and 0.5, "coordinateTransformations": ``identity``, ``scale``, ``translation``. 0.6 adds ``sequence``,
    and many types without a scale per axis (``affine``, ``rotation``, displacement fields). The result is None for
    these types, and for transformations that are stored as arrays, have another number of axes, or are malformed.
    """
    return _join(value, dimensions, _DEEPEST)


def _join(value: Any, dimensions: int, depth: int) -> LevelTransformation | None:
    placement: LevelTransformation | None = _stay(dimensions)
    for step in as_list(value):
        following = _parse_one(as_object(step), dimensions, depth)
        placement = None if placement is None or following is None else placement.then(following)
    return placement


def _parse_one(step: dict[str, Any], dimensions: int, depth: int) -> LevelTransformation | None:
    still = _stay(dimensions)
    kind = step.get("type")
    if kind == "identity":
        return still
    if kind == "sequence" and depth:
        return _join(step.get("transformations"), dimensions, depth - 1)
    if kind not in ("scale", "translation"):
        return None
    numbers = as_numbers(step.get(kind))
    if numbers is None or len(numbers) != dimensions:
        return None
    return LevelTransformation(*((numbers, still.translation) if kind == "scale" else (still.scale, numbers)))


def _stay(dimensions: int) -> LevelTransformation:
    return LevelTransformation((1.0,) * dimensions, (0.0,) * dimensions)


# Conversion of image metadata with coordinate systems (OME-Zarr 0.6) to the form with axes (0.5), and back.
#
# Both forms place a level by a scale and a translation. Code that edits or crops an image changes these in the form of
# 0.5; values that only 0.6 has stay in the original.

#: The types of the transformations of a level in OME-Zarr 0.5.
LEVEL_KINDS = (["scale"], ["scale", "translation"])


def intrinsic_system(item: dict[str, Any]) -> dict[str, Any]:
    """Return the coordinate system of an image's levels, else the first system, else an empty object."""
    systems = [as_object(system) for system in as_list(item.get("coordinateSystems"))]
    steps = [_step_of(as_object(dataset)) for dataset in as_list(item.get("datasets"))[:1]]
    output = steps[0].get("output") if steps else None
    wanted = as_object(output).get("name", output)
    chosen = [system for system in systems if wanted is not None and system.get("name") == wanted] or systems
    return chosen[0] if chosen else {}


def with_axes(item: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a copy of 0.6 image metadata in the form of 0.5: with axes, and a scale and translation for each level."""
    axes = as_list(intrinsic_system(item).get("axes"))
    made: dict[str, Any] = {}
    for key, value in copy_json(item).items():
        if key == "coordinateSystems":
            made["axes"] = copy_json(axes)
        elif key == "datasets":
            made[key] = [_plain_level(as_object(dataset), len(axes), where) for dataset in as_list(value)]
        elif key != "coordinateTransformations":
            made[key] = value
    return made


def with_systems(item: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """Convert image metadata from `with_axes` back to the form of 0.6, with the coordinate systems of `original`."""
    made: dict[str, Any] = {}
    # A path that is no text is kept, as validation reports it; it may be a list, which is no key.
    steps = {str(level.get("path")): _step_of(level) for level in map(as_object, as_list(original.get("datasets")))}
    for key, value in item.items():
        if key == "axes":
            made["coordinateSystems"] = copy_json(as_list(original.get("coordinateSystems")))
            intrinsic_system({**original, "coordinateSystems": made["coordinateSystems"]})["axes"] = value
        elif key == "datasets":
            made[key] = [_level_with_ends(level, steps[str(level.get("path"))]) for level in value]
        else:
            made[key] = value
    if "coordinateTransformations" in original:
        made["coordinateTransformations"] = original["coordinateTransformations"]
    return made


def _step_of(level: dict[str, Any]) -> dict[str, Any]:
    steps = as_list(level.get("coordinateTransformations"))
    return as_object(steps[0]) if steps else {}


def _plain_level(level: dict[str, Any], count: int, where: str) -> dict[str, Any]:
    steps = as_list(level.get("coordinateTransformations"))
    if len(steps) == 1 and as_object(steps[0]).get("type") == "sequence":
        steps = as_list(steps[0].get("transformations"))
    elif len(steps) == 1 and as_object(steps[0]).get("type") == "identity":
        steps = [{"type": "scale", "scale": [1.0] * count}]
    kinds = [as_object(step).get("type") for step in steps]
    if kinds not in LEVEL_KINDS or parse_transformations(steps, count) is None:
        raise UnsupportedError(
            f"{where}, level {level.get('path')!r}: expected a scale, or a sequence of a scale and a translation, "
            f"each of {count} finite numbers; found {steps!r:.200}"
        )
    return {
        **level,
        "coordinateTransformations": [
            {"type": kind, kind: step[kind]} for kind, step in zip(kinds, steps, strict=True)
        ],
    }


def _level_with_ends(level: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """Return a level with one transformation, whose input and output are taken from the original level."""
    steps = level["coordinateTransformations"]
    kept = {key: value for key, value in original.items() if key not in ("type", "scale", "transformations")}
    if len(steps) > 1:
        own: dict[str, Any] = {"type": "sequence", "transformations": steps}
    elif original.get("type") == "identity" and all(number == 1 for number in steps[0]["scale"]):
        own = {"type": "identity"}
    else:
        own = steps[0]
    return {**level, "coordinateTransformations": [{**own, **kept}]}
