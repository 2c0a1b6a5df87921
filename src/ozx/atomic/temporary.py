"""Temporary files and directories beside their target: made, locked, and removed where their process is dead."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from itertools import chain, count

from ozx.atomic.locks import has_locks, lock_file, lock_leftover, still_has_name
from ozx.atomic.targets import naming_errors
from ozx.errors import ResourceError

__all__ = ["create_directory", "create_file", "free_name", "hidden_name", "name_beside", "show_replaced", "sweep"]

_LEFTOVER = re.compile(r"\..+\.\d+(-\d+)?\.ozx-tmp", re.DOTALL)
# What a directory that is being replaced is called until it is compared with what it was: never removed by its name.
_REPLACED = re.compile(r"\.(.+)\.\d+(?:-\d+)?\.ozx-old", re.DOTALL)
# Of a name, in bytes: with what is put around it, it stays below the 143 that encrypted file systems allow.
_LONGEST_STEM = 100
# What file systems allow where they do not say it, and what stays free of it for a number: NAME.partial.12.
_LONGEST_NAME, _SPARE = 255, 8
# Without locks, a directory that nobody has touched for so many seconds is taken for left.
_OLD = 24 * 3600

_swept: set[str] = set()


def hidden_name(path: str, ending: str) -> str:
    """Return a name beside `path` that file managers hide.

    Examples
    --------
    >>> hidden_name("/data/cells.ozx", "ozx-swap")
    '/data/.cells.ozx.ozx-swap'
    """
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{_shortened(name, _LONGEST_STEM)}.{ending}")


def name_beside(path: str, ending: str) -> str:
    """Return `path` with something at its end; where that is too long for a file system, its name is shortened.

    Examples
    --------
    >>> name_beside("cells.ozx", ".partial")
    'cells.ozx.partial'
    """
    folder, name = os.path.split(path)
    needed = len(ending) + _SPARE
    if _length(name) + needed <= _LONGEST_STEM:  # of most; the system is not asked
        return path + ending
    return os.path.join(folder, _shortened(name, _longest_name(folder) - needed) + ending)


def _longest_name(folder: str) -> int:
    try:
        return os.pathconf(folder or ".", "PC_NAME_MAX")
    except (AttributeError, ValueError, OSError):  # Windows; no such folder, which is told later
        return _LONGEST_NAME


def _length(name: str) -> int:
    """Return the length of a name as file systems count it: in bytes, on Windows in units of UTF-16."""
    return len(name.encode("utf-16-le", "surrogatepass")) // 2 if os.name == "nt" else len(os.fsencode(name))


def _shortened(name: str, longest: int) -> str:
    """Return a name that is not longer than that, and no other one's: the rest of it becomes a hash."""
    if _length(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    # Whole characters only: some file systems refuse anything but UTF-8.
    stem = name.encode("utf-8", "surrogateescape")[: max(longest - 9, 1)].decode("utf-8", "ignore")
    return f"{stem}~{digest}"


def _names(path: str) -> Iterator[str]:
    yield hidden_name(path, f"{os.getpid()}.ozx-tmp")
    for number in range(1, 10_000):  # several threads of one process may write to one name
        yield hidden_name(path, f"{os.getpid()}-{number}.ozx-tmp")


def free_name(path: str) -> str:
    """Return a temporary name for what is at `path` that nothing has."""
    return next(name for name in _names(path) if not os.path.lexists(name))


def create_file(path: str, mode: int = 0o666) -> tuple[int, str]:
    """Make the temporary file of `path`; returns it open for reading and writing and locked, and its name.

    Raises
    ------
    ResourceError
        Ten thousand names are taken.
    OSError
        The folder cannot be written to; the error names `path`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    for temporary in _names(path):
        with contextlib.suppress(FileExistsError), naming_errors(path, temporary):
            descriptor = os.open(temporary, flags, mode)
            if _is_locked(descriptor, temporary):
                return descriptor, temporary
    raise ResourceError(f"no temporary name is free beside {path}")


def create_directory(path: str, mode: int = 0o777) -> tuple[str, int | None]:
    """Make the temporary directory of `path`; returns its name and the descriptor of its lock, None on Windows.

    Raises
    ------
    ResourceError, OSError
        As `create_file`.
    """
    for temporary in _names(path):
        with contextlib.suppress(FileExistsError), naming_errors(path, temporary):
            os.mkdir(temporary, mode)
            if not has_locks():
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
    # A link is what an exchange with a folder's link leaves: the folder is not ours.
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def sweep(folder: str) -> list[str]:
    """Remove what dead processes left in `folder`; looks once per process, as folders can be large.

    A directory that was being replaced gets a name that everybody sees: it may hold what came last.

    Returns the paths that are gone, and those names.
    """
    if folder in _swept:
        return []
    _swept.add(folder)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".")]
    except OSError:  # a folder that may be written to but not listed
        return []
    remove = _remove_if_dead if has_locks() else _remove_if_not_open
    leftovers = [os.path.join(folder, name) for name in names if _LEFTOVER.fullmatch(name)]
    shown = [_show_if_dead(folder, match) for name in names if (match := _REPLACED.fullmatch(name))]
    return [*(path for path in leftovers if remove(path)), *filter(None, shown)]


def show_replaced(hidden: str, path: str) -> str:
    """Rename a directory that was replaced at `path` so that everybody sees it; return its name.

    Raises
    ------
    OSError
        It cannot be renamed.
    """
    name = name_beside(path, ".old")
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    shown = next(name for name in names if not os.path.lexists(name))
    os.rename(hidden, shown)
    return shown


def _show_if_dead(folder: str, match: re.Match[str]) -> str | None:
    hidden = os.path.join(folder, match[0])
    try:
        descriptor = os.open(hidden, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        return show_replaced(hidden, os.path.join(folder, match[1])) if lock_leftover(descriptor) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _remove_if_dead(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):  # it has no lock, and the program that left it is done with it
            os.unlink(path)
            return True
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # not ours: a device does something when it is opened
            return False
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        if not lock_leftover(descriptor):
            return False
        _remove(path)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _remove_if_not_open(path: str) -> bool:
    """Remove on Windows: files defend themselves while they are open; a directory does not, so it has to be old."""
    if os.path.isdir(path) and time.time() - os.path.getmtime(path) < _OLD:
        return False
    with contextlib.suppress(OSError):
        _remove(path)
    return not os.path.lexists(path)
