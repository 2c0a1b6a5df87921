"""Typed access to parsed JSON; values of an unexpected type become None or empty.

Metadata may come from any program: a reader can report a missing value instead of failing.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

from ozx.errors import FormatError

# Zarr core 3.1 sets no limit; implementations hold lengths in 64-bit signed integers.
_LONGEST = (1 << 63) - 1


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value, at any nesting depth.

    Examples
    --------
    >>> document = {"attributes": {"axes": ["y", "x"]}}
    >>> copy_json(document)["attributes"]["axes"] is document["attributes"]["axes"]
    False
    """
    root = [value]
    waiting: list[dict[str, Any] | list[Any]] = [root]
    while waiting:
        holder = waiting.pop()
        for key, inner in list(holder.items()) if isinstance(holder, dict) else enumerate(holder):
            if isinstance(inner, dict | list):
                holder[key] = inner.copy()  # type: ignore[index]
                waiting.append(holder[key])  # type: ignore[index]
    return root[0]


def plain_json(value: Any) -> Any:
    """Return a Python result as JSON values: dataclasses as objects, tuples as arrays."""
    if is_dataclass(value):
        return {field.name: plain_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain_json(item) for name, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list | tuple) else value


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a JSON array, else an empty array."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return `value` if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def as_texts(value: Any) -> tuple[str, ...] | None:
    """Return `value` if it is an array of strings, else None."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)


def as_lengths(value: Any) -> tuple[int, ...] | None:
    """Return `value` if it is an array of lengths (integers from 0 to 2**63 - 1), else None.

    Examples
    --------
    >>> as_lengths([2, 256]), as_lengths([True]), as_lengths([-1]), as_lengths("256")
    ((2, 256), None, None, None)
    """
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= _LONGEST for item in value):
        return None
    return tuple(value)


def as_numbers(value: Any) -> tuple[float, ...] | None:
    """Return `value` if it is an array of finite numbers, else None.

    Examples
    --------
    >>> as_numbers([1, 0.5]), as_numbers([float("nan")]), as_numbers([10**400])
    ((1.0, 0.5), None, None)
    """
    if not isinstance(value, list):
        return None
    numbers = []
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float):
            return None
        try:
            number = float(item)
        except OverflowError:
            return None
        if not math.isfinite(number):
            return None
        numbers.append(number)
    return tuple(numbers)


def without_special_numbers(value: Any) -> Any:
    """Return a JSON value in which NaN and infinities are text; `value` itself if it contains none of these.

    Python reads and writes them as bare words, which are no JSON: other readers refuse the whole document.

    Examples
    --------
    >>> without_special_numbers({"window": [0.5, float("nan"), float("-inf")]})
    {'window': [0.5, 'NaN', '-Infinity']}
    """
    try:
        return value if _is_plain(value) else _spell_out(value)
    except RecursionError as error:
        raise FormatError(f"expected metadata of limited depth; {error}", rule="zarr/json") from None


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)  # many times faster than a loop over all values
    except ValueError:
        return False
    return True


def _spell_out(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spell_out(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value
