"""Creation of a new file that appears under its final name only when it is complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.atomic.locks import has_locks
from ozx.atomic.renaming import rename_file
from ozx.atomic.syncing import (
    PRIVATE_FILE,
    can_set_permissions,
    check_written,
    close_written,
    flush,
    keep_permissions,
    sync_folder,
)
from ozx.atomic.targets import absolute_path, check_target, naming_errors, naming_given
from ozx.atomic.temporary import create_file, sweep


@dataclass(slots=True)
class NewFile:
    """A file or directory that is being written under a temporary name."""

    path: str  # its temporary name
    swept: list[str] = field(default_factory=list)  # leftovers of dead processes, and side files of the replaced file
    descriptor: int = -1  # of a file, open for reading and writing; closed by `replacing_file`
    # returns its approximate final size in bytes, for messages about a full disk; None if that is unknown
    needed: Callable[[], int] | None = None


@contextmanager
def replacing_file(
    path: str,
    *,
    force: bool = False,
    sync: bool = True,
    mode: int | None = None,
    check_old: Callable[[str], None] | None = None,
    sync_name: bool = True,
) -> Iterator[NewFile]:
    """Yield a new temporary file; rename it to `path` if the ``with`` block succeeds, else remove it.

    The new file gets `mode`, or the permissions of the replaced file; until then only its owner may read it. `force`
    allows replacing a file. With `sync`, wait until file and folder are on the disk. `check_old` is called with the
    path of the old file just before the replacement, and raises an error if the old file must not be replaced. Without
    `sync_name`, the folder is not synced: a later file in the same folder syncs it. A relative `path` belongs to the
    working directory at the start of the block.
    """
    old = check_target(path, force=force)
    is_private = old is not None or mode is not None
    folder = os.path.dirname(os.path.abspath(path))
    swept = sweep(folder)
    place = absolute_path(path)
    descriptor, temporary = create_file(path, PRIVATE_FILE if is_private else 0o666)
    try:
        new = NewFile(temporary, swept, descriptor)
        with naming_given(place, path), naming_errors(place, temporary, lambda: new.needed and new.needed()):
            yield new
            if old is not None:
                keep_permissions(descriptor, place, old)
            if mode is not None and can_set_permissions():
                os.fchmod(descriptor, mode)
            if sync:
                flush(descriptor)
            else:
                check_written(descriptor)
            if not has_locks():
                os.close(descriptor)  # Windows renames closed files only
                descriptor = -1
            check_target(place, force=force)
            sides = rename_file(temporary, place, force=force, check_old=check_old)
            swept += [path + side.removeprefix(place) for side in sides]
    except BaseException:
        with contextlib.suppress(OSError):  # the next run removes leftovers
            if not has_locks() and descriptor >= 0:
                os.close(descriptor)
                descriptor = -1
            os.unlink(temporary)
        raise
    finally:
        if descriptor >= 0:
            close_written(descriptor)
    if sync and sync_name:
        sync_folder(folder)
