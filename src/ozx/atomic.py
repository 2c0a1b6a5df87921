"""The one write protocol: a file or directory appears under its final name whole, or not at all.

Everything is written to a temporary ``.NAME.PID.ozx-tmp`` beside the target, which is locked while its process
lives; then it is synced, renamed, and the folder synced. Interrupts, kills and full disks leave the old target. What
a killed process left is swept by the next one that writes into the same folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.errors import ResourceError, UsageError

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be deleted there, which is all a lock is needed for
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "NewDirectory",
    "NewFile",
    "check_target",
    "has_locks",
    "lock_file",
    "naming_errors",
    "remove_tree",
    "rename_file",
    "replacing_directory",
    "replacing_file",
    "still_has_name",
    "sync_folder",
    "unlock_file",
]

_LEFTOVER = re.compile(r"\..+\.\d+(-\d+)?\.ozx-tmp")
_LONGEST_STEM = 200
_NOREPLACE, _EXCHANGE = 1, 2
# Only writing fails so; what else has no name may be about the file that is read.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)

_swept: set[str] = set()


@dataclass(slots=True)
class NewFile:
    """A file in the making.

    Attributes
    ----------
    descriptor
        Open for reading and writing; closed by `replacing_file`.
    path
        Its temporary name.
    swept
        Leftovers of dead processes that were removed on the way.
    """

    descriptor: int
    path: str
    swept: list[str] = field(default_factory=list)


@dataclass(slots=True)
class NewDirectory:
    """A directory in the making: its temporary path, and what was finished or removed on the way."""

    path: str
    swept: list[str] = field(default_factory=list)


@contextmanager
def replacing_file(path: str, *, force: bool = False, sync: bool = True) -> Iterator[NewFile]:
    """Give a new file that takes the name `path` when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    path
        The final name.
    force
        Whether an existing file may be replaced.
    sync
        Whether to wait until file and folder are on the disk.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or it is a directory.
    """
    check_target(path, force=force)
    swept = _sweep(os.path.dirname(os.path.abspath(path)))
    descriptor, temporary = _create_file(path)
    try:
        with naming_errors(path, temporary):
            yield NewFile(descriptor, temporary, swept)
            if sync:
                os.fsync(descriptor)
            if fcntl is None:
                os.close(descriptor)  # Windows renames closed files only
                descriptor = -1
            check_target(path, force=force)
            rename_file(temporary, path, force=force)
    except BaseException:
        with contextlib.suppress(OSError):  # what cannot be removed is swept by the next run
            if fcntl is None and descriptor >= 0:
                os.close(descriptor)
                descriptor = -1
            os.unlink(temporary)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    if sync:
        sync_folder(os.path.dirname(os.path.abspath(path)))


@contextmanager
def replacing_directory(path: str, *, force: bool = False, sync: bool = True) -> Iterator[NewDirectory]:
    """Give a new, empty directory that takes the name `path` when the block ends well; see `replacing_file`.

    An existing directory is exchanged in one step where the system can (Linux). Elsewhere it becomes ``path.old``
    first; when a kill falls between, the next call puts it back or removes it, and says so in `swept`.
    """
    folder = os.path.dirname(os.path.abspath(path))
    swept = _finish_swap(path) + _sweep(folder)
    if os.path.lexists(path) and not force:
        raise _exists(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise UsageError(f"expected a directory to replace at {path}; found a file", hint="Choose another name.")
    temporary, lock = _create_directory(path)
    try:
        with naming_errors(path, temporary):
            yield NewDirectory(temporary, swept)
            if sync:
                _sync_tree(temporary)
            _rename_directory(temporary, path, force=force)
    finally:
        # After an exchange the old tree has the temporary name. What cannot be removed is swept by the next run.
        with contextlib.suppress(OSError):
            shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if sync:
        sync_folder(folder)


def remove_tree(path: str) -> None:
    """Remove a directory: its name goes in one step, so that a kill leaves a leftover and no half directory."""
    temporary = next(name for name in _temporary_names(path) if not os.path.lexists(name))
    try:
        os.rename(path, temporary)
    except OSError:  # a mount point, or a folder that may not be written to: what can be removed is removed
        temporary = path
    shutil.rmtree(temporary)


def check_target(path: str, *, force: bool) -> None:
    """Raise `UsageError` when a file may not be written at `path`."""
    if os.path.isdir(path):
        raise UsageError(f"expected a file name to write to; {path} is a directory", hint="Choose another name.")
    if os.path.lexists(path) and not force:
        raise _exists(path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ResourceError(f"the folder {folder} does not exist", hint="Make it first, or choose another name.")


def _exists(path: str) -> UsageError:
    return UsageError(f"{path} exists already", hint="Give --force (force=True) to replace it, or another name.")


@contextmanager
def naming_errors(path: str, temporary: str) -> Iterator[None]:
    """Have the system's errors name what is written by its final name: not by the temporary one, and not by none."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if isinstance(name, str) and name.startswith(temporary):
            error.filename = path + name[len(temporary) :]
        elif name is None and error.errno in _NO_ROOM:
            error.filename = path
        raise


def _temporary_names(path: str) -> Iterator[str]:
    folder, name = os.path.split(os.path.abspath(path))
    stem = name[:_LONGEST_STEM]
    yield os.path.join(folder, f".{stem}.{os.getpid()}.ozx-tmp")
    for number in range(1, 10_000):  # several threads of one process may write to one name
        yield os.path.join(folder, f".{stem}.{os.getpid()}-{number}.ozx-tmp")


