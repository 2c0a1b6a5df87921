"""Lengths in pixels by axis, as somebody asks for them: ``y=4096,x=4096``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ozx.errors import UsageError

__all__ = ["asked_axes", "check_axes", "parse_axis_lengths"]


def parse_axis_lengths(value: str | Mapping[str, int]) -> dict[str, int] | None:
    """Return lengths by axis, from text or from a mapping, or None where it is neither or a length is below 1.

    Examples
    --------
    >>> parse_axis_lengths("y=4096, x=4096"), parse_axis_lengths("4096"), parse_axis_lengths({"y": 0})
    ({'y': 4096, 'x': 4096}, None, None)
    """
    if not isinstance(value, str):
        lengths = {str(axis): length for axis, length in value.items()}
        return lengths if lengths and all(type(length) is int and length > 0 for length in lengths.values()) else None
    lengths = {}
    for item in value.split(","):
        match = re.fullmatch(r"\s*([^=\s]+)\s*=\s*([0-9]{1,18})\s*", item)
        if match is None or match[1] in lengths or int(match[2]) == 0:
            return None
        lengths[match[1]] = int(match[2])
    return lengths


def asked_axes(lengths: Mapping[str, int], names: Sequence[str | None]) -> list[str | None]:
    """Return for each dimension which key of `lengths` means it: its name, or its number where it has none.

    Examples
    --------
    >>> asked_axes({"x": 64, "0": 1}, [None, "y", "x"])
    ['0', None, 'x']
    """
    keys = (str(number) if name is None else name for number, name in enumerate(names))
    return [key if key in lengths else None for key in keys]


def check_axes(lengths: Mapping[str, int], arrays: Iterable[Sequence[str | None]]) -> None:
    """Make sure that each axis of `lengths` is one of some array; all are right where there are no arrays.

    Parameters
    ----------
    lengths
        By axis.
    arrays
        The names of each array's dimensions.

    Raises
    ------
    UsageError
        No array has such an axis.

    Examples
    --------
    >>> check_axes({"z": 8}, [["y", "x"]])
    Traceback (most recent call last):
    ...
    ozx.errors.UsageError: expected axes that there are; no array has an axis 'z'
    """
    all_names = list(arrays)
    found = {axis for names in all_names for axis in asked_axes(lengths, names)}
    missing = [axis for axis in lengths if axis not in found]
    if missing and all_names:
        names = sorted({name for names in all_names for name in names if name is not None})
        raise UsageError(
            f"expected axes that there are; no array has an axis {missing[0]!r}",
            hint=f"There are {', '.join(names)}." if names else "Axes without names go by their numbers, from 0 on.",
        )
