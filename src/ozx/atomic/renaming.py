"""The last step of writing: a finished file or directory gets its name, in one step if the system can.

Without a system call that exchanges two directories, this takes two steps and a marker: after a kill in between, the
next write to the same name repairs it.
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

__all__ = [
    "CHECKSUM_ENDING",
    "MANIFEST_ENDING",
    "SIDE_ENDINGS",
    "finish_swap",
    "rename_directory",
    "rename_file",
    "renameat2",
]

#: Endings of the files that describe the one beside them.
CHECKSUM_ENDING, MANIFEST_ENDING = SIDE_ENDINGS = (".sha256", ".manifest.json")

# Flags of renameat2(2), from linux/fs.h.
_NOREPLACE, _EXCHANGE = 1, 2
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def rename_file(temporary: str, path: str, *, force: bool, check_old: Callable[[str], None] | None = None) -> list[str]:
    """Give a finished file its name, in one step. A link is replaced, its target stays.

    `check_old` is called with the present path of the replaced file, and raises if it may not be replaced. Linux
    exchanges the names first, so that no other change fits between check and replacement, and exchanges them back after
    an error. Checksum and manifest of a replaced file are removed, since they are those of the old one; their paths are
    returned.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or it is no regular file.
    """
    if force:
        _replace(temporary, path, check_old or _accept)
        return [side for ending in SIDE_ENDINGS if _discard(side := path + ending)]
    if not has_locks():
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
            _discard(temporary)
    return []


def _discard(path: str) -> bool:
    """Remove a name; return False for an error, which is ignored since the new file already has its final name."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _accept(path: str) -> None:
    """Accept any file."""


def _replace(temporary: str, path: str, check_old: Callable[[str], None]) -> None:
    """Replace a file in one step, without the flush that ext4 does for a rename over another file."""
    # After a sync the flush is superfluous; without one it would take most of the time.
    with contextlib.suppress(FileNotFoundError):
        new = os.stat(temporary)
        if os.path.lexists(path) and renameat2(temporary, path, _EXCHANGE):
            try:
                check_regular(temporary, path)  # it may be newer than the last check
                check_old(temporary)
            except BaseException:
                _exchange_back(temporary, path, new)
                raise
            _discard(temporary)
            return
    check_regular(path)
    check_old(path)
    os.replace(temporary, path)


def _exchange_back(temporary: str, path: str, new: os.stat_result) -> None:
    """Restore the name of a file that may not be replaced, unless another program has replaced the new file."""
    renameat2(temporary, path, _EXCHANGE)
    if not os.path.samestat(os.lstat(temporary), new):
        renameat2(temporary, path, _EXCHANGE)


def rename_directory(temporary: str, path: str, *, force: bool) -> None:
    """Give a finished directory its name; a replaced directory then has the name `temporary`.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or the intermediate name ``path.old`` exists.
    """
    if not os.path.lexists(path):
        if not renameat2(temporary, path, _NOREPLACE):
            os.rename(temporary, path)
    elif not force:
        raise already_there(path)
    elif not renameat2(temporary, path, _EXCHANGE):
        _swap(temporary, path)


def renameat2(old: str, new: str, flag: int) -> bool:
    """Rename by Linux's renameat2(2); False if the system or the file system has no such call.

    Raises
    ------
    UsageError
        `new` exists, and `flag` refuses that.
    OSError
        The system refuses for another reason.
    """
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
    """Exchange two directories by several renames, with a marker that lets the next call finish after a kill."""
    old = name_beside(path, ".old")
    if os.path.lexists(old):
        raise UsageError(f"{old} exists, but {path} needs that name for a moment", hint=f"Move {old} away.")
    marker = _marker(path)
    try:
        _write_marker(marker, path)
        os.rename(path, old)
        os.rename(temporary, path)
        os.rename(old, temporary)
    finally:
        # Also after an error or an interrupt, which may come after a step. The next call does what fails now.
        with contextlib.suppress(OSError):
            finish_swap(path)


def finish_swap(path: str) -> list[str]:
    """Finish an exchange: restore the old directory if there is no new one; return its intermediate name, if any."""
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
    """Record the inode of the directory to be renamed, to distinguish it from others of the same name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)  # O_EXCL follows no link
    inode = os.lstat(path).st_ino
    descriptor = os.open(marker, flags, 0o666)
    try:
        os.write(descriptor, f"ozx was replacing the directory {inode}; its next run finishes the job\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_marked(marker: str, path: str) -> bool:
    """Tell whether a marker belongs to the directory that is now at `path`."""
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
