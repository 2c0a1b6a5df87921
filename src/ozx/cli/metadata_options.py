"""Options that say what is known of an image better than its file does: ``edit`` and ``import`` have the same."""

from __future__ import annotations

import re

from ozx.errors import UsageError

__all__ = ["parse_sizes", "parse_units", "split_names"]

_COMMA = re.compile(r"(?<!\\),")


def parse_sizes(text: str) -> dict[str, float]:
    """Return what ``--pixel-size`` says, by axis.

    Raises
    ------
    UsageError
        It is no such list, or a size is no number.

    Examples
    --------
    >>> parse_sizes("y=0.65,x=0.65")
    {'y': 0.65, 'x': 0.65}
    """
    sizes = {}
    for axis, value in _pairs(text, "--pixel-size", "y=0.65,x=0.65").items():
        try:
            sizes[axis] = float(value)
        except ValueError:
            raise UsageError(
                f"--pixel-size: expected a number for axis {axis}; got {value!r}",
                hint="Decimals have a point; the unit goes into --unit.",
            ) from None
    return sizes


def parse_units(text: str) -> str | dict[str, str]:
    """Return what ``--unit`` says: one unit, or units by axis.

    Examples
    --------
    >>> parse_units("micrometer"), parse_units("t=second")
    ('micrometer', {'t': 'second'})
    """
    return _pairs(text, "--unit", "x=micrometer,t=second") if "=" in text else text.strip()


def _pairs(text: str, option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        axis, equals, value = (piece.strip() for piece in part.partition("="))
        if not axis or not equals or not value:
            raise UsageError(f"{option}: expected axes with values, as in {example}; got {text!r}")
        if axis in pairs:
            raise UsageError(f"{option}: axis {axis} is given twice in {text!r}")
        pairs[axis] = value
    return pairs


def split_names(text: str) -> list[str]:
    r"""Return what is between commas; one that belongs to a name is written as ``\,``.

    Examples
    --------
    >>> split_names(r"DAPI,Cy5\, far red")
    ['DAPI', 'Cy5, far red']
    """
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(text)]
