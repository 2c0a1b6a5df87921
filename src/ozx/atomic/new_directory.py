"""A new directory: it takes its name whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.atomic.locks import has_locks, lock_file
from ozx.atomic.permissions import PRIVATE_FOLDER, keep_permissions
from ozx.atomic.renaming import finish_swap, rename_directory
from ozx.atomic.syncing import sync_folder, sync_tree
from ozx.atomic.targets import check_folder, check_removable, naming_errors
from ozx.atomic.temporary import create_directory, show_replaced, sweep
from ozx.atomic.tree_record import TreeRecord, identity_of, name_some
from ozx.atomic.tree_removal import remove_recorded
from ozx.errors import ResourceError

__all__ = ["NewDirectory", "replacing_directory"]


@dataclass(slots=True)
class NewDirectory:
    """A directory in the making: its temporary path, and what was finished or removed on the way."""

    path: str
    swept: list[str] = field(default_factory=list)


@contextmanager
def replacing_directory(
    path: str,
    *,
    force: bool = False,
    replace_folder: bool = False,
    sync: bool = True,
    recorded: TreeRecord | None = None,
) -> Iterator[NewDirectory]:
    """Give a new, empty directory that takes the name `path` when the block ends well, and vanishes when it does not.

    An existing directory is exchanged in one step where the system can (Linux). Elsewhere it becomes ``path.old``
    first; when a kill falls between, the next call puts it back, and says so in `swept`. It is removed if nothing in
    it changed since it was recorded; else it becomes ``path.old``. The new root has the permissions of the old one;
    until then only its owner may look into it.

    Parameters
    ----------
    path
        The final name.
    force
        Whether an existing directory may be replaced that is empty or has Zarr metadata at its root.
    replace_folder
        Whether any existing directory may be replaced.
    sync
        Whether to wait until all of it is on the disk.
    recorded
        The existing directory as it was when its contents were read; by default as it is now.

    Raises
    ------
    UsageError
        `path` exists and may not be replaced, or is no directory.
    ResourceError
        The directory that was replaced has changed, or could not be removed; it is kept, and named. Where folders in
        it may not be written to, nothing is made.
    """
    folder = os.path.dirname(os.path.abspath(path))
    swept = finish_swap(path) + sweep(folder)
    old = check_folder(path, force=force, replace_folder=replace_folder)
    if recorded is None and old is not None and not os.path.islink(path):
        recorded = TreeRecord.of(path)
        recorded.settle()
    if recorded is not None:
        check_removable(*recorded.iter_filled())
    temporary, lock = create_directory(path, 0o777 if old is None else PRIVATE_FOLDER)
    try:
        with naming_errors(path, temporary):
            yield NewDirectory(temporary, swept)
            if old is not None and lock is not None:
                keep_permissions(lock, path, old)
            if sync:
                sync_tree(temporary)
            check_folder(path, force=force, replace_folder=replace_folder)
            if recorded is None:
                rename_directory(temporary, path, force=force or replace_folder)
            else:
                _replace(temporary, path, recorded)
    finally:
        # After an exchange with a link, that has the temporary name. What cannot be removed is swept by the next run.
        with contextlib.suppress(OSError):
            if os.path.islink(temporary):  # the name was that of a link to a directory, which stays
                os.unlink(temporary)
            else:
                shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if sync:
        sync_folder(folder)


def _replace(temporary: str, path: str, recorded: TreeRecord) -> None:
    """Exchange a new directory for the one at `path`, and remove that if it is still as it was recorded."""
    held = f"{temporary.removesuffix('.ozx-tmp')}.ozx-old"  # which is never swept
    identity = identity_of(os.stat(temporary))
    lock = _lock(path)
    try:
        os.rename(temporary, held)
        rename_directory(held, path, force=True)
        _remove_replaced(held, temporary, path, recorded)
    except BaseException:
        with contextlib.suppress(OSError):
            if identity_of(os.stat(held)) == identity:  # it is the new one still
                os.rename(held, temporary)
            else:
                show_replaced(held, path)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _remove_replaced(held: str, temporary: str, path: str, recorded: TreeRecord) -> None:
    """Remove the directory at `held`, which was at `path`: under the name `temporary`, so that a kill leaves litter."""
    now = TreeRecord.of(held)
    found = recorded.differences(now)
    if not found:
        os.rename(held, temporary)
        now.root = temporary
        try:
            found = remove_recorded(now)
        except OSError as error:
            os.rename(temporary, held)
            told = error.strerror or str(error)
            raise ResourceError(
                f"what it replaced could not be removed ({told}), and is kept as {show_replaced(held, path)}",
                path=path,
                hint="The new directory is complete. Of the old one some may be gone; remove the rest.",
            ) from error
        if found:
            os.rename(temporary, held)
    if found:
        raise ResourceError(
            f"what it replaced changed meanwhile, and is kept as {show_replaced(held, path)}: {name_some(found)}",
            path=path,
            hint="The new directory is complete. Look at what came last in the old one, then remove that.",
        )


def _lock(path: str) -> int | None:
    """Lock a directory while it has a hidden name: no other process takes it for one that was left."""
    if not has_locks():
        return None
    descriptor = os.open(path, os.O_RDONLY)
    lock_file(descriptor)
    return descriptor
