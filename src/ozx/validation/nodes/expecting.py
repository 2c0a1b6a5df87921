"""Checks of the types that a specification requires for values; a wrong type yields a finding."""

from __future__ import annotations

from typing import Any

from ozx.validation.nodes.place import Check, Place
from ozx.validation.wording import cut_short, shown

#: The result of `find` for a missing key.
MISSING = object()


def find(value: dict[str, Any], key: str) -> Any:
    """Return ``value[key]``, or `MISSING` if there is no such key."""
    return value.get(key, MISSING)


def expect_object(value: Any, place: Place, rule: str) -> Check[dict[str, Any] | None]:
    """Return `value` if it is an object; otherwise yield a finding and return None."""
    if isinstance(value, dict):
        return value
    yield place.finding(rule, _message(place, "an object", value))
    return None


def expect_list(value: Any, place: Place, rule: str, of: str = "a list") -> Check[list[Any] | None]:
    """Return `value` if it is a list; otherwise yield a finding and return None."""
    if isinstance(value, list):
        return value
    yield place.finding(rule, _message(place, of, value))
    return None


def expect_objects(
    value: Any, place: Place, rule: str, *, may_be_empty: bool = False
) -> Check[list[tuple[Place, dict[str, Any]]]]:
    """Return the objects in a list with their positions; yield a finding for each item that is not an object."""
    items = yield from expect_list(value, place, rule, "a list of objects")
    if items is None:
        return []
    if not items and not may_be_empty:
        yield place.finding(rule, f"{_name(place)}: expected at least one object; the list is empty")
    found = []
    for number, item in enumerate(items):
        if isinstance(item, dict):
            found.append((place / number, item))
        else:
            yield (place / number).finding(rule, _message(place / number, "an object", item))
    return found


def as_integer(value: Any) -> int | None:
    """Return an integer, even if it is written as 1.0 (JSON Schema, "integer"); None for any other value.

    Examples
    --------
    >>> as_integer(1), as_integer(1.0), as_integer(1.5), as_integer(True)
    (1, 1, None, None)
    """
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    return int(value) if is_whole else None


def expect_text(
    parent: dict[str, Any],
    key: str,
    place: Place,
    rule: str,
    *,
    is_optional: bool = False,
    may_be_empty: bool = False,
) -> Check[str | None]:
    """Return ``parent[key]`` if it is a string; otherwise yield a finding and return None."""
    value = find(parent, key)
    if (isinstance(value, str) and (value or may_be_empty)) or (is_optional and value is MISSING):
        return value if isinstance(value, str) else None
    yield place.finding(rule, _missing_or_wrong(place, key, "a string", value))
    return None


def expect_integer(
    parent: dict[str, Any], key: str, place: Place, rule: str, *, least: int | None = None, is_optional: bool = False
) -> Check[int | None]:
    """Return ``parent[key]`` if it is an integer >= `least`; otherwise yield a finding and return None."""
    value = find(parent, key)
    number = as_integer(value)
    if number is not None and (least is None or number >= least):
        return number
    if not (is_optional and value is MISSING):
        expected = "an integer" if least is None else f"an integer of at least {least}"
        yield place.finding(rule, _missing_or_wrong(place, key, expected, value))
    return None


def _missing_or_wrong(place: Place, key: str, expected: str, value: Any) -> str:
    if value is MISSING:
        return f"{_name(place)}: expected {key}, {expected}; it is missing"
    return f"{_name(place / key)}: expected {expected}; found {shown(value)}"


def _message(place: Place, expected: str, value: Any) -> str:
    found = "it is missing" if value is MISSING else f"found {shown(value)}"
    return f"{_name(place)}: expected {expected}; {found}"


def _name(place: Place) -> str:
    """Return the end of a JSON pointer, written as ``datasets[1].path``."""
    name = ""
    for part in place.pointer.removeprefix("/attributes").removeprefix("/ome").split("/")[1:]:
        name += f"[{part}]" if part.isdigit() else f"{'.' if name else ''}{cut_short(part)}"
    return name or "ome"
