"""Calls of the system that fail once: counted first, then each in turn."""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.sharedctypes import RawArray, RawValue

from ozx.atomic import new_directory, renaming

#: What is done to a file or a folder, and the error that a disk which gives way, or is full, answers.
CALLS = {
    "open": errno.EIO,
    "read": errno.EIO,
    "readv": errno.EIO,
    "pread": errno.EIO,
    "preadv": errno.EIO,
    "lseek": errno.EIO,
    "write": errno.ENOSPC,
    "pwrite": errno.ENOSPC,
    "pwritev": errno.ENOSPC,
    "copy_file_range": errno.EIO,
    "ftruncate": errno.EIO,
    "stat": errno.EIO,
    "lstat": errno.EIO,
    "fstat": errno.EIO,
    "chmod": errno.EIO,
    "fchmod": errno.EIO,
    "fchown": errno.EIO,
    "scandir": errno.EIO,
    "listdir": errno.EIO,
    "mkdir": errno.EDQUOT,
    "rmdir": errno.EIO,
    "link": errno.EIO,
    "unlink": errno.EIO,
    "rename": errno.EIO,
    "replace": errno.EIO,
}
#: All of these, those that Python's files make, and those that wait for the disk or need no Python.
KINDS = {
    *(*CALLS, "close", "builtins.open", "FileIO.readinto", "FileIO.readall", "FileIO.read", "FileIO.write"),
    *("FileIO.close", "renameat2", "fsync", "syncfs"),
}
#: Those that bring data, and those that take data or names.
READING = {"read", "readv", "pread", "preadv", "copy_file_range", "FileIO.readinto", "FileIO.readall", "FileIO.read"}
WRITING = {"write", "pwrite", "pwritev", "copy_file_range", "FileIO.write"}

#: Functions of `os.path` that take a failure for "no": whoever asks them hears of none, and they are let be.
_QUESTIONS = {"exists", "lexists", "isfile", "isdir", "islink", "_joinrealpath", "realpath"}


class InjectedError(OSError):
    """The error that was put in; an `OSError` like any other to the code that meets it."""


class SharedLock:
    """A lock among threads and forked processes; who is killed lets go of it, other than of `multiprocessing`'s."""

    def __init__(self) -> None:
        self._descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        weakref.finalize(self, _close, self._descriptor)
        self._process, self._threads = os.getpid(), threading.Lock()

    def __enter__(self) -> None:
        if self._process != os.getpid():  # a fork takes the lock along as another thread had it
            self._process, self._threads = os.getpid(), threading.Lock()
        self._threads.acquire()
        os.lockf(self._descriptor, os.F_LOCK, 0)  # of the process, which is why threads have one more

    def __exit__(self, *_: object) -> None:
        os.lockf(self._descriptor, os.F_ULOCK, 0)
        self._threads.release()


class Faults:
    """Fails the call number `deadly` (from 0) of all, in threads and forked processes alike; None fails none.

    Attributes
    ----------
    count
        How many calls there were.
    fired
        Name of the call that failed, or None.
    lock
        Who counts holds it.
    place
        The function of ozx that it was made for, ``atomic.new_file.replacing_file``; empty in a thread of zarr's.
    """

    def __init__(self, deadly: int | None = None, act: Callable[[], None] | None = None) -> None:
        self._deadly, self._act = -1 if deadly is None else deadly, act
        self.lock = SharedLock()
        self._counter = RawValue("q", 0)
        self._fired, self._place = RawArray("c", 32), RawArray("c", 256)

    @property
    def count(self) -> int:
        return self._counter.value

    @property
    def fired(self) -> str | None:
        return self._fired.value.decode() or None

    @property
    def place(self) -> str:
        return self._place.value.decode()

    def check(self, name: str, code: int) -> None:
        """Count a call, and fail where it is the one."""
        with self.lock:
            number = self._counter.value
            self._counter.value += 1
        if number != self._deadly:
            return
        self._fired.value, self._place.value = name.encode(), _place().encode()
        if self._act is not None:
            self._act()
            return
        raise InjectedError(code, os.strerror(code))


def _is_question() -> bool:
    asking = sys._getframe(2)
    return asking.f_globals["__name__"] in ("genericpath", "posixpath") and asking.f_code.co_name in _QUESTIONS


def _place() -> str:
    frame = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("ozx."):
            return f"{module.removeprefix('ozx.')}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""


def _is_written(descriptor: int) -> bool:
    """Tell whether closing may say that data was lost: network file systems report so what they could not write."""
    import fcntl  # noqa: PLC0415 (not on Windows, where nothing is injected)

    if not stat.S_ISREG(_fstat(descriptor).st_mode):
        return False
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR))


_fstat, _close, _open = os.fstat, os.close, builtins.open


class _RawFile(io.FileIO):
    """What lies below every file that Python's `open` gives, and counts; `faults` are those of a subclass."""

    faults: Faults

    def write(self, data):
        self.faults.check("FileIO.write", errno.ENOSPC)
        return super().write(data)

    def readinto(self, buffer):
        self.faults.check("FileIO.readinto", errno.EIO)
        return super().readinto(buffer)

    def readall(self):
        self.faults.check("FileIO.readall", errno.EIO)
        return super().readall()

    def read(self, size=-1):
        self.faults.check("FileIO.read", errno.EIO)
        return super().read(size)

    def close(self):
        is_written = not self.closed and self.closefd and _is_written(self.fileno())
        super().close()
        if is_written:
            self.faults.check("FileIO.close", errno.EIO)


def _counting_open(faults: Faults) -> Callable:
    class RawFile(_RawFile):
        pass

    RawFile.faults = faults

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):  # noqa: FBT002
        if isinstance(file, int) and not stat.S_ISREG(_fstat(file).st_mode):
            return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)  # a pipe
        faults.check("builtins.open", errno.EIO)
        raw = RawFile(file, mode.translate({ord("b"): None, ord("t"): None}), closefd, opener)
        if buffering == 0:
            return raw
        one_way = io.BufferedReader if raw.readable() else io.BufferedWriter
        kind = io.BufferedRandom if raw.readable() and raw.writable() else one_way
        buffered = kind(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

    return opened


def _counting_close(faults: Faults) -> Callable:
    def close(descriptor):
        is_written = _is_written(descriptor)
        _close(descriptor)  # it is closed, whatever the answer (close(2), "Dealing with error returns from close()")
        if is_written:
            faults.check("close", errno.EIO)

    return close


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Have every call counted that changes or reads the disk, and the one fail."""

    def counted(name: str, function: Callable, code: int) -> Callable:
        def call(*arguments, **keywords):
            if not _is_question():
                faults.check(name, code)
            return function(*arguments, **keywords)

        return call

    opened = _counting_open(faults)
    replaced = [(os, name, counted(name, getattr(os, name), code)) for name, code in CALLS.items() if hasattr(os, name)]
    replaced += [(os, "close", _counting_close(faults)), (builtins, "open", opened), (io, "open", opened)]
    replaced.append((renaming, "renameat2", counted("renameat2", renaming.renameat2, errno.EIO)))
    # Nobody pulls the plug: what is synced here is asked for, and not waited for.
    replaced.append((os, "fsync", counted("fsync", lambda descriptor: None, errno.EIO)))
    replaced.append((new_directory, "sync_tree", counted("syncfs", lambda path: None, errno.EIO)))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    for owner, name, function in replaced:
        setattr(owner, name, function)
    try:
        yield faults
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
