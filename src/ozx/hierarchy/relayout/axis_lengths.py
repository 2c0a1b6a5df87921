"""Parsing of requested lengths in pixels by axis, such as ``y=4096,x=4096``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ozx.errors import UsageError
from ozx.hierarchy.ome.axis_names import unknown_axis


def parse_axis_lengths(value: str | Mapping[str, int]) -> dict[str, int] | None:
    """Return lengths by axis from text or a mapping; None if `value` is malformed or contains a length below 1."""
    if not isinstance(value, str | Mapping):
        return None
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


def requested_axes(lengths: Mapping[str, int], names: Sequence[str | None]) -> list[str | None]:
    """Return the key in `lengths` of each dimension; None for a dimension without a requested length.

    The key is the name of the dimension, or its number if it has no name.
    """
    keys = (str(number) if name is None else name for number, name in enumerate(names))
    return [key if key in lengths else None for key in keys]


def check_axes(lengths: Mapping[str, int], arrays: Iterable[Sequence[str | None]]) -> None:
    """Check that each axis in `lengths` exists in at least one array; if there are no arrays, accept every axis."""
    all_names = list(arrays)
    found = {axis for names in all_names for axis in requested_axes(lengths, names)}
    missing = [axis for axis in lengths if axis not in found]
    if missing and all_names:
        names = [name for names in all_names for name in names if name is not None]
        error = unknown_axis(missing[0], names)
        raise error if names else UsageError(str(error), hint="Axes without names are numbered from 0.")
