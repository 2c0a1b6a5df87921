"""Temporary files and directories next to their target: creation, locks, and removal of leftovers.

Their names contain the process and the computer: ``.cells.ozx.4711.node7-1a2b3c4d.ozx-tmp``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import TypeVar

from ozx.atomic.host import CLOCKS, HOST, is_alive, is_of_this_host, this_host
from ozx.atomic.locks import has_locks, lock_file, still_has_name
from ozx.atomic.targets import naming_errors
from ozx.errors import ResourceError

_LEFTOVER = re.compile(rf"\..+\.(?P<process>\d+)(-\d+)?\.{HOST}\.ozx-tmp", re.DOTALL)
# Hidden name of a replaced directory until it is compared with its record: such a name is never swept.
_REPLACED = re.compile(rf"\.(.+)\.(?P<process>\d+)(?:-\d+)?\.{HOST}\.ozx-old", re.DOTALL)
# In bytes: with additions, names stay below the 143 that encrypted file systems allow.
_LONGEST_STEM = 90
# Default limit of names, and the reserve for a number: NAME.partial.12.
_LONGEST_NAME, _SPARE = 255, 8
# After this number of seconds without a change, files and directories of another computer count as leftovers. So do
# those of a dead process of this computer on a file system without locks: it may run, unseen, in another container.
_OLD = 24 * 3600
# A process needs less than this number of seconds to lock a file that it has created.
_NEW = 10

_Descriptor = TypeVar("_Descriptor", int, int | None)

_swept: set[str] = set()


def hidden_name(path: str, ending: str) -> str:
    """Return a name for a hidden file in the folder of `path`."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{_shortened(name, _LONGEST_STEM)}.{ending}")


def name_beside(path: str, ending: str) -> str:
    """Return `path` followed by `ending`; shorten the name if it would be too long for the file system."""
    folder, name = os.path.split(path)
    needed = len(ending) + _SPARE
    if _length(name) + needed <= _LONGEST_STEM:  # as for most names: no need to ask the system
        return path + ending
    return os.path.join(folder, _shortened(name, _longest_name(folder) - needed) + ending)


def is_partial(path: str) -> bool:
    """Return whether the name of a file shows that its writer never finished it."""
    return ".partial" in os.path.basename(path)


def _longest_name(folder: str) -> int:
    try:
        return os.pathconf(folder or ".", "PC_NAME_MAX")
    except (AttributeError, ValueError, OSError):  # Windows; or no such folder, which is reported later
        return _LONGEST_NAME


def _length(name: str) -> int:
    """Return the length of a name as file systems count it: in bytes, on Windows in UTF-16 units."""
    return len(name.encode("utf-16-le", "surrogatepass")) // 2 if os.name == "nt" else len(os.fsencode(name))


