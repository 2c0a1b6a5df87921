"""Check the free disk space for a batch of files before the first output is written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from ozx.errors import resource_error

__all__ = ["check_room"]


def check_room(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise an error if the outputs of a batch cannot fit on their file systems.

    Sources are measured only if the used space of their file systems exceeds the free space at the target: copies
    cannot be larger than this used space. ``statvfs`` gives the free space. On most file systems, it accounts for
    quotas of folders and projects, but not for quotas of users.

    Parameters
    ----------
    pairs
        Files and directories, each with the path of its copy. A copy is taken to be as large as its source. Missing
        sources need no room, and copies that exist already need no more room.

    Raises
    ------
    ResourceError
        A file system has less room than its copies need; with the `errno` of a full disk.
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
