"""Options of ``edit`` and ``import`` that replace the metadata of an image."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["parse_metadata", "split_names"]

_COMMA = re.compile(r"(?<!\\),")


def split_names(text: str) -> list[str]:
    r"""Split a text at commas; ``\,`` is a comma within a name.

    Examples
    --------
    >>> split_names(r"DAPI,Cy5\, far red")
    ['DAPI', 'Cy5, far red']
    """
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(text)]


def parse_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the lists of channel names and colours split."""
    lists = [name for name in ("channel_names", "colors") if options[name] is not None]
    return options | {name: split_names(options[name]) for name in lists}
