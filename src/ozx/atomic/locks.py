"""File locks that show whether the process writing a file is alive."""

from __future__ import annotations

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be deleted there, so that no lock is needed
    fcntl = None  # type: ignore[assignment]

__all__ = ["has_locks", "is_free", "is_locked", "lock_file", "lock_leftover", "still_has_name", "unlock_file"]


def has_locks() -> bool:
    """Return whether this system supports locks that show whether a file's writer is alive (not Windows)."""
    return fcntl is not None


def lock_file(descriptor: int) -> bool | None:
    """Lock a file as its writer; return False if another process holds the lock, None if there are no locks here.

    Windows has no such locks, and some network file systems refuse them.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # any error but EWOULDBLOCK says nothing about another writer
        return None
    return True


def lock_leftover(descriptor: int) -> bool:
    """Lock a file that may be a leftover; return False if its writer is alive or may be alive."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # alive, or on a file system without locks
        return False
    return True


def is_locked(descriptor: int) -> bool:
    """Return whether another process on this computer holds the lock of a file; False on systems without locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_free(descriptor: int) -> bool:
    """Return whether the writer of a file no longer holds the file's lock; False if the system cannot tell.

    This check itself holds the lock for a moment: use it only for a file that its writer has already locked.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # a living writer, or a file system without locks
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
