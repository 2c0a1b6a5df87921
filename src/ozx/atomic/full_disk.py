"""Error messages about a full disk, with the numbers of needed and free bytes."""

from __future__ import annotations

import contextlib
import errno
import os

from ozx.errors import ResourceError, resource_error

#: Numbers of errors that only writing causes: no space on the device, a too large file, an exceeded quota.
NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def full_disk_error(error: OSError, path: str, temporary: str, needed: int | None = None) -> ResourceError:
    """Return the error for a file or directory that does not fit on its disk.

    `needed` is its approximate final size in bytes. The bytes of `temporary` count as free, because the
    caller removes it.
    """
    written = _size(temporary)
    need = f"about {needed:,} bytes are needed" if needed is not None else f"more than {written:,} bytes are needed"
    reason = error.strerror or os.strerror(error.errno or errno.ENOSPC)
    hint = "Free some space, or write to another disk."
    message = f"{reason}: {need}"
    if error.errno == errno.EFBIG:
        message += f", about {written:,} are allowed in one file"
        hint = "Write to another file system, or raise the limit of this shell (ulimit -f)."
    elif error.errno == errno.ENOSPC and (free := _free_bytes(path)) is not None:
        message += f", {free + written:,} are free"
    if error.filename is None:
        error.filename = path
    return resource_error(error, message=message, hint=hint)


def _size(path: str) -> int:
    """Return the disk space in bytes of a file or of all files in a folder; 0 if it is unknown."""
    with contextlib.suppress(OSError):
        if not os.path.isdir(path):
            status = os.stat(path)
            return min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
        return sum(_size(os.path.join(top, name)) for top, _, names in os.walk(path) for name in names)
    return 0


def _free_bytes(path: str) -> int | None:
    """Return the free disk space in bytes for the folder of `path`; None if it is unknown."""
    with contextlib.suppress(AttributeError, OSError):
        status = os.statvfs(os.path.dirname(os.path.abspath(path)))
        return status.f_bavail * status.f_frsize
    return None
