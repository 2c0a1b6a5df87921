"""Options of ``edit`` and ``import`` that replace the metadata of an image."""

from __future__ import annotations

import re
from typing import Any

from ozx.errors import UsageError

__all__ = ["parse_metadata", "parse_sizes", "parse_units", "split_names"]

# A number, or "nan" and the like, which have an error of their own; then perhaps a unit.
_SIZE = re.compile(r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|nan|inf(?:inity)?)\s*[^0-9,]*")
_COMMA = re.compile(r"(?<!\\),")


def parse_sizes(text: str) -> str | dict[str, str]:
    """Return the value of ``--pixel-size``: one size for all axes of space, or one size per axis.

    A size may have a unit.

    Raises
    ------
    UsageError
        It has no number.

    Examples
    --------
    >>> parse_sizes("0.65um"), parse_sizes("y=0.65,x=0.65")
    ('0.65um', {'y': '0.65', 'x': '0.65'})
    """
    sizes = _pairs(text, "--pixel-size", "0.65, 0.65um or y=0.65,x=0.65") if "=" in text else {"": text.strip()}
    for axis, value in sizes.items():
        if _SIZE.fullmatch(value) is None:
            raise UsageError(
                f"--pixel-size: expected a number{f' for axis {axis}' if axis else ''}, perhaps with a unit; "
                f"got {value!r}",
                hint="Write 0.65, 0.65um or y=0.65,x=0.65, with a decimal point.",
            )
    return sizes.get("", sizes)


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
