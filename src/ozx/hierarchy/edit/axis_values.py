"""Pixel sizes and units as text: one value, or one per axis, as in ``y=0.65um,x=0.65um``."""

from __future__ import annotations

import re

from ozx.errors import UsageError

# A number, then perhaps a unit. "nan" and the like match too: a later check has an error of its own for them.
_SIZE = re.compile(r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|nan|inf(?:inity)?)\s*[^0-9,]*")


def parse_sizes(text: str) -> str | dict[str, str]:
    """Return pixel sizes: one for all axes of space, or one per axis.

    A size may have a unit.

    Examples
    --------
    >>> parse_sizes("0.65um"), parse_sizes("y=0.65,x=0.65")
    ('0.65um', {'y': '0.65', 'x': '0.65'})
    """
    sizes = _pairs(text, "pixel size", "0.65, 0.65um or y=0.65,x=0.65") if "=" in text else {"": text.strip()}
    for axis, value in sizes.items():
        if _SIZE.fullmatch(value) is None:
            where = f" for axis {axis}" if axis else ""
            raise UsageError(
                f"pixel size: expected a number{where}, perhaps with a unit; got {value!r}",
                hint="Write 0.65, 0.65um or y=0.65,x=0.65, with a decimal point.",
            )
    return sizes.get("", sizes)


def parse_units(text: str) -> str | dict[str, str]:
    """Return units: one unit, or a unit per axis.

    Examples
    --------
    >>> parse_units("micrometer"), parse_units("t=second")
    ('micrometer', {'t': 'second'})
    """
    return _pairs(text, "unit", "x=micrometer,t=second") if "=" in text else text.strip()


def _pairs(text: str, what: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        axis, equals, value = (piece.strip() for piece in part.partition("="))
        if not axis or not equals or not value:
            raise UsageError(f"{what}: expected axes with values, as in {example}; got {text!r}")
        if axis in pairs:
            raise UsageError(f"{what}: axis {axis} is given twice in {text!r}")
        pairs[axis] = value
    return pairs
