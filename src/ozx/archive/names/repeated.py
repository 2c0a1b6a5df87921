"""Several entries of one name: the one that the directory lists last counts, if it was written last, too."""

from __future__ import annotations

from ozx.errors import FormatError

__all__ = ["check_order"]


def check_order(name: str, header_offsets: list[int], path: str) -> None:
    """Refuse entries of one name of which the directory lists last what does not stand last in the file.

    Writers append both the entry and its header in the directory, so that one of the two orders is damaged: nothing
    tells which value replaced the other one.

    Parameters
    ----------
    name
        What they are all called.
    header_offsets
        Where they stand, in the order of the directory.
    path
        What messages call the archive.

    Raises
    ------
    FormatError
        The orders differ (``zip/duplicate-name``).

    Examples
    --------
    >>> check_order("0/c/0", [100, 500], "cells.ozx")
    >>> check_order("0/c/0", [500, 100], "cells.ozx")
    Traceback (most recent call last):
        ...
    ozx.errors.FormatError: cells.ozx: several entries are called '0/c/0', and the last one in the directory is not ...
    """
    if header_offsets[-1] < max(header_offsets):
        raise FormatError(
            f"several entries are called {name!r}, and the last one in the directory is not the last one in the file; "
            "nothing tells which of them counts",
            path=path,
            rule="zip/duplicate-name",
            hint="Copy or download the file again; `ozx recover` saves what is whole.",
        )