def _shortened(name: str, longest: int) -> str:
    """Return `name`; if it is longer than `longest`, replace its end by a hash, so that the name stays unique."""
    if _length(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    # Whole characters only: some file systems require UTF-8.
    stem = name.encode("utf-8", "surrogateescape")[: max(longest - 9, 1)].decode("utf-8", "ignore")
    return f"{stem}~{digest}"


def _names(path: str) -> Iterator[str]:
    yield hidden_name(path, f"{os.getpid()}.{this_host()}.ozx-tmp")
    for number in range(1, 10_000):  # several threads of one process may write to one name
        yield hidden_name(path, f"{os.getpid()}-{number}.{this_host()}.ozx-tmp")


def create_file(path: str, mode: int = 0o666) -> tuple[int, str]:
    """Create and lock a temporary file for `path`; return its descriptor (readable and writable) and its name."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    temporary, descriptor = _create(path, lambda name: os.open(name, flags, mode))
    return descriptor, temporary


def create_directory(path: str, mode: int = 0o777) -> tuple[str, int | None]:
    """Create a temporary directory for `path`; return its name and the descriptor of its lock (None on Windows)."""
    return _create(path, lambda name: _new_directory(name, mode))


def _create(path: str, make: Callable[[str], _Descriptor]) -> tuple[str, _Descriptor]:
    """Create what `make` creates under the first free temporary name for `path`, and lock it."""
    for temporary in _names(path):
        try:
            with naming_errors(path, temporary):
                descriptor = make(temporary)
        except FileExistsError:
            continue
        except (KeyboardInterrupt, SystemExit):  # SIGINT, SIGTERM
            _remove_unlocked(temporary)
            raise
        if descriptor is None or _lock_new(descriptor, temporary):
            return temporary, descriptor
    raise ResourceError(f"all temporary names next to {path} are in use")


def _new_directory(temporary: str, mode: int) -> int | None:
    """Create a directory; return the descriptor for its lock, or None on a system without locks."""
    os.mkdir(temporary, mode)
    if not has_locks():
        return None
    try:
        return os.open(temporary, os.O_RDONLY)
    except FileNotFoundError:
        raise FileExistsError from None  # another process took it for a leftover, and removed it: try the next name
    except OSError:
        os.rmdir(temporary)
        raise


def _remove_unlocked(temporary: str) -> None:
    """Remove a file or directory that may exist after an interrupt during its creation.

    If another thread has taken the name, that thread holds the lock, and nothing is removed.
    """
    if has_locks() and (found := leftover_at(temporary)):
        remove_leftover(found)


def _lock_new(descriptor: int, temporary: str) -> bool:
    """Lock a new file or directory; return False if another process has already removed it."""
    try:
        if lock_file(descriptor) is not False and still_has_name(descriptor, temporary):
            return True
    except BaseException:  # an interrupt, too
        os.close(descriptor)
        _remove(temporary)
        raise
    os.close(descriptor)
    return False


def _remove(path: str) -> None:
    # After an exchange with a link to a folder, `path` is the link: only the link is removed, not its target.
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def sweep(folder: str) -> list[str]:
    """Remove the leftovers of this computer's dead processes from `folder`, and return the paths of the leftovers.

    A directory that was being replaced may hold the latest changes, so it gets a visible name, which is also returned.
    Leftovers of other computers are not removed, because their locks may hold on those computers only. If such a
    leftover is a day old, its path is also returned.
    """
    if folder in _swept:
        return []
    _swept.add(folder)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".")]
    except OSError:  # the folder cannot be listed
        return []
    leftovers = [found for name in names if (found := leftover_at(os.path.join(folder, name)))]
    own = [found for found in leftovers if found.is_of_this_host and not found.may_be_new()]
    removed = [found.path for found in own if remove_leftover(found)]
    foreign = [found.path for found in leftovers if not found.is_of_this_host and found.age() > _OLD]
    replaced = [found for name in names if (found := leftover_at(os.path.join(folder, name), _REPLACED))]
    shown = [_show_if_dead(found) for found in replaced if found.is_of_this_host]
    return [*removed, *foreign, *filter(None, shown)]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary file or directory of a running or dead process."""

    path: str  # the path of the file or directory
    process: int  # the number of the process on that computer
    is_of_this_host: bool  # whether this computer wrote it, so that its lock shows whether the process is alive

    def age(self) -> float:
        """Return the number of seconds since the last change of the file, or of any file in the directory."""
        return time.time() - _last_change(self.path)

    def may_be_new(self) -> bool:
        """Return whether a living process of this computer may have just created it, and not locked it yet."""
        return has_locks() and is_alive(self.process) and self.age() < _NEW

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Yield whether its writer is dead: its lock is free, and held during the block.

        Where there are no locks, its process is asked, and nothing that changed a short time ago is a leftover.
        """
        if not has_locks():
            yield self._is_abandoned(CLOCKS)
            return
        descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        try:
            lock = lock_file(descriptor)
            if lock is None and lock_file(descriptor, is_shared=True) is not False:
                lock = self._is_abandoned(_OLD)
            yield bool(lock)
        finally:
            os.close(descriptor)

    def _is_abandoned(self, untouched: float) -> bool:
        since = os.lstat(self.path).st_mtime  # even of a folder: its writer started earlier, and no file is looked at
        is_running = is_alive(self.process, since=since)
        return not is_running and self.age() >= untouched


def leftover_at(path: str, pattern: re.Pattern[str] = _LEFTOVER) -> Leftover | None:
    """Return the temporary file or directory at `path`; None if `path` is missing or not temporary."""
    match = pattern.fullmatch(os.path.basename(path))
    if match is None:
        return None
    host, boot = match["host"], match["boot"]
    try:
        return Leftover(path, int(match["process"]), is_of_this_host(host, boot, path))
    except OSError:
        return None


def _last_change(path: str) -> float:
    """Return the modification time of a file, or the latest modification time in a directory."""
    try:
        latest = os.lstat(path).st_mtime
    except FileNotFoundError:  # its writer is done
        return time.time()
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                latest = max(latest, os.lstat(os.path.join(folder, name)).st_mtime)
    return latest


def remove_leftover(leftover: Leftover) -> bool:
    """Remove a leftover of this computer unless its process may be alive; return whether it no longer exists.

    On another computer, a free lock does not show that the process is dead.
    """
    try:
        mode = os.lstat(leftover.path).st_mode
        if stat.S_ISLNK(mode):  # a link has no lock, and its program no longer needs it
            os.unlink(leftover.path)
            return True
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device would have effects
            return False
        with leftover.locked() as is_dead:
            if is_dead:
                _remove(leftover.path)
            return is_dead
    except OSError:
        return False


def show_replaced(hidden: str, path: str) -> str:
    """Rename the hidden directory that was replaced at `path` to a visible name, and return the name."""
    name = name_beside(path, ".old")
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    shown = next(name for name in names if not os.path.lexists(name))
    os.rename(hidden, shown)
    return shown


def _show_if_dead(replaced: Leftover) -> str | None:
    folder, name = os.path.split(replaced.path)
    match = _REPLACED.fullmatch(name)
    try:
        with replaced.locked() as is_dead:
            return show_replaced(replaced.path, os.path.join(folder, match[1])) if match and is_dead else None
    except OSError:
        return None
