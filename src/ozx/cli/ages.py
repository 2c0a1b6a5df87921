"""Parse and format ages on the command line: ``7d``, ``12h``, ``30m``."""

from __future__ import annotations

import re

from ozx.errors import UsageError

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60}


def to_seconds(text: str) -> float:
    """Return the value of ``--older-than`` in seconds.

    Raises
    ------
    UsageError
        The text is no age.

    Examples
    --------
    >>> to_seconds("2h")
    7200
    """
    match = re.fullmatch(r"(\d+)([dhm])", text.strip())
    if match is None:
        raise UsageError(f"--older-than: expected a number and d, h or m, as in 7d; got {text!r}")
    return int(match[1]) * _SECONDS[match[2]]


def age_text(seconds: float) -> str:
    """Return an age as text in its largest unit.

    Examples
    --------
    >>> age_text(7200), age_text(59)
    ('2h', '0m')
    """
    unit = next((unit for unit, length in _SECONDS.items() if seconds >= length), "m")
    return f"{int(seconds // _SECONDS[unit])}{unit}"
