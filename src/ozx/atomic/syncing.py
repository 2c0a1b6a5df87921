"""Syncing of files, folders and trees to the disk, and copying of permissions to a replacement."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import Any

from ozx.atomic.locks import fcntl, has_locks
from ozx.atomic.targets import NO_ROOM
from ozx.errors import raise_error


def flush(descriptor: int) -> None:
    """Sync an open file or folder to the disk.

    On macOS, `os.fsync` leaves the data in the memory of the drive; F_FULLFSYNC empties it, where it is possible.
    """
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:  # network file systems refuse it
            if error.errno in (errno.EIO, *NO_ROOM):
                raise
        else:
            return
    os.fsync(descriptor)


def check_written(descriptor: int) -> None:
    """Raise write errors that some file systems, such as network file systems, report only when a file is closed.

    The file stays open and locked. Linux reports these errors when a second descriptor is closed; elsewhere, a sync
    must show them. Windows needs neither, because the file is closed before it gets its final name.
    """
    if sys.platform == "linux":
        os.close(os.dup(descriptor))
    elif has_locks():
        os.fsync(descriptor)


def close_written(descriptor: int) -> None:
    """Close a file after a sync or `check_written`; ignore errors, because all errors are already reported."""
    try:
        os.close(descriptor)
    except OSError:
        if not has_locks():
            raise


def sync_file(path: str) -> None:
    """Sync an existing file and its name to the disk."""
    # Windows syncs writable files only.
    descriptor = os.open(path, os.O_RDONLY if has_locks() else os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(os.path.dirname(os.path.abspath(path)))


def sync_folder(folder: str, *, sync: Callable[[int], None] = flush) -> None:
    """Sync the names in `folder` to the disk."""
    if not has_locks():  # Windows cannot sync folders, and does not need to
        return
    with contextlib.suppress(OSError):  # some file systems refuse it, and some folders cannot be listed
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(path: str) -> None:
    """Sync a new directory tree to the disk: the whole file system by one call if possible, else each file."""
    if sys.platform == "linux":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) == 0:
                return
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        finally:
            os.close(descriptor)
    file = None
    for folder, _, names in os.walk(path, onerror=raise_error):
        for file in (os.path.join(folder, name) for name in names):
            descriptor = os.open(file, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(folder, sync=os.fsync)
    if file is not None:
        sync_file(file)  # empties the memory of the drive once, for all files


# Copying of permissions from a file or folder to its replacement.
#
# The replacement gets the mode, the owner and the group if the system allows it, and on Linux the access control lists.
# If the system refuses the owner, the group or a list, the replacement gets no mode bits that would then give rights to
# another user or group. Other extended attributes describe the old content, or come from the folder: they are not
# copied.

#: Modes during writing, because the final permissions may be narrower than the default.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
# Errors if the file system does not support a permission, or the user may not set it; EINVAL: an owner unknown to this
# user namespace.
_NOT_POSSIBLE = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODATA)


def can_set_permissions() -> bool:
    """Return whether this system has file owners and modes (not Windows)."""
    return hasattr(os, "fchown")


def keep_permissions(descriptor: int, path: str, old: os.stat_result) -> None:
    """Copy the permissions of the file or folder at `path` to its replacement, which is open as `descriptor`.

    `old` is the result of `os.stat` for the file or folder. If `path` no longer exists, its access control list is not
    copied.
    """
    if not can_set_permissions():
        return
    new = os.fstat(descriptor)
    mode = stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid and not _is_allowed(os.fchown, descriptor, old.st_uid, -1):
        mode &= 0o777  # setuid would give the rights of another user
    if new.st_gid != old.st_gid and not _is_allowed(os.fchown, descriptor, -1, old.st_gid):
        mode = _without_group(mode)
    if not _copy_lists(descriptor, path, is_folder=stat.S_ISDIR(old.st_mode)):
        mode = _without_group(mode)
    _is_allowed(os.fchmod, descriptor, mode)


def _without_group(mode: int) -> int:
    """Return `mode` without special bits, and with the rights of other users as the rights of the group."""
    return mode & 0o707 | (mode & 0o007) << 3


def _is_allowed(call: Callable[..., None], *arguments: Any) -> bool:
    """Make a system call about permissions; return False if the file system or the system refuses it."""
    try:
        call(*arguments)
    except OSError as error:
        if error.errno not in _NOT_POSSIBLE:
            raise
        return False
    return True


def _copy_lists(descriptor: int, path: str, *, is_folder: bool) -> bool:
    """Give an open file or folder the access control lists of `path`; return False if copying fails.

    In this case, the group bits of the old mode are the mask of the list, and may include rights that the group lacks.
    """
    if not hasattr(os, "getxattr"):  # only Linux has these calls
        return True
    is_kept = True
    for name in _LISTS if is_folder else _LISTS[:1]:
        try:
            value = os.getxattr(path, name)
        except OSError as error:
            if error.errno not in (*_NOT_POSSIBLE, errno.ENOENT):
                raise
            _is_allowed(os.removexattr, descriptor, name)
            continue
        is_kept = _is_allowed(os.setxattr, descriptor, name, value) and is_kept
    return is_kept
