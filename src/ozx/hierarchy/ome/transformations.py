"""Combination of scale and translation transformations into one scale and one translation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_numbers, as_object

# A sequence may hold sequences (0.6); no writer nests them deeper.
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Placement:
    """Positions of an array's pixels: position = index * scale + translation, for each axis in its unit."""

    scale: tuple[float, ...]
    translation: tuple[float, ...]

    def then(self, other: Placement) -> Placement:
        """Return the combination of this placement with `other`, which is applied second."""
        pairs = list(zip(other.scale, self.translation, other.translation, strict=True))
        return Placement(
            tuple(a * b for a, b in zip(self.scale, other.scale, strict=True)),
            tuple(factor * start + step for factor, start, step in pairs),
        )


def parse_transformations(value: Any, dimensions: int) -> Placement | None:
    """Combine a list of scales and translations, applied in order; return None if there are other transformations.

    OME-Zarr 0.4 and 0.5, "coordinateTransformations": ``identity``, ``scale``, ``translation``. 0.6 adds ``sequence``,
    and many types without a scale per axis (``affine``, ``rotation``, displacement fields). The result is None for
    these types, and for transformations that are stored as arrays, have another number of axes, or are malformed.
    """
    return _join(value, dimensions, _DEEPEST)


def _join(value: Any, dimensions: int, depth: int) -> Placement | None:
    placement: Placement | None = _stay(dimensions)
    for step in as_list(value):
        following = _parse_one(as_object(step), dimensions, depth)
        placement = None if placement is None or following is None else placement.then(following)
    return placement


def _parse_one(step: dict[str, Any], dimensions: int, depth: int) -> Placement | None:
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
    return Placement(numbers, still.translation) if kind == "scale" else Placement(still.scale, numbers)


def _stay(dimensions: int) -> Placement:
    return Placement((1.0,) * dimensions, (0.0,) * dimensions)
