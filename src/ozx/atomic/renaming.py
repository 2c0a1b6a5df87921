"""The last step of writing: what is finished gets its name, in one step wherever the system can.

Where it cannot exchange two directories, that takes two steps and a marker: a kill between them is mended by
`finish_swap` when the same name is written to again.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import sys

from ozx.atomic.locks import has_locks
from ozx.atomic.targets import already_there, check_target
from ozx.atomic.temporary import hidden_name
from ozx.errors import UsageError

__all__ = ["finish_swap", "rename_directory", "rename_file"]

# Flags of renameat2(2), as linux/fs.h has them.
_NOREPLACE, _EXCHANGE = 1, 2
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def rename_file(temporary: str, path: str, *, force: bool) -> None:
    """Give a finished file its name, in one step.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given.
    """
    if force:
        _replace(temporary, path)
    elif not has_locks():
        os.rename(temporary, path)  # refuses an existing target on Windows
    else:
        try:
            os.link(temporary, path)  # refuses an existing target in the same step
        except FileExistsError:
            raise already_there(path) from None
        except OSError:  # no hard links here
            check_target(path, force=False)
            os.rename(temporary, path)
        else:
            _let_go(temporary)


def _let_go(temporary: str) -> None:
    """Remove a name that is needed no more. The new file has its own already: nothing that fails now may hide that."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def _replace(temporary: str, path: str) -> None:
    """Take the place of a file in one step, without the flush that ext4 does when one is renamed over another.

    Whoever wants the new file on the disk first has synced it; for the others, that flush is most of the time.
    """
    with contextlib.suppress(FileNotFoundError):
        if os.path.lexists(path) and _renameat2(temporary, path, _EXCHANGE):
            _let_go(temporary)
            return
    os.replace(temporary, path)


def rename_directory(temporary: str, path: str, *, force: bool) -> None:
    """Give a finished directory its name; one that it replaces has the name `temporary` afterwards, or is removed.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or ``path.old``, which is needed for a moment, does.
    """
    if not os.path.lexists(path):
        if not _renameat2(temporary, path, _NOREPLACE):
            os.rename(temporary, path)
    elif not force:
        raise already_there(path)
    elif not _renameat2(temporary, path, _EXCHANGE):
        _swap(temporary, path)


def _renameat2(old: str, new: str, flag: int) -> bool:
    """Rename by Linux's renameat2(2); False where the system or the file system has no such call."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        return False
    here = -100  # AT_FDCWD
    if call(here, os.fsencode(old), here, os.fsencode(new), ctypes.c_uint(flag)) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.EEXIST:
        raise already_there(new)
    if code in _NOT_POSSIBLE_HERE:
        return False
    raise OSError(code, os.strerror(code), new)


def _marker(path: str) -> str:
    return hidden_name(path, "ozx-swap")


def _swap(temporary: str, path: str) -> None:
    """Exchange two directories in two steps, with a marker that lets the next call finish them after a kill."""
    old = path + ".old"
    if os.path.lexists(old):
        raise UsageError(f"{old} is in the way: {path} has to take that name for a moment", hint=f"Move {old} away.")
    marker = _marker(path)
    try:
        with open(marker, "w", encoding="utf-8") as file:
            file.write("ozx was replacing a directory; its next run finishes the job\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(path, old)
        os.rename(temporary, path)
    finally:
        # After an error and an interrupt, too, which may come when a step is done. What fails now the next call does.
        with contextlib.suppress(OSError):
            finish_swap(path)


def finish_swap(path: str) -> list[str]:
    """Finish an exchange: the old directory comes back, or goes where the new one is.

    Returns the name the old one had meanwhile; nothing where there was no such exchange, or the old one cannot go.
    """
    marker, old = _marker(path), path + ".old"
    if not os.path.exists(marker):
        return []
    if os.path.isdir(old):
        if not os.path.lexists(path):
            os.rename(old, path)
        else:
            shutil.rmtree(old, ignore_errors=True)
            if os.path.lexists(old):  # in the way of the next exchange, which says so
                return []
    os.unlink(marker)
    return [old]
