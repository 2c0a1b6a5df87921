"""Parse command-line arguments: sources, and an optional output at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from glob import glob
from typing import Any

import click

from ozx.errors import UsageError
from ozx.missing_files import hint_at_pattern, is_pattern
from ozx.quoting import quote
from ozx.zarr.keys import LEGACY_METADATA, METADATA

_LIST_ITEM = re.compile("[A-Za-z]+=[^/]+")
_LIST_HINT = "Write the list of an option without blanks, as in --pixel-size y=0.65um,x=0.65um."


def check_patterns(sources: Sequence[str]) -> None:
    """Raise an error for a missing source that looks like a pattern (``*.zarr``) or part of a list (``y=0.65``).

    A shell passes on a pattern if it is in quotes, or if no file matches it. If the list of an option contains blanks,
    the shell divides it, and its later items become sources.
    """
    for source in sources:
        _refuse_list_item(source)
        if is_pattern(source) and "://" not in source and not os.path.lexists(source):
            if hint := hint_at_pattern(source):
                raise UsageError(f"expected files; got the pattern {source}", hint=hint)
            hint = "Correct the folder or the pattern. If an earlier run removed these sources, its log lists them."
            raise UsageError(f"no file matches {source}", hint=hint)


def expand_patterns(sources: Sequence[str], *, is_one: bool = False) -> list[str]:
    """Return the sources; on Windows, whose shells expand nothing, replace each pattern by the files that match it.

    Only ``*`` and ``?`` count, which no name there contains, and only if no file has the name as written. What a
    pattern matches is a source, never an output. With `is_one`, several matches are an error.
    """
    expanded: list[str] = []
    for source in sources:
        is_pattern_there = os.name == "nt" and "://" not in source and not os.path.lexists(source)
        found = sorted(glob(source.replace("[", "[[]"))) if is_pattern_there else []
        expanded += found or [source]
    if is_one and len(expanded) > 1:
        raise UsageError(
            f"expected one source; {len(expanded):,} files match {sources[0]}",
            hint="Give --out-dir D to get one output for each source.",
        )
    return expanded


def expand_argument(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Expand the argument of a command without outputs; a single source stays if it is a pattern of several files."""
    del context, parameter
    if isinstance(value, tuple):
        return tuple(expand_patterns(value))
    expanded = expand_patterns([value])
    return expanded[0] if len(expanded) == 1 else value


def _refuse_list_item(argument: str) -> None:
    if _LIST_ITEM.fullmatch(argument) and not os.path.lexists(argument):
        raise UsageError(f"{argument} does not exist", hint=_LIST_HINT)


def names_output(argument: str, endings: tuple[str, ...]) -> bool:
    """Return whether an argument names an output file, judged by its extension."""
    return argument.lower().endswith(endings) and not os.path.isdir(argument)


def is_zarr(argument: str) -> bool:
    """Return whether an argument is a directory with Zarr metadata, or a name that ends in ``.zarr``."""
    has_metadata = any(os.path.lexists(os.path.join(argument, name)) for name in (METADATA, *LEGACY_METADATA))
    return has_metadata or argument.rstrip("/").lower().endswith(".zarr")


def refuse_folder(arguments: Sequence[str], out_dir: str | None) -> None:
    """Raise an error if the last argument, which is no source, is a folder for outputs."""
    *others, last = arguments
    if out_dir is not None:
        return
    hint = f"To write into this folder, give --out-dir {quote(last)}."
    if os.path.isdir(last):
        raise UsageError(f"expected a source or an output file as the last argument; got the folder {last}", hint=hint)
    has_endings = all(os.path.splitext(other.rstrip("/"))[1] for other in others)
    is_missing = "://" not in last and not os.path.lexists(last)
    if is_missing and has_endings and not os.path.splitext(last.rstrip("/"))[1]:
        hint = f"Check the name; or to write into a folder of this name, give --out-dir {quote(last)}."
        raise UsageError(f"expected sources; {last} does not exist", hint=hint)


def _refuse_missing(first: str, last: str) -> None:
    """Raise an error if both arguments together, with a blank between them, are the name of a file."""
    whole = f"{first} {last}"
    if os.path.lexists(whole):
        raise UsageError(
            f"expected an existing file; {first} and {last} do not exist",
            hint=f"Put a name with blanks in quotes: {quote(whole)}",
        )


def output_of_one(arguments: Sequence[str], out_dir: str | None, endings: tuple[str, ...]) -> str | None:
    """Return the second of two arguments if it is an output path; else None.

    The second argument is an output if its ending is in `endings` (in lower case), or if no file or directory of this
    name exists. But a missing path with the ending of the first argument, or with ``.zarr``, is a mistyped source.
    """
    if len(arguments) != 2:
        return None
    first, last = arguments
    _refuse_list_item(last)
    if out_dir is None and not (os.path.lexists(first) or os.path.lexists(last)):
        _refuse_missing(first, last)
    ending, last_ending = (os.path.splitext(each.rstrip("/").lower())[1] for each in (first, last))
    is_mistyped = last_ending == ".zarr" or (last_ending != "" and last_ending == ending)
    # Devices such as /dev/null are not sources; writing to them fails later.
    is_new = not (os.path.isfile(last) or os.path.isdir(last)) and (os.path.lexists(last) or not is_mistyped)
    if not (is_new or names_output(last, endings)):
        return None
    if out_dir is not None:
        raise UsageError(f"both an output, {last}, and --out-dir are given", hint="Give only one of them.")
    if last.endswith("/") and "://" not in last:
        hint = f"To write into a folder, give --out-dir {quote(last.rstrip('/') or last)}."
        raise UsageError(f"expected the name of an output file; {last} names a folder", hint=hint)
    return last
