"""What an edit changed, in the words of those who asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["Difference", "Edited"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing about an image that is different.

    Attributes
    ----------
    node
        Path of the image's group; the root's is empty.
    what
        ``axis x`` (its pixel size at full resolution), ``origin x`` (where the full resolution begins), ``unit of x``,
        ``channel 0 name``, ``channel 0 color`` or ``name``.
    old, new
        Before and after; None where there was nothing.
    unit
        That of the numbers, after the edit.
    """

    node: str
    what: str
    old: float | str | None
    new: float | str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """A document after an edit.

    Attributes
    ----------
    document
        The new document, equal to the old one where nothing had to change.
    differences
        What that means.
    factors, units
        What label images have to follow: the factors of pixel sizes, and the units, by axis.
    notes
        What is good to know, as phrases.
    """

    document: dict[str, Any]
    differences: tuple[Difference, ...]
    factors: Mapping[str, Fraction] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
