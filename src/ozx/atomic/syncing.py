"""Syncing of files, folders and whole trees to the disk, and detection of delayed write errors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable

from ozx.atomic.full_disk import NO_ROOM
from ozx.atomic.locks import fcntl, has_locks
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
