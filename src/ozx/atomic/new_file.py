"""A new file: it takes its name whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.atomic.locks import has_locks
from ozx.atomic.permissions import PRIVATE_FILE, can_set_permissions, keep_permissions
from ozx.atomic.renaming import rename_file
from ozx.atomic.syncing import check_written, close_written, sync_folder
from ozx.atomic.targets import check_target, naming_errors
from ozx.atomic.temporary import create_file, sweep

__all__ = ["NewFile", "replacing_file"]


@dataclass(slots=True)
class NewFile:
    """A file in the making.

    Attributes
    ----------
    descriptor
        Open for reading and writing; closed by `replacing_file`.
    path
        Its temporary name.
    swept
        Leftovers of dead processes that were removed on the way.
    needed
        Returns about how many bytes it will have; asked when the disk is full. None where that is not known.
    """

    descriptor: int
    path: str
    swept: list[str] = field(default_factory=list)
    needed: Callable[[], int] | None = None


@contextmanager
def replacing_file(
    path: str,
    *,
    force: bool = False,
    sync: bool = True,
    mode: int | None = None,
    check_old: Callable[[str], None] | None = None,
) -> Iterator[NewFile]:
    """Give a new file that takes the name `path` when the block ends well, and vanishes when it does not.

    A file that is replaced hands on its permissions; until then only its owner may read the new one.

    Parameters
    ----------
    path
        The final name.
    force
        Whether an existing file may be replaced.
    sync
        Whether to wait until file and folder are on the disk.
    mode
        The mode of the file; by default that of the file it replaces, or what the system gives new files.
    check_old
        Takes the path of the file that is replaced, at the last moment, and raises when it may not be replaced.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or it is no regular file.
    ResourceError
        The folder of `path` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "cells.txt")
    ...     with replacing_file(path) as new:
    ...         _ = os.write(new.descriptor, b"12 cells")
    ...         before = os.path.exists(path)
    ...     before, os.listdir(folder)
    (False, ['cells.txt'])
    """
    old = check_target(path, force=force)
    is_private = old is not None or mode is not None
    folder = os.path.dirname(os.path.abspath(path))
    swept = sweep(folder)
    descriptor, temporary = create_file(path, PRIVATE_FILE if is_private else 0o666)
    try:
        new = NewFile(descriptor, temporary, swept)
        with naming_errors(path, temporary, lambda: new.needed and new.needed()):
            yield new
            if old is not None:
                keep_permissions(descriptor, path, old)
            if mode is not None and can_set_permissions():
                os.fchmod(descriptor, mode)
            if sync:
                os.fsync(descriptor)
            else:
                check_written(descriptor)
            if not has_locks():
                os.close(descriptor)  # Windows renames closed files only
                descriptor = -1
            check_target(path, force=force)
            rename_file(temporary, path, force=force, check_old=check_old)
    except BaseException:
        with contextlib.suppress(OSError):  # what cannot be removed is swept by the next run
            if not has_locks() and descriptor >= 0:
                os.close(descriptor)
                descriptor = -1
            os.unlink(temporary)
        raise
    finally:
        if descriptor >= 0:
            close_written(descriptor)
    if sync:
        sync_folder(folder)
