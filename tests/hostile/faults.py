"""System calls that fail once: a test first counts the calls, then lets each of them fail."""

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
from ozx.atomic.syncing import flush

#: Calls about files and folders, each with the error of a broken or full disk.
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
#: These calls, the calls of Python's file objects, and calls that sync or bypass `os`.
KINDS = {
    *(*CALLS, "close", "builtins.open", "FileIO.readinto", "FileIO.readall", "FileIO.read", "FileIO.write"),
    *("FileIO.close", "renameat2", "fsync", "syncfs"),
}
#: Calls that read data, and calls that write data.
READING = {"read", "readv", "pread", "preadv", "copy_file_range", "FileIO.readinto", "FileIO.readall", "FileIO.read"}
WRITING = {"write", "pwrite", "pwritev", "copy_file_range", "FileIO.write"}

#: Functions of `os.path` that treat an error as "no": their callers see no error, so their calls do not count.
_QUESTIONS = {"exists", "lexists", "isfile", "isdir", "islink", "_joinrealpath", "realpath"}


class InjectedError(OSError):
    """The injected error; ozx sees an ordinary `OSError`."""


class SharedLock:
    """A lock for threads and forked processes; unlike with `multiprocessing`, a killed process releases it."""

    def __init__(self) -> None:
        self._descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        weakref.finalize(self, _close, self._descriptor)
        self._process, self._threads = os.getpid(), threading.Lock()

    def __enter__(self) -> None:
        if self._process != os.getpid():  # a fork copies the lock in its current state
            self._process, self._threads = os.getpid(), threading.Lock()
        self._threads.acquire()
        os.lockf(self._descriptor, os.F_LOCK, 0)  # this lock is for processes; threads need the other

    def __exit__(self, *_: object) -> None:
        os.lockf(self._descriptor, os.F_ULOCK, 0)
        self._threads.release()


class Faults:
    """Counts calls in threads and forked processes, and lets the call number `deadly` (from 0) fail; None: no call."""

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
        """The function of ozx that made this call, as ``atomic.new_file.replacing_file``; empty in threads of zarr."""
        return self._place.value.decode()

    def check(self, name: str, code: int) -> None:
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
        if module.startswith("ozx.") and frame.f_code is not flush.__code__:  # whose caller is the place
            return f"{module.removeprefix('ozx.')}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""


def _is_written(descriptor: int) -> bool:
    """Return whether `close` may report lost data: network file systems report failed writes in this way."""
    import fcntl  # noqa: PLC0415 (not on Windows, where nothing is injected)

    if not stat.S_ISREG(_fstat(descriptor).st_mode):
        return False
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR))


_fstat, _close, _open = os.fstat, os.close, builtins.open


class _RawFile(io.FileIO):
    """The raw file of every file object of Python's `open`, which counts calls; subclasses set `faults`."""

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
        _close(descriptor)  # closed even after an error (close(2), "Dealing with error returns from close()")
        if is_written:
            faults.check("close", errno.EIO)

    return close


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Count every call that changes or reads the disk, and let one call fail."""

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
    # There is no power failure: calls that sync are counted, but do not sync.
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
