"""The last step of writing: what is finished gets its name, in one step wherever the system can.

Where it cannot exchange two directories, that takes two steps and a marker: a kill between them is repaired by
`finish_swap` when the same name is written to again.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable

from ozx.atomic.locks import has_locks
from ozx.atomic.targets import already_there, check_regular, check_target
from ozx.atomic.temporary import hidden_name, name_beside
from ozx.errors import UsageError

__all__ = ["finish_swap", "rename_directory", "rename_file"]

# Flags of renameat2(2), as linux/fs.h has them.
_NOREPLACE, _EXCHANGE = 1, 2
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def rename_file(temporary: str, path: str, *, force: bool, check_old: Callable[[str], None] | None = None) -> None:
    """Give a finished file its name, in one step. A link is replaced itself; what it leads to stays.

    Parameters
    ----------
    temporary
        The name it has now.
    path
        The name it gets.
    force
        Whether an existing file may be replaced.
    check_old
        Takes the path at which the replaced file then lies, and raises when it may not be replaced. Linux exchanges
        the names first, so that nothing comes between this check and the replacement; the names are changed back
        after an error.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or it is no regular file.
    """
    if force:
        _replace(temporary, path, check_old or _accept)
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


def _accept(path: str) -> None:
    """Have any file replaced."""


def _replace(temporary: str, path: str, check_old: Callable[[str], None]) -> None:
    """Take the place of a file in one step, without the flush that ext4 does when one is renamed over another.

    Whoever wants the new file on the disk first has synced it; for the others, that flush is most of the time.
    """
    with contextlib.suppress(FileNotFoundError):
        new = os.stat(temporary)
        if os.path.lexists(path) and _renameat2(temporary, path, _EXCHANGE):
            try:
                check_regular(temporary, path)  # it may have come after the last look at it
                check_old(temporary)
            except BaseException:
                _exchange_back(temporary, path, new)
                raise
            _let_go(temporary)
            return
    check_regular(path)
    check_old(path)
    os.replace(temporary, path)


def _exchange_back(temporary: str, path: str, new: os.stat_result) -> None:
    """Give a file that may not be replaced its name back, unless another program has replaced ours meanwhile."""
    _renameat2(temporary, path, _EXCHANGE)
    if not os.path.samestat(os.lstat(temporary), new):
        _renameat2(temporary, path, _EXCHANGE)


def rename_directory(temporary: str, path: str, *, force: bool) -> None:
    """Give a finished directory its name; one that it replaces has the name `temporary` afterwards.

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
    old = name_beside(path, ".old")
    if os.path.lexists(old):
        raise UsageError(f"{old} is in the way: {path} has to take that name for a moment", hint=f"Move {old} away.")
    marker = _marker(path)
    try:
        _write_marker(marker, path)
        os.rename(path, old)
        os.rename(temporary, path)
        os.rename(old, temporary)
    finally:
        # After an error and an interrupt, too, which may come when a step is done. What fails now the next call does.
        with contextlib.suppress(OSError):
            finish_swap(path)


def finish_swap(path: str) -> list[str]:
    """Finish an exchange: the old directory comes back where there is no new one, and else keeps the name that it has.

    Returns the name the old one had meanwhile; nothing where there was no such exchange.
    """
    marker, old = _marker(path), name_beside(path, ".old")
    if not os.path.lexists(marker):
        return []
    finished = []
    if not os.path.lexists(path) and os.path.isdir(old):
        os.rename(old, path)
        finished = [old]
    elif _is_marked(marker, old):
        if os.path.islink(old):
            os.unlink(old)
        finished = [old]
    os.unlink(marker)
    return finished


def _write_marker(marker: str, path: str) -> None:
    """Note which directory is about to give up its name: another one of that name is not ours."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)  # O_EXCL follows no link
    inode = os.lstat(path).st_ino
    descriptor = os.open(marker, flags, 0o666)
    try:
        os.write(descriptor, f"ozx was replacing the directory {inode}; its next run finishes the job\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_marked(marker: str, path: str) -> bool:
    """Tell whether a marker is about the directory that is at `path` now."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        inode = os.lstat(path).st_ino
        descriptor = os.open(marker, flags)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link is no marker
            return False
        raise
    try:
        return f" {inode};" in os.read(descriptor, 200).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
