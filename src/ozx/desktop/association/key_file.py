"""Read key files (``[section]``, ``key=one;two;``) as GLib does."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADER = re.compile(r"\s*\[(?P<section>[^\]\r\n]*)\]\s*")
# GLib allows no brackets or control characters in a section's name, and in a key only a locale's brackets.
_VALID_HEADER = re.compile(r"\s*\[[^\[\]\x00-\x1f\x7f]+\]\s*")
_VALID_ENTRY = re.compile(r"\s*[^=\[\]#\s][^=\[\]]*(\[[^=\[\]]*\])?\s*=.*", re.DOTALL)
_ENTRY = re.compile(r"\s*(?P<key>[^=#\s][^=\r\n]*?)\s*=[ \t]*(?P<value>[^\r\n]*?)\s*")


def find_fault(text: str) -> int | None:
    r"""Return the number of the first line that makes GLib reject the whole file, or None.

    Examples
    --------
    >>> find_fault("# mine\n[A]\nx=1\n"), find_fault("[A]\nx=1\nwhat?\n")
    (None, 3)
    """
    section = None
    for number, line in enumerate(_LINE.findall(text), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _VALID_HEADER.fullmatch(line):
            section = line
        elif section is None or not _VALID_ENTRY.fullmatch(line):
            return number
    return None


def find_value(text: str, section: str, key: str) -> str | None:
    r"""Return the last value of `key`, or None.

    Examples
    --------
    >>> find_value("x=1\n[A]\nx=2\nx = 3;\n#[B]\n", "A", "x"), find_value("x=1\n[A]\n", "A", "x")
    ('3;', None)
    """
    found = None
    inside = None
    for line in _LINE.findall(text):
        if header := _HEADER.fullmatch(line):
            inside = header["section"] or inside
        elif inside == section and (entry := _ENTRY.fullmatch(line)) and entry["key"] == key:
            found = entry["value"]
    return found
