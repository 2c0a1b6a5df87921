"""Messages about a full disk: the bytes that were needed, and those that are free."""

from __future__ import annotations

import contextlib
import errno
import os

from ozx.errors import ResourceError, resource_error

__all__ = ["NO_ROOM", "full_disk_error"]

#: Errors of writing alone: no space on the device, a file that is too large for its system, a quota.
NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def full_disk_error(error: OSError, path: str, temporary: str, needed: int | None = None) -> ResourceError:
    """Return the error for something that does not fit on its disk.

    Parameters
    ----------
    error
        What the system raised, one of `NO_ROOM`.
    path
        The final name of what is written.
    temporary
        The name it has now: what it takes counts as free, as it will be removed.
    needed
        About how many bytes it will have; None where that is not known yet.
    """
    written = _size(temporary)
    wanted = f"about {needed:,} bytes are needed" if needed is not None else f"more than {written:,} bytes are needed"
    said = error.strerror or os.strerror(error.errno or errno.ENOSPC)
    hint = "Free some space, or write to another disk."
    if error.errno == errno.EFBIG:
        told = f"{said}: {wanted}, about {written:,} are allowed in one file"
        hint = "Write to another file system, or raise the limit of this shell (ulimit -f)."
    elif error.errno == errno.ENOSPC and (free := _free_bytes(path)) is not None:
        told = f"{said}: {wanted}, {free + written:,} are free"
    else:
        told = f"{said}: {wanted}"
    if error.filename is None:
        error.filename = path
    return resource_error(error, message=told, hint=hint)


def _size(path: str) -> int:
    """Return how much room a file takes, or the files below a folder; 0 where that cannot be told."""
    with contextlib.suppress(OSError):
        if not os.path.isdir(path):
            status = os.stat(path)
            return min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
        return sum(_size(os.path.join(top, name)) for top, _, names in os.walk(path) for name in names)
    return 0


def _free_bytes(path: str) -> int | None:
    """Return how much is free for files in the folder of `path`, None where the system does not say."""
    with contextlib.suppress(AttributeError, OSError):
        status = os.statvfs(os.path.dirname(os.path.abspath(path)))
        return status.f_bavail * status.f_frsize
    return None
