"""Edit the custom actions of Thunar, the file manager of Xfce: add one, remove one, keep all other text unchanged."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

#: The file without any action.
EMPTY = '<?xml version="1.0" encoding="UTF-8"?>\n<actions>\n</actions>\n'
_END = "</actions>"


def make_action(identifier: str, name: str, command: str, icon: str, patterns: str) -> str:
    """Return an action for directories and image files with names that match `patterns`, such as ``*.tif;*.tiff``."""
    return (
        "<action>\n"
        f"\t<icon>{escape(icon)}</icon>\n"
        f"\t<name>{escape(name)}</name>\n"
        f"\t<unique-id>{escape(identifier)}</unique-id>\n"
        f"\t<command>{escape(command)}</command>\n"
        "\t<description></description>\n"
        f"\t<patterns>{escape(patterns)}</patterns>\n"
        "\t<directories/>\n"
        "\t<image-files/>\n"
        "</action>\n"
    )


def with_action(text: str, identifier: str, action: str) -> str:
    """Return the text of ``uca.xml`` with the action last; an earlier action with this `identifier` is replaced.

    Text that is not a list of actions is returned unchanged.
    """
    if action in text:
        return text
    rest = without_action(text, identifier) if text.strip() else EMPTY
    position = rest.rfind(_END)
    return text if position < 0 else rest[:position] + action + rest[position:]


def without_action(text: str, identifier: str) -> str:
    r"""Return the text of ``uca.xml`` without the action with this identifier.

    Examples
    --------
    >>> without_action("<actions>\n<action>\n<unique-id>a</unique-id></action>\n</actions>", "a")
    '<actions>\n</actions>'
    """
    inside = r"(?:(?!</action>).)*"
    pattern = rf"[ \t]*<action>{inside}<unique-id>{re.escape(escape(identifier))}</unique-id>{inside}</action>\s*?\n?"
    return re.sub(pattern, "", text, flags=re.DOTALL)
