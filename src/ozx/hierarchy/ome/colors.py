"""Colours of channels as users give them."""

from __future__ import annotations

import re

from ozx.errors import UsageError

#: Colours that may be given by name; all others are given as RRGGBB.
_COLORS = {
    "red": "FF0000",
    "green": "00FF00",
    "blue": "0000FF",
    "cyan": "00FFFF",
    "magenta": "FF00FF",
    "yellow": "FFFF00",
    "white": "FFFFFF",
    "gray": "FFFFFF",
    "grey": "FFFFFF",
}
_HEXADECIMAL = re.compile(r"#?([0-9A-Fa-f]{6})")


def parse_color(color: str) -> str:
    """Return a colour as six hexadecimal digits in upper case.

    Examples
    --------
    >>> parse_color("#00ffb0"), parse_color("green")
    ('00FFB0', '00FF00')
    """
    match = _HEXADECIMAL.fullmatch(str(color).strip())
    if match is not None:
        return match[1].upper()
    try:
        return _COLORS[str(color).strip().lower()]
    except KeyError:
        raise UsageError(
            f"expected a colour as RRGGBB, six hexadecimal digits; got {color!r}",
            hint=f"Allowed colour names: {', '.join(_COLORS)}.",
        ) from None
