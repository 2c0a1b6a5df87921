"""The differences that an edit makes, in terms that users know: pixel sizes, units, names, colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed property of an image.

    Attributes
    ----------
    node
        Path of the image's group; the root's is empty.
    what
        ``axis x`` (its pixel size at full resolution), ``origin x`` (where the full resolution begins), ``unit of x``,
        ``channel 0 name``, ``channel 0 color``, ``channel 0 active``, ``channel 0 start`` or ``channel 0 end`` (of its
        contrast window), ``rendering model`` (a colour was set in an image that viewers showed in grey), or ``name``.
    old, new
        The value before and after the edit; None for a missing value.
    unit
        Unit of the numbers, after the edit.
    """

    node: str
    what: str
    old: float | str | None
    new: float | str
    unit: str | None = None

    @property
    def is_visible(self) -> bool:
        """Whether viewers show the channels in another way: with other colours, another contrast, or other channels."""
        return self.what == "rendering model" or (self.what.startswith("channel ") and not self.what.endswith(" name"))


@dataclass(frozen=True, slots=True)
class Edited:
    """An edited document, with its differences from the original."""

    # The new document, equal to the old one if nothing changed.
    document: dict[str, Any]
    differences: tuple[Difference, ...]
    # Factors of pixel sizes, and units, by axis, to be applied to label images.
    factors: Mapping[str, Fraction] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    # Remarks, as phrases.
    notes: tuple[str, ...] = ()
