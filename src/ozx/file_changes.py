"""Marks of files, on this computer or at a URL: a file that has another mark than before has changed."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from ozx.errors import FormatError

#: The size of a file in bytes, and the time of its last modification in nanoseconds; a plain tuple, as there may be a
#: million of them.
FileMark = tuple[int, int]

#: The hint for a file that stays open, such as that of a store.
OPEN_AGAIN = "Open it again to read the current file."
_HINT = "Wait until the program that writes the file has finished, then try again."


class Mark(NamedTuple):
    """The mark of a file at a URL."""

    size: int  # length of the whole file
    identity: str  # its ETag, else the time of its last modification, else nothing


def mark_of(status: os.stat_result) -> FileMark:
    """Return the mark of a file."""
    return status.st_size, status.st_mtime_ns


def regular_mark(status: os.stat_result, path: str) -> FileMark:
    """Return the mark of a file; raise `FormatError` (``zip/special-file``) if it is not a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise FormatError("expected a regular file; found another kind of file", path=path, rule="zip/special-file")
    return mark_of(status)


def identity_of(status: os.stat_result) -> tuple[int, int, int]:
    """Return the mark of a file, and what differs if another file has taken its name."""
    # Without the device: each computer gives a file server another number, and sources go to workers elsewhere.
    return *mark_of(status), status.st_ino


def modified(path: str) -> int:
    """Return the time of the last modification of a file in nanoseconds."""
    return mark_of(os.stat(path))[1]


def changed(path: str, hint: str = _HINT, sizes: str = "") -> FormatError:
    """Return the error for a file that changed while ozx read it; `sizes` is a text on its old and its new length."""
    return FormatError(f"the file changed while it was read{sizes}", path=path, rule="zip/changed", hint=hint)


def shrank(path: str) -> FormatError:
    """Return the error for a file that became shorter while ozx read it."""
    return FormatError("the file shrank while it was read", path=path, rule="zip/changed")


def other_length(wanted: int, found: int) -> FormatError:
    """Return the error for a value with more or fewer bytes than before."""
    return FormatError(f"expected a value of {wanted:,} bytes, got {found:,}", rule="zip/changed", hint=_HINT)
