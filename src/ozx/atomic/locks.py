"""Locks that show whether a file's writer is alive: advisory ones, released when a process ends."""

from __future__ import annotations

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be deleted there, so that no lock is needed
    fcntl = None  # type: ignore[assignment]

__all__ = ["has_locks", "is_locked", "lock_file", "lock_leftover", "still_has_name", "unlock_file"]


def has_locks() -> bool:
    """Tell whether this system has locks that show whether a file's writer is alive (Windows has none)."""
    return fcntl is not None


def lock_file(descriptor: int) -> bool:
    """Take the lock that shows a live writer; False if another writer has it, True on systems without locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: other processes cannot take one either
        return True
    return True


def lock_leftover(descriptor: int) -> bool:
    """Take the lock of a possible leftover; return False if its writer is alive or may be alive."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # alive, or on a file system without locks
        return False
    return True


def is_locked(descriptor: int) -> bool:
    """Tell whether another process has the lock, as far as this computer can see; False without locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def unlock_file(descriptor: int) -> None:
    """Release the lock, also if a forked child has inherited the descriptor."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def still_has_name(descriptor: int, path: str) -> bool:
    """Tell whether `path` still names the open file itself; a link to it does not count."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
