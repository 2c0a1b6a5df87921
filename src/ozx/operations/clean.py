"""clean: find and remove temporary files of killed runs, including runs on other computers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ozx.atomic.temporary import Leftover, leftover_at, remove_leftover
from ozx.errors import raise_error, resource_errors
from ozx.flow.sources.location import StrPath, given_source


@dataclass(frozen=True, slots=True)
class FoundLeftover:
    """A temporary file or directory that a killed run left.

    Attributes
    ----------
    path
        Its path.
    host
        The computer that wrote it.
    age
        Seconds since the last change of the file, or of any file in the directory.
    bytes
        Length of the file, or of all files in the directory.
    removed
        Whether it was removed. The files of a running process stay.
    """

    path: str
    host: str
    age: float
    bytes: int
    removed: bool = False


@dataclass(frozen=True, slots=True)
class CleanResult:
    """The temporary files found in a folder.

    Attributes
    ----------
    path
        The folder.
    leftovers
        The files and directories that are at least as old as requested, in the order of their paths.
    younger
        Number of younger temporary files and directories.
    """

    path: str
    leftovers: tuple[FoundLeftover, ...]
    younger: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx clean --json`` as a dictionary."""
        leftovers = [asdict(leftover) for leftover in self.leftovers]
        return {"schema": 1, "path": self.path, "leftovers": leftovers, "younger": self.younger}


@resource_errors()
def clean(
    folder: StrPath, *, older_than: float, may_remove: Callable[[tuple[FoundLeftover, ...]], bool] = lambda _: True
) -> CleanResult:
    """Remove the temporary files and directories that killed runs left in a folder and its sub-folders.

    Links are not followed. Files with a final name, and ``NAME.partial`` of stores, are not touched.

    Parameters
    ----------
    folder
        The folder.
    older_than
        Minimum age: the number of seconds since the last change.
    may_remove
        Called once with the leftovers that are old enough, if there are any. If it returns False, nothing is removed.

    Returns
    -------
    CleanResult
        The leftovers; the attribute `removed` of each shows whether it was removed.

    Raises
    ------
    ResourceError
        The folder, or one below it, cannot be listed.
    UsageError
        `folder` is a URL.

    Examples
    --------
    >>> clean(".", older_than=7 * 24 * 3600).leftovers
    ()
    """
    path = given_source(folder)
    found = {leftover.path: leftover for leftover in _leftovers(path)}
    ages = {leftover.path: leftover.age() for leftover in found.values()}
    old = tuple(
        FoundLeftover(leftover.path, leftover.host, ages[leftover.path], _size(leftover.path))
        for leftover in sorted(found.values(), key=lambda leftover: leftover.path)
        if ages[leftover.path] >= older_than
    )
    if old and may_remove(old):
        # Ages are measured again, because the user may have answered hours later.
        old = tuple(
            replace(each, removed=found[each.path].age() >= older_than and remove_leftover(found[each.path]))
            for each in old
        )
    return CleanResult(path, old, len(found) - len(old))


def _leftovers(folder: str) -> Iterator[Leftover]:
    for place, folders, files in os.walk(folder, onerror=raise_error):
        for name in (*folders, *files):
            leftover = leftover_at(os.path.join(place, name))
            if leftover is not None:
                yield leftover
                folders[:] = [each for each in folders if each != name]


def _size(path: str) -> int:
    """Return the length of a file, or of all files in a directory, in bytes."""
    if not os.path.isdir(path) or os.path.islink(path):
        return os.lstat(path).st_size
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, files in os.walk(path) for name in files)
