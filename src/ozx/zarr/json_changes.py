"""Detection of changes between two JSON documents, and writing of JSON in the style of an existing document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_INDENT = re.compile(rb"[{\[]\r?\n([ \t]+)")
#: Indentation, separators of items and keys, and whether characters beyond ASCII are escaped.
_Style = tuple[str | None, tuple[str, str], bool]


def iter_changes(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the innermost changed values: JSON pointer (RFC 6901), old and new value; None for a missing value.

    Arrays are compared element by element only if their lengths are equal.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in old and key in new:
                yield from iter_changes(old[key], new[key], place)
            else:
                yield place, old.get(key), new.get(key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from iter_changes(*pair, f"{pointer}/{index}")
    elif old is not new and (type(old) is not type(new) or old != new):
        yield pointer, old, new


#: The styles that were found, by the look of the documents.
Styles = dict[tuple[object, ...], _Style]


def dump_like(document: Any, old: Any, stored: bytes, styles: Styles | None = None) -> bytes:
    """Return `document` as JSON bytes with the formatting of `stored`, the bytes of the `old` document.

    Indentation, separators, escapes and line ends are kept: those that reproduce the stored bytes, or if none do (other
    number formats, mixed layouts), those with the same indentation. The search is slow, so documents that look similar
    are assumed to share a style; `styles` remembers it for the next call.
    """
    styles = {} if styles is None else styles
    found = _INDENT.search(stored)
    indent = None if found is None else found[1].decode("ascii")
    look = (indent, b'": ' in stored, b', "' in stored, b"\\u" in stored, stored.isascii())
    if look not in styles:
        styles[look] = _find_style(old, stored, indent)
    return _dump(document, styles[look]) + stored[len(stored.rstrip()) :]


def _dump(value: Any, style: _Style) -> bytes:
    indent, separators, escapes = style
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=escapes)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
        return _dump(value, (indent, separators, True))


def _find_style(old: Any, stored: bytes, indent: str | None) -> _Style:
    colon = ": " if indent is not None or b'": ' in stored else ":"
    comma = ", " if indent is None and colon == ": " else ","
    likely = indent, (comma, colon), b"\\u" in stored
    for separators in dict.fromkeys([(comma, colon), (",", ":"), (",", ": "), (", ", ": ")]):
        for escapes in (True, False):
            style = indent, separators, escapes
            if _dump(old, style) == stored.strip():
                return style
    return likely
