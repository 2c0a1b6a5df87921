"""The last step of writing: renaming the finished file or directory, atomically if the system supports it.

Without a system call that exchanges two directories, ozx first writes a marker, then renames the directories one after
the other: after a kill in between, the next write to the same name finishes or undoes the exchange.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable

from ozx.atomic.host import this_host
from ozx.atomic.locks import has_locks, still_has_name
from ozx.atomic.syncing import flush
from ozx.atomic.targets import check_regular, check_target, exists_error
from ozx.atomic.temporary import hidden_name, name_beside
from ozx.atomic.windows import rename
from ozx.errors import UsageError

#: Endings of side files, which describe the file beside them: its checksum and its manifest.
CHECKSUM_ENDING, MANIFEST_ENDING = SIDE_ENDINGS = (".sha256", ".manifest.json")

# Flags of renameat2(2), from linux/fs.h, and those of macOS's renamex_np(2), from sys/stdio.h.
_NOREPLACE, _EXCHANGE = 1, 2
_OF_MACOS = {_NOREPLACE: 4, _EXCHANGE: 2}
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def rename_file(temporary: str, path: str, *, force: bool, check_old: Callable[[str], None] | None = None) -> list[str]:
    """Rename a finished file to its final name, atomically; replace a link with this name, not the link's target.

    `check_old` is called with the present path of the replaced file, and raises an error if this file must not be
    replaced. On Linux, the names are exchanged before this check, so that no other change can come between check and
    replacement; after an error they are exchanged back. The checksum and the manifest of a replaced file are removed,
    because they describe the old file; their paths are returned.
    """
    if force:
        _replace(temporary, path, check_old or _accept)
        return [side for ending in SIDE_ENDINGS if _discard(side := path + ending)]
    try:
        # Both refuse an existing target in the same step; Windows does so when it renames.
        (os.link if has_locks() else rename)(temporary, path)
    except FileExistsError:
        raise exists_error(path) from None
    except OSError:
        if not has_locks():
            raise
        check_target(path, force=False)  # no hard links here
        if not renameat2(temporary, path, _NOREPLACE):
            _rename_over_own(temporary, path)
    else:
        if has_locks():
            _discard(temporary)
    return []


def _rename_over_own(temporary: str, path: str) -> None:
    """Rename a file to a free name: create an empty file, which keeps the name from other programs, and replace it."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise exists_error(path) from None
    try:
        os.replace(temporary, path)
    except BaseException:
        if still_has_name(descriptor, path):
            _discard(path)
        raise
    finally:
        os.close(descriptor)


def _discard(path: str) -> bool:
    """Remove a file name that is no longer needed; return False if this fails."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _accept(path: str) -> None:
    """Accept any file for replacement."""


def _replace(temporary: str, path: str, check_old: Callable[[str], None]) -> None:
    """Replace a file atomically, without the flush that ext4 does for a rename over another file."""
    # After a sync, the flush is superfluous; without a sync, the flush would take most of the time.
    with contextlib.suppress(FileNotFoundError):
        new = os.stat(temporary)
        if os.path.lexists(path) and renameat2(temporary, path, _EXCHANGE):
            try:
                check_regular(temporary, path)  # another program may have replaced it after the last check
                check_old(temporary)
            except BaseException:
                _exchange_back(temporary, path, new)
                raise
            _discard(temporary)
            return
    check_regular(path)
    check_old(path)
    try:
        rename(temporary, path, os.replace)
    except PermissionError:
        if os.name != "nt" or not os.access(path, os.W_OK):
            raise
        _replace_read(temporary, path)


def _replace_read(temporary: str, path: str) -> None:
    """Replace a file that only ozx reads: Windows then allows to rename it, but not to replace it."""
    # After a kill between the two steps, the next run gives the old file a visible name.
    aside = hidden_name(path, f"{os.getpid()}-{time.time_ns()}.{this_host()}.ozx-old")
    os.rename(path, aside)
    try:
        os.rename(temporary, path)
    except BaseException:
        os.rename(aside, path)
        raise
    _discard(aside)  # it is gone when its last reader closes it


def _exchange_back(temporary: str, path: str, new: os.stat_result) -> None:
    """Restore a file that must not be replaced, unless another program has replaced the new file."""
    renameat2(temporary, path, _EXCHANGE)
    if not os.path.samestat(os.lstat(temporary), new):
        renameat2(temporary, path, _EXCHANGE)


def rename_directory(temporary: str, path: str, *, force: bool) -> None:
    """Rename a finished directory to its final name; a replaced directory gets the name `temporary`."""
    if not os.path.lexists(path):
        if not renameat2(temporary, path, _NOREPLACE):
            rename(temporary, path)
    elif not force:
        raise exists_error(path)
    elif not renameat2(temporary, path, _EXCHANGE):
        _swap(temporary, path)


def renameat2(old: str, new: str, flag: int) -> bool:
    """Rename with renameat2(2), on macOS renamex_np(2); return False where it is not supported."""
    if sys.platform not in ("linux", "darwin"):
        return False
    library, here = ctypes.CDLL(None, use_errno=True), -100  # AT_FDCWD
    names: tuple[bytes, ...] = os.fsencode(old), os.fsencode(new)
    if sys.platform == "darwin":
        call, arguments = getattr(library, "renamex_np", None), (*names, ctypes.c_uint(_OF_MACOS[flag]))
    else:
        call, arguments = getattr(library, "renameat2", None), (here, names[0], here, names[1], ctypes.c_uint(flag))
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.EEXIST:
        raise exists_error(new)
    if code in _NOT_POSSIBLE_HERE:
        return False
    raise OSError(code, os.strerror(code), new)


def _marker(path: str) -> str:
    return hidden_name(path, "ozx-swap")


def _swap(temporary: str, path: str) -> None:
    """Exchange two directories by several renames; a marker lets the next call finish an interrupted exchange."""
    old = name_beside(path, ".old")
    if os.path.lexists(old):
        raise UsageError(
            f"{old} exists, but ozx needs this name temporarily to replace {path}",
            hint=f"Rename or remove {old}, then try again.",
        )
    marker = _marker(path)
    try:
        _write_marker(marker, path)
        rename(path, old)
        rename(temporary, path)
        rename(old, temporary)
    finally:
        # Also after an error or an interrupt, which may follow any step. If this fails, the next call repeats it.
        with contextlib.suppress(OSError):
            finish_swap(path)


def finish_swap(path: str) -> list[str]:
    """Finish an interrupted exchange of directories; return the intermediate name of the old directory, if any."""
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
    """Write a marker with the inode of the directory that will be renamed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # O_EXCL follows no link
    inode = os.lstat(path).st_ino
    descriptor = os.open(marker, flags, 0o666)
    try:
        os.write(descriptor, f"ozx was replacing the directory {inode}; run ozx again to finish\n".encode())
        flush(descriptor)
    finally:
        os.close(descriptor)


def _is_marked(marker: str, path: str) -> bool:
    """Return whether a marker belongs to the directory that now exists at `path`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
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
