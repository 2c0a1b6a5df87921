"""Calls of the system that fail once: counted first, then each in turn."""

from __future__ import annotations

import builtins
import errno
import io
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ozx.atomic import new_directory, renaming

#: What is done to a file or a folder, and the error that a disk which gives way, or is full, answers.
CALLS = {
    "open": errno.EIO,
    "read": errno.EIO,
    "readv": errno.EIO,
    "pread": errno.EIO,
    "preadv": errno.EIO,
    "write": errno.ENOSPC,
    "pwrite": errno.ENOSPC,
    "pwritev": errno.ENOSPC,
    "copy_file_range": errno.EIO,
    "ftruncate": errno.EIO,
    "fstat": errno.EIO,
    "fchmod": errno.EIO,
    "scandir": errno.EIO,
    "mkdir": errno.EDQUOT,
    "rmdir": errno.EIO,
    "link": errno.EIO,
    "unlink": errno.EIO,
    "rename": errno.EIO,
    "replace": errno.EIO,
}


class InjectedError(OSError):
    """The error that was put in; an `OSError` like any other to the code that meets it."""


class Faults:
    """Fails the call number `deadly` (from 0) of all, in threads and forked processes alike; None fails none.

    Attributes
    ----------
    count
        How many calls there were.
    fired
        Name of the call that failed, or None.
    """

    def __init__(self, deadly: int | None = None, act: Callable[[], None] | None = None) -> None:
        self._deadly, self._act = -1 if deadly is None else deadly, act
        fork = multiprocessing.get_context("fork")
        self._counter = fork.Value("q", 0)
        self._fired = fork.Array("c", 32)

    @property
    def count(self) -> int:
        return self._counter.value

    @property
    def fired(self) -> str | None:
        return self._fired.value.decode() or None

    def check(self, name: str, code: int) -> None:
        """Count a call, and fail where it is the one."""
        with self._counter.get_lock():
            number = self._counter.value
            self._counter.value += 1
        if number != self._deadly:
            return
        self._fired.value = name.encode()
        if self._act is not None:
            self._act()
            return
        raise InjectedError(code, os.strerror(code))


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Have every call counted that changes or reads the disk, and the one fail."""

    def counted(name: str, function: Callable, code: int) -> Callable:
        def call(*arguments, **keywords):
            faults.check(name, code)
            return function(*arguments, **keywords)

        return call

    class RawFile(io.FileIO):
        def write(self, data):
            faults.check("FileIO.write", errno.ENOSPC)
            return super().write(data)

        def readinto(self, buffer):
            faults.check("FileIO.readinto", errno.EIO)
            return super().readinto(buffer)

    plain_open = builtins.open

    def opened(file, mode="r", buffering=-1, **keywords):
        faults.check("builtins.open", errno.EIO)
        if buffering == 0 and not isinstance(file, int):
            return RawFile(file, mode.replace("b", ""))
        return plain_open(file, mode, buffering, **keywords)

    replaced = [(os, name, counted(name, getattr(os, name), code)) for name, code in CALLS.items() if hasattr(os, name)]
    replaced.append((renaming, "_renameat2", counted("renameat2", renaming._renameat2, errno.EIO)))
    # Nobody pulls the plug: what is synced here is asked for, and not waited for.
    replaced.append((os, "fsync", counted("fsync", lambda descriptor: None, errno.EIO)))
    replaced.append((new_directory, "sync_tree", counted("syncfs", lambda path: None, errno.EIO)))
    replaced.append((builtins, "open", opened))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    for owner, name, function in replaced:
        setattr(owner, name, function)
    try:
        yield faults
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
