"""Arguments that are sources and, at their end, perhaps an output: which of two the second is."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ozx.errors import UsageError

__all__ = ["names_output", "output_of_one"]


def names_output(argument: str, endings: tuple[str, ...]) -> bool:
    """Tell whether an argument names a file that is made, by its ending.

    Examples
    --------
    >>> names_output("cells.ozx", (".ozx", ".zip")), names_output("cells.ome.zarr", (".ozx", ".zip"))
    (True, False)
    """
    return argument.lower().endswith(endings) and not os.path.isdir(argument)


def output_of_one(arguments: Sequence[str], out_dir: str | None, endings: tuple[str, ...]) -> str | None:
    """Return the second of two arguments where it is the output of the first, else None.

    It is where its ending says so, or where there is no file or directory of that name. But one that is not there and
    ends as the first does, or in ``.zarr``, is a source whose name was mistyped.

    Parameters
    ----------
    arguments
        What was given, sources first.
    out_dir
        The folder for outputs, None where none is given.
    endings
        Endings of outputs, in lower case.

    Raises
    ------
    UsageError
        There is an output, and a folder for outputs.

    Examples
    --------
    >>> output_of_one(["cells.ome.zarr", "nowhere/cells.ozx"], None, (".ozx",))
    'nowhere/cells.ozx'
    >>> output_of_one(["cells.ome.zarr", "nowhere/cels.ome.zarr"], None, (".ozx",)) is None
    True
    """
    if len(arguments) != 2:
        return None
    first, last = arguments
    ending, last_ending = (os.path.splitext(each.rstrip("/").lower())[1] for each in (first, last))
    is_mistyped = last_ending == ".zarr" or (last_ending != "" and last_ending == ending)
    # What is neither a file nor a directory, such as /dev/null, is no source; that it is no output is told later.
    is_new = not (os.path.isfile(last) or os.path.isdir(last)) and (os.path.lexists(last) or not is_mistyped)
    if not (is_new or names_output(last, endings)):
        return None
    if out_dir is not None:
        raise UsageError(f"both an output, {last}, and --out-dir are given", hint="Leave one of them out.")
    return last
