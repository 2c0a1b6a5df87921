"""File locks that show whether the process writing a file is alive."""

from __future__ import annotations

import contextlib
import errno
import os

try:
    import fcntl as fcntl  # noqa: PLC0414 (for `ozx.atomic.syncing`)
except ImportError:  # Windows: an open file cannot be deleted there, so that no lock is needed
    fcntl = None  # type: ignore[assignment]

# Some network file systems turn flock(2) into fcntl(2), whose F_SETLK "sets errno to EACCES or EAGAIN" for a held lock.
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def has_locks() -> bool:
    """Return whether this system supports locks that show whether a file's writer is alive (not Windows)."""
    return fcntl is not None


def lock_file(descriptor: int, *, is_shared: bool = False) -> bool | None:
    """Lock a file; return False if another process holds the lock, None if there are no locks here.

    Windows has no such locks, and some network file systems refuse them.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:  # any other error says nothing about another writer
        return False if error.errno in _HELD else None
    return True


def is_free(descriptor: int) -> bool:
    """Return whether the writer of a file no longer holds the file's lock; False if the system cannot tell.

    This check itself holds the lock for a moment: use it only for a file that its writer has already locked.
    """
    if not lock_file(descriptor, is_shared=True):
        return False
    unlock_file(descriptor)
    return True


def unlock_file(descriptor: int) -> None:
    """Release the lock of a file, even if a forked child process has inherited the file's descriptor."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def still_has_name(descriptor: int, path: str) -> bool:
    """Return whether `path` still is the name of the open file itself, and not of a link to it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
