"""Check of entries with equal names: the last of them in the central directory must also be the last in the file."""

from __future__ import annotations

from ozx.errors import FormatError


def check_order(name: str, header_offsets: list[int], path: str) -> None:
    """Raise an error if the last entry of a name in the central directory is not the last one in the file.

    Writers append both the entry and its header in the directory: if the two orders differ, one of them is damaged.
    `header_offsets` are in the order of the directory.

    Examples
    --------
    >>> check_order("0/c/0", [100, 500], "cells.ozx")
    >>> check_order("0/c/0", [500, 100], "cells.ozx")
    Traceback (most recent call last):
        ...
    ozx.errors.FormatError: cells.ozx: several entries are called '0/c/0', and their orders in the ...
    """
    if header_offsets[-1] < max(header_offsets):
        raise FormatError(
            f"several entries are called {name!r}, and their orders in the central directory and in the file differ, "
            "so it is unknown which entry is valid",
            path=path,
            rule="zip/duplicate-name",
            hint="Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged entries.",
        )
