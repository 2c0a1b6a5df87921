"""Options of ``edit`` and ``import`` that replace the metadata of an image."""

from __future__ import annotations

import re
from typing import Any

from ozx.errors import UsageError

__all__ = ["parse_metadata", "parse_sizes", "parse_units", "split_names"]

_COMMA = re.compile(r"(?<!\\),")


def parse_sizes(text: str) -> dict[str, float]:
    """Return the pixel sizes of ``--pixel-size`` by axis.

    Raises
    ------
    UsageError
        It is not such a list, or a size is not a number.

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
                hint="Use a decimal point; give the unit with --unit.",
            ) from None
    return sizes


def parse_units(text: str) -> str | dict[str, str]:
    """Return the value of ``--unit``: one unit, or a unit per axis.

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
    r"""Split a text at commas; ``\,`` is a comma within a name.

    Examples
    --------
    >>> split_names(r"DAPI,Cy5\, far red")
    ['DAPI', 'Cy5, far red']
    """
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(text)]


def parse_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the metadata options parsed."""
    parsers = {"pixel_size": parse_sizes, "unit": parse_units, "channel_names": split_names, "colors": split_names}
    return options | {name: parse(options[name]) for name, parse in parsers.items() if options[name] is not None}
