"""Checks before the first output of a batch: no two sources have the same output, and the disk has room."""

from __future__ import annotations

import errno
import os
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache

from ozx.errors import UsageError, resource_error
from ozx.places.place import Place

# The usual file systems of these systems do not distinguish a.ozx and A.ozx.
_FOLDS_NAMES = os.name == "nt" or sys.platform == "darwin"


def check_distinct(
    sources: Sequence[str], targets: Sequence[str], *, verb: str, folds_names: bool = _FOLDS_NAMES
) -> None:
    """Check that no two sources have the same output file; the hint of the error begins with `verb`.

    With `folds_names`, names that differ only in case, or in the Unicode form of their letters, are one name, unless
    existing files show that the file system distinguishes them.
    """
    seen: dict[str, str] = {}
    alike: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    real_folder = cache(os.path.realpath)
    for source, target in zip(sources, targets, strict=True):
        path = Place(target).resolved(real_folder)
        other = seen.get(path)
        if other == source:
            raise UsageError(f"{Place(source).name} is given twice", hint="Name each source once.")
        if other is not None:
            both = " and ".join(Place(each).name for each in (other, source))
            raise UsageError(f"{both} would both become {target}", hint=f"{verb} them into different folders.")
        seen[path] = source
        fellows = alike[unicodedata.normalize("NFC", path).casefold()]
        for other, other_target in fellows:
            # The names of objects are always told apart; a URL is no absolute path.
            if _is_one_file(other_target, target, default=folds_names and os.path.isabs(path)):
                both = " and ".join(Place(each).name for each in (other, source))
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


def check_room(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise an error if the outputs of a batch cannot fit on their file systems.

    Sources are measured only if the used space of their file systems exceeds the free space at the target: copies
    cannot be larger than this used space. ``statvfs`` gives the free space. On most file systems, it accounts for
    quotas of folders and projects, but not for quotas of users.

    A copy is taken to be as large as its source. Missing sources, and copies that exist already, need no room.
    """
    needed: dict[int, list[str]] = {}
    rooms: dict[int, tuple[int, str]] = {}
    for source, target in pairs:
        folder = os.path.dirname(target)
        found = None if os.path.exists(target) else _room(folder)
        if found is None:
            continue
        device, free = found
        rooms[device] = (free, folder)
        needed.setdefault(device, []).append(source)
    for device, group in needed.items():
        free, folder = rooms[device]
        if _used_where(group) > free and (size := sum(map(_size, group))) > free:
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder or ".")
            message = f"no room for {len(group):,} files: about {size:,} bytes are needed, {free:,} are free"
            hint = "Free some space. Or move the finished files to another disk, and name their new folder as output."
            raise resource_error(error, message=message, hint=hint)


def _room(folder: str) -> tuple[int, int] | None:
    """Return the device number and the free bytes of a folder's file system; None if either is unknown."""
    try:
        status = os.statvfs(folder or ".")
        return os.stat(folder or ".").st_dev, status.f_bavail * status.f_frsize
    except (AttributeError, OSError):
        return None


def _used_where(sources: Iterable[str]) -> int:
    """Return the total number of used bytes on the file systems that contain the sources."""
    used: dict[int, int] = {}
    for source in sources:
        try:
            device = os.stat(source).st_dev
            if device not in used:
                status = os.statvfs(source)
                used[device] = (status.f_blocks - status.f_bfree) * status.f_frsize
        except (AttributeError, OSError):
            continue
    return sum(used.values())


def _size(path: str) -> int:
    """Return the length in bytes of a file, or of all files in a directory; a missing file counts as 0."""
    try:
        if not os.path.isdir(path):
            return os.stat(path).st_size
        with os.scandir(path) as entries:
            return sum(
                _size(entry.path) if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:
        return 0