def _create_file(path: str) -> tuple[int, str]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    for temporary in _temporary_names(path):
        with contextlib.suppress(FileExistsError), naming_errors(path, temporary):
            descriptor = os.open(temporary, flags, 0o666)
            if _is_locked(descriptor, temporary):
                return descriptor, temporary
    raise ResourceError(f"no temporary name is free beside {path}")


def _create_directory(path: str) -> tuple[str, int | None]:
    for temporary in _temporary_names(path):
        with contextlib.suppress(FileExistsError), naming_errors(path, temporary):
            os.mkdir(temporary)
            if fcntl is None:
                return temporary, None
            try:
                lock = os.open(temporary, os.O_RDONLY)
            except OSError:
                os.rmdir(temporary)
                raise
            if _is_locked(lock, temporary):
                return temporary, lock
    raise ResourceError(f"no temporary name is free beside {path}")


def _is_locked(descriptor: int, temporary: str) -> bool:
    """Lock what was just made; False, and closed, where somebody swept it between its making and its lock."""
    try:
        if lock_file(descriptor) and still_has_name(descriptor, temporary):
            return True
    except BaseException:  # an interrupt, too
        os.close(descriptor)
        _remove(temporary)
        raise
    os.close(descriptor)
    return False


def _remove(path: str) -> None:
    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def has_locks() -> bool:
    """Tell whether this system has the locks that say whether a file's writer is alive (Windows has not)."""
    return fcntl is not None


def lock_file(descriptor: int) -> bool:
    """Take the lock that says "alive"; True also where locks do not exist, False where another writer has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody else can take one either
        return True
    return True


def unlock_file(descriptor: int) -> None:
    """Give the lock back, also where a forked child has inherited the descriptor."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def still_has_name(descriptor: int, path: str) -> bool:
    """Tell whether `path` is still the name of the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _sweep(folder: str) -> list[str]:
    """Remove what dead processes left in `folder`; looks once per process, as folders can be large."""
    if folder in _swept:
        return []
    _swept.add(folder)
    try:
        with os.scandir(folder) as entries:
            leftovers = [entry.path for entry in entries if _LEFTOVER.fullmatch(entry.name)]
    except OSError:  # a folder that may be written to but not listed
        return []
    return [path for path in leftovers if _remove_if_dead(path)]


def _remove_if_dead(path: str) -> bool:
    is_directory = os.path.isdir(path)
    if fcntl is None:
        # Files defend themselves while they are open; a directory does not, so it has to be old.
        if is_directory and time.time() - os.path.getmtime(path) < 24 * 3600:
            return False
        with contextlib.suppress(OSError):
            _remove(path)
        return not os.path.lexists(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except OSError:  # alive, or on a file system without locks, where nobody can tell
        return False
    finally:
        os.close(descriptor)
    return True


def rename_file(temporary: str, path: str, *, force: bool) -> None:
    """Give a finished file its name, in one step; `UsageError` where that exists and `force` is not given."""
    if force:
        _replace(temporary, path)
    elif fcntl is None:
        os.rename(temporary, path)  # refuses an existing target on Windows
    else:
        try:
            os.link(temporary, path)  # refuses an existing target in the same step
        except FileExistsError:
            raise _exists(path) from None
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


def _rename_directory(temporary: str, path: str, *, force: bool) -> None:
    if not os.path.lexists(path):
        if not _renameat2(temporary, path, _NOREPLACE):
            os.rename(temporary, path)
    elif not force:
        raise _exists(path)
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
        raise _exists(new)
    if code in _NOT_POSSIBLE_HERE:
        return False
    raise OSError(code, os.strerror(code), new)


def _marker(path: str) -> str:
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{name[:_LONGEST_STEM]}.ozx-swap")


def _swap(temporary: str, path: str) -> None:
    """Exchange two directories in two steps, with a marker that lets the next call finish them."""
    old = path + ".old"
    if os.path.lexists(old):
        raise UsageError(f"{old} is in the way: {path} has to take that name for a moment", hint=f"Move {old} away.")
    marker = _marker(path)
    with open(marker, "w", encoding="utf-8") as file:
        file.write("ozx was replacing a directory; its next run finishes the job\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(path, old)
    os.rename(temporary, path)
    shutil.rmtree(old)
    os.unlink(marker)


def _finish_swap(path: str) -> list[str]:
    """Finish an exchange that a kill interrupted: the old directory comes back, or goes where the new one is."""
    marker, old = _marker(path), path + ".old"
    if not os.path.exists(marker):
        return []
    if os.path.isdir(old):
        if os.path.lexists(path):
            shutil.rmtree(old)
        else:
            os.rename(old, path)
    os.unlink(marker)
    return [old]


def _sync_tree(path: str) -> None:
    """Wait until a new tree is on the disk: one call for its file system where there is one, else file by file."""
    if sys.platform == "linux":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) == 0:
                return
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        finally:
            os.close(descriptor)
    for folder, _, names in os.walk(path):
        for file in (os.path.join(folder, name) for name in names):
            descriptor = os.open(file, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Wait until the names in `folder` are on the disk."""
    if fcntl is None:  # Windows cannot sync folders, and needs not
        return
    with contextlib.suppress(OSError):  # some file systems refuse it, and some folders may not be listed
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
