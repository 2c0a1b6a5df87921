"""Check that no two sources of a batch have the same output file."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from ozx.errors import UsageError
from ozx.flow.sources.location import Location, printable_location

__all__ = ["check_distinct"]

# The usual file systems of these systems do not distinguish a.ozx and A.ozx.
_FOLDS_NAMES = os.name == "nt" or sys.platform == "darwin"


def check_distinct(
    sources: Sequence[str], targets: Sequence[str], *, verb: str, folds_names: bool = _FOLDS_NAMES
) -> None:
    """Check that no two sources have the same output file.

    Parameters
    ----------
    sources, targets
        The sources, and the output of each.
    verb
        The word with which the hint of the error begins, such as Pack.
    folds_names
        Whether names that differ only in case, or in the Unicode form of their letters, are one name, unless existing
        files show that the file system distinguishes these names.

    Raises
    ------
    UsageError
        A source is given twice, or two sources would become the same file.

    Examples
    --------
    >>> check_distinct(["a.tif", "a.tiff"], ["a.ozx", "a.ozx"], verb="Import")
    Traceback (most recent call last):
    ozx.errors.UsageError: a.tif and a.tiff would both become a.ozx
    """
    seen: dict[str, str] = {}
    alike: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    real_folder = cache(os.path.realpath)
    for source, target in zip(sources, targets, strict=True):
        path, is_remote = target, Location(target).is_remote
        if not is_remote:
            # The name itself is not resolved: a new file replaces a link, not the target of the link.
            folder, name = os.path.split(os.path.abspath(target))
            path = os.path.join(real_folder(folder), name)
        other = seen.get(path)
        if other == source:
            raise UsageError(f"{printable_location(source)} is given twice", hint="Name each source once.")
        if other is not None:
            both = " and ".join(map(printable_location, (other, source)))
            raise UsageError(f"{both} would both become {target}", hint=f"{verb} them into different folders.")
        seen[path] = source
        if not is_remote:
            fellows = alike[unicodedata.normalize("NFC", path).casefold()]
            for other, other_target in fellows:
                if _is_one_file(other_target, target, default=folds_names):
                    both = " and ".join(map(printable_location, (other, source)))
                    raise UsageError(
                        f"{both} would become {other_target} and {target}, which this system may treat as one file",
                        hint=f"{verb} them into different folders.",
                    )
            fellows.append((source, target))


def _is_one_file(first: str, second: str, *, default: bool) -> bool:
    """Return whether two paths with similar names lead to one file; `default` if no file exists there."""
    states = []
    for path in (first, second):
        with suppress(OSError):
            states.append(os.lstat(path))
    return default if not states else len(states) == 2 and os.path.samestat(*states)
