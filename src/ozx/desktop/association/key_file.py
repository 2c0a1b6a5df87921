"""Edit key files (``[section]``, ``key=one;two;``): add items to lists, remove them, keep all other bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
    """Return the last value of `key`, or None."""
    found = None
    for in_section, line in _iter_lines(text):
        if in_section == section and (entry := _entry(line, key)):
            found = entry["value"]
    return found


def with_item(text: str, section: str, key: str, item: str) -> str:
    """Return `text` with `item` first in the list of `key`; a missing section is added at the end."""
    items = _items(find_value(text, section, key))
    return _with_items(text, section, key, [item, *(other for other in items if other != item)])


def with_last_item(text: str, section: str, key: str, item: str, ahead: str | None) -> str:
    r"""Return `text` with `item` in the list of `key`; a missing item is appended.

    If the list is empty, it becomes `ahead` (if not None) and `item`, in this order.

    Examples
    --------
    >>> with_last_item("[A]\nx=one;\n", "A", "x", "two", None)
    '[A]\nx=one;two;\n'
    >>> with_last_item("", "A", "x", "two", "one")
    '[A]\nx=one;two;\n'
    """
    items = _items(find_value(text, section, key))
    if item in items:
        return text
    return _with_items(text, section, key, [*(items or filter(None, [ahead])), item])


def _with_items(text: str, section: str, key: str, items: list[str]) -> str:
    lines = list(_iter_lines(text))
    numbers = [number for number, (name, line) in enumerate(lines) if name == section and _entry(line, key)]
    if _items(find_value(text, section, key)) == items and len(numbers) == 1:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    entry = f"{key}={''.join(f'{item};' for item in items)}{end}"
    # Readers differ in which of several entries they use: change the last one, remove the others.
    new = [
        entry if number in numbers[-1:] else line
        for number, (_, line) in enumerate(lines)
        if number not in numbers[:-1]
    ]
    if numbers:
        return "".join(new)
    header = next((number for number, line in enumerate(new) if _section(line) == section), None)
    if header is None:
        return f"{_ended(text, end)}[{section}]{end}{entry}"
    new[header] = _ended(new[header], end) + entry
    return "".join(new)


def without_item(text: str, sections: Iterable[str], key: str, item: str, before: str) -> str:
    r"""Return `text` without `item` in the lists of `key`, and without the lists and `sections` that become empty.

    Other programs may have copied the item into other sections. Sections of the earlier text `before` stay.
    """
    lines = []
    for _, line in _iter_lines(text):
        entry = _entry(line, key)
        if entry is None or item not in _items(entry["value"]):
            lines.append(line)
        elif others := [other for other in _items(entry["value"]) if other != item]:
            lines.append(f"{line[: entry.start('value')]}{';'.join(others)};{line[entry.end('value') :]}")
    made = set(sections) - {_section(line) for line in _LINE.findall(before)}
    return "".join(
        line
        for number, line in enumerate(lines)
        if _section(line) not in made or not _is_empty_below(lines[number + 1 :])
    )


def _iter_lines(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield each line with its section; a header line belongs to the section that it begins."""
    section: str | None = None
    for line in _LINE.findall(text):
        section = _section(line) or section
        yield section, line


def _section(line: str) -> str | None:
    header = _HEADER.fullmatch(line)
    return header["section"] if header else None


def _entry(line: str, key: str) -> re.Match[str] | None:
    entry = _ENTRY.fullmatch(line)
    return entry if entry and entry["key"] == key else None


def _items(value: str | None) -> list[str]:
    return [item.strip() for item in (value or "").split(";") if item.strip()]


def _ended(text: str, end: str) -> str:
    return text if not text or text.endswith("\n") else text + end


def _is_empty_below(lines: list[str]) -> bool:
    for line in lines:
        if line.strip():
            return _section(line) is not None
    return True
