"""Checks of the output path before writing, and system errors that contain this path instead of a temporary name.

A new file may replace a regular file. A new folder may replace an empty folder or a Zarr hierarchy; with
`replace_folder`, a new folder may replace any folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ozx.atomic.windows import check_not_held
from ozx.errors import OzxError, ResourceError, UsageError, name_error, resource_error

# Error messages about a full disk, with the numbers of needed and free bytes.

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


#: The hint for an existing output; the way that keeps the old file comes first.
EXISTS_HINT = "Choose another name, or give force=True to replace it."
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
_REPLACES_ANY = "Choose another name. replace_folder=True replaces a directory and all its contents."
# A folder with one of these is a Zarr hierarchy: of version 3, or a group, an array or attributes of version 2.
_ZARR_METADATA = ("zarr.json", ".zgroup", ".zarray", ".zattrs")
# Number of names in a message about a folder's contents.
_NAMED = 3


def absolute_path(path: str) -> str:
    """Return the absolute path of an output: the program may change its directory before the output is complete.

    Unlike `os.path.abspath`, this function keeps ``..``: after a link to a folder, it means the parent of that folder.
    Windows resolves ``..`` before links.
    """
    joined = os.path.join(os.getcwd(), path)
    return os.path.normpath(joined) if os.name == "nt" else joined


def check_target(path: str, *, force: bool) -> os.stat_result | None:
    """Raise an error if a file must not be written at this path; return the status of a file that will be replaced.

    For a link, the target of the link is checked; `ozx.atomic.renaming.rename_file` replaces the link itself.
    """
    status = check_regular(path)
    if not force and (status is not None or os.path.islink(path)):
        raise exists_error(path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ResourceError(
            "the folder does not exist", path=folder, hint="Create the folder first, or choose another name."
        )
    check_not_held(path)
    return status


def check_regular(path: str, name: str | None = None) -> os.stat_result | None:
    """Return the status of the regular file at `path` (links are followed), or None; error messages use `name`."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refused_name(path, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(
            "expected a file name for the output; it is a directory", path=name or path, hint="Choose another name."
        )
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(
            f"expected a regular file or a new file name for the output; it is {_kind(status)}",
            path=name or path,
            hint="Choose another name.",
        )
    return status


def check_folder(path: str, *, force: bool, replace_folder: bool = False) -> os.stat_result | None:
    """Raise an error if a folder must not be written at this path; return the status of one that will be replaced.

    `force` allows replacing a folder that is empty or has Zarr metadata at its root; `replace_folder` allows replacing
    any folder.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.islink(path):
            return None
        raise UsageError("expected a directory to replace; found a broken link", path=path) from None
    except OSError as error:
        raise _refused_name(path, error) from None
    if not (force or replace_folder):
        if stat.S_ISDIR(status.st_mode) and not _is_replaceable(path):
            raise UsageError("the directory exists already, and is not a Zarr hierarchy", path=path, hint=_REPLACES_ANY)
        raise exists_error(path)
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(
            f"expected a directory to replace; found {_kind(status)}", path=path, hint="Choose another name."
        )
    if not (replace_folder or _is_replaceable(path)):
        names = sorted(os.listdir(path))
        found = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
        raise UsageError(
            f"expected an empty directory or a Zarr hierarchy to replace; found {found}", path=path, hint=_REPLACES_ANY
        )
    check_removable(path)
    return status


def check_removable(*folders: str) -> None:
    """Raise an error if one of `folders` is not writable."""
    for folder in folders:
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise ResourceError(
                f"{folder} is not writable, so its old contents cannot be removed",
                hint="Make it writable (chmod -R u+w), or choose another name.",
            )


def _is_replaceable(path: str) -> bool:
    """Return whether a folder is empty or a Zarr hierarchy."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _ZARR_METADATA) or not os.listdir(path)


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a file")


def _refused_name(path: str, error: OSError) -> OSError | UsageError:
    """Return the error for a file name that the system does not accept."""
    if error.errno == errno.ENAMETOOLONG:
        length = len(os.fsencode(os.path.basename(path)))
        return UsageError(
            f"the output name is too long: its last component has {length:,} bytes, which the system refuses",
            path=path,
            hint="Most file systems allow names of up to 255 bytes. Choose a shorter name for the output.",
        )
    if error.errno == errno.ELOOP:
        return UsageError("expected a file name for the output; it is a link that leads to itself", path=path)
    return error


def exists_error(path: str) -> UsageError:
    """Return the error for an output `path` that already exists."""
    kind = "directory" if os.path.isdir(path) else "file"
    return UsageError(f"the {kind} exists already", path=path, hint=EXISTS_HINT)


@contextmanager
def naming_errors(path: str, temporary: str, needed: Callable[[], int | None] = lambda: None) -> Iterator[None]:
    """Replace the temporary name by the final name in system errors of the ``with`` block; explain a full disk."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if isinstance(name, str) and name.startswith(temporary):
            error.filename = path + name[len(temporary) :]
        if error.errno in NO_ROOM and not isinstance(error, ResourceError):
            size = None
            with contextlib.suppress(OzxError, OSError):
                size = needed()
            raise full_disk_error(error, path, temporary, size) from error
        name_error(error, path)  # errors of reading already have the name of the file that is read
        raise


@contextmanager
def naming_given(place: str, given: str) -> Iterator[None]:
    """Replace the absolute path `place` in errors of the ``with`` block by `given`, the path as the caller gave it."""
    try:
        yield
    except OSError as error:
        error.filename = _renamed(error.filename, place, given)
        if isinstance(error, OzxError):
            error.path = _renamed(error.path, place, given)
        raise
    except OzxError as error:
        error.path = _renamed(error.path, place, given)
        raise


def _renamed(name: Any, place: str, given: str) -> Any:
    return (
        given + name[len(place) :] if isinstance(name, str) and f"{name}{os.sep}".startswith(place + os.sep) else name
    )
