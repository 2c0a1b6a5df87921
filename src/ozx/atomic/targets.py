"""Final names: which may be written to, and errors of the system that say them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ozx.errors import ResourceError, UsageError

__all__ = ["already_there", "check_target", "naming_errors"]

# Only writing fails so; what else has no name may be about the file that is read.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def check_target(path: str, *, force: bool) -> None:
    """Refuse a name at which no file may be written; `force` allows that of a file that exists.

    Raises
    ------
    UsageError
        `path` is a directory, or exists and `force` is not given.
    ResourceError
        Its folder does not exist.
    """
    if os.path.isdir(path):
        raise UsageError(f"expected a file name to write to; {path} is a directory", hint="Choose another name.")
    if os.path.lexists(path) and not force:
        raise already_there(path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ResourceError(f"the folder {folder} does not exist", hint="Make it first, or choose another name.")


def already_there(path: str) -> UsageError:
    """Return the error that refuses to replace what is at `path`."""
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
