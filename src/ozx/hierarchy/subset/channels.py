"""Parsing of lists of channel names, and search for the requested channels of an image by name or number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ozx.errors import UsageError

_COMMA = re.compile(r"(?<!\\),")


def split_names(text: str) -> list[str]:
    r"""Split a text at commas; ``\,`` is a comma within a name.

    Examples
    --------
    >>> split_names(r"DAPI,Cy5\, far red")
    ['DAPI', 'Cy5, far red']
    """
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(text)]


def parse_channels(value: str | int | Iterable[str | int] | None) -> tuple[str, ...]:
    """Return the names and numbers in text such as ``DAPI,GFP`` or ``0,2``, or in a list.

    Examples
    --------
    >>> parse_channels("DAPI, GFP"), parse_channels(0), parse_channels(None)
    (('DAPI', 'GFP'), ('0',), ())
    """
    if value is None:
        return ()
    items = split_names(value) if isinstance(value, str) else [value] if isinstance(value, int) else list(value)
    names = tuple(str(item).strip() for item in items)
    if not names or not all(names):
        raise UsageError(f"expected channels by name or number; got {value!r}", hint="Write DAPI,GFP or 0,1.")
    return names


def find_channels(wanted: Sequence[str], labels: Sequence[str | None], count: int, where: str) -> tuple[int, ...]:
    """Return the numbers of the requested channels, in the order of the image.

    Examples
    --------
    >>> find_channels(["gfp", "0"], ["DAPI", "GFP"], 2, "the root")
    (0, 1)
    """
    return tuple(sorted({_find(name, [label or "" for label in labels[:count]], count, where) for name in wanted}))


def _find(name: str, labels: Sequence[str], count: int, where: str) -> int:
    found = [number for number, label in enumerate(labels) if label == name]
    found = found or [number for number, label in enumerate(labels) if label.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    # As `split_names` reads them.
    names = [label.replace(",", "\\,") for label in [*labels, *[""] * count][:count][:20]]
    known = ", ".join(f"{number} {label}".strip() for number, label in enumerate(names))
    if found:
        numbers = ", ".join(map(str, found))
        raise UsageError(
            f"{where}: expected one channel {name!r}; channels {numbers} have this name", hint="Use channel numbers."
        )
    if name.isdecimal() and int(name) < count:
        return int(name)
    raise UsageError(f"{where}: expected names or numbers of its channels; got {name!r}", hint=f"Choose from {known}.")
