"""Short, one-line texts of document values, for messages."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Sequence
from typing import Any

#: The programs that warnings name; tests/conformance/test_readers.py tests what these programs refuse.
ZARR_PYTHON = "zarr-python 3.1.6"
TENSORSTORE = "tensorstore 0.1.86"

_LONGEST = 80
_MOST = 3
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _LONGEST


def brief(value: Any) -> str:
    """Return the `repr` of a value, shortened in the middle.

    Examples
    --------
    >>> brief("group"), len(brief("x" * 10_000_000))
    ("'group'", 80)
    """
    return _BRIEF.repr(value)


def shown(value: Any) -> str:
    """Return a JSON value as short text for a message."""
    text = json.dumps(_cut(value, 2), ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return cut_short(text)


def cut_short(text: str) -> str:
    """Return the text, shortened to 80 characters with an ellipsis if it is longer.

    Examples
    --------
    >>> cut_short("group"), len(cut_short("x" * 200))
    ('group', 81)
    """
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def listed(values: Sequence[Any]) -> str:
    """Return the first three distinct values as text, with an ellipsis if there are more."""
    # Compared by their text, because values may be unhashable.
    unique: dict[str, None] = {}
    for value in values:
        unique[shown(value)] = None
        if len(unique) > _MOST:
            break
    return ", ".join(list(unique)[:_MOST]) + (", …" if len(unique) > _MOST else "")


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) with these components."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _cut(value: Any, depth: int) -> Any:
    """Return a value of a document, shortened for a message."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 512:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, dict):
        if depth == 0:
            return "{…}"
        return {name[:_LONGEST]: _cut(item, depth - 1) for name, item in list(value.items())[:_LONGEST]}
    if isinstance(value, list):
        return [_cut(item, depth - 1) for item in value[:_LONGEST]] if depth else "[…]"
    return value
