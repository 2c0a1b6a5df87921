"""Creation of a new directory that appears under its final name only when it is complete."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from ozx.atomic.locks import has_locks, lock_file
from ozx.atomic.new_file import NewFile
from ozx.atomic.renaming import finish_swap, rename_directory
from ozx.atomic.syncing import PRIVATE_FOLDER, keep_permissions, sync_folder, sync_tree
from ozx.atomic.targets import absolute_path, check_folder, check_removable, naming_errors, naming_given
from ozx.atomic.temporary import create_directory, show_replaced, sweep
from ozx.atomic.tree_record import TreeRecord, folder_identity, name_some
from ozx.atomic.tree_removal import remove_recorded
from ozx.atomic.windows import check_not_held, long_path, rename
from ozx.errors import ResourceError


@contextmanager
def replacing_directory(
    path: str,
    *,
    force: bool = False,
    replace_folder: bool = False,
    sync: bool = True,
    recorded: TreeRecord | None = None,
) -> Iterator[NewFile]:
    """Yield a new empty temporary directory; rename it to `path` if the ``with`` block succeeds, else remove it.

    On Linux, the old and the new directory exchange their names in one step. On other systems, the old directory
    first gets the name ``path.old``; after a kill in between, the next call restores it, and names it in `swept`. The
    old directory is removed if nothing in it changed since it was `recorded` (by default, at the start of the block);
    else it is kept as ``path.old``. The new root gets the permissions of the old root; until then only its owner has
    access. `force` allows replacing a directory that is empty or has Zarr metadata at its root; `replace_folder` allows
    replacing any directory. With `sync`, wait until the whole new directory is on the disk. A relative `path` belongs
    to the working directory at the start of the block.
    """
    place = long_path(absolute_path(path))
    folder = os.path.dirname(os.path.abspath(place))
    swept = finish_swap(path) + sweep(folder)
    with naming_given(place, path):
        old = check_folder(place, force=force, replace_folder=replace_folder)
        check_not_held(place)
        if recorded is None and old is not None and not os.path.islink(place):
            recorded = TreeRecord.of(place)
            recorded.settle()
        if recorded is not None:
            check_removable(*recorded.iter_filled())
        temporary, lock = create_directory(place, 0o777 if old is None else PRIVATE_FOLDER)
    try:
        with naming_given(place, path), naming_errors(place, temporary):
            yield NewFile(temporary, swept)
            if old is not None and lock is not None:
                keep_permissions(lock, place, old)
            if sync:
                sync_tree(temporary)
            check_folder(place, force=force, replace_folder=replace_folder)
            check_not_held(place)
            if recorded is None:
                rename_directory(temporary, place, force=force or replace_folder)
            else:
                _replace(temporary, place, recorded)
    finally:
        # After an exchange with a link, the link has the temporary name. The next run removes leftovers.
        with contextlib.suppress(OSError):
            if os.path.islink(temporary):  # `path` was a link to a directory; the directory is kept
                os.unlink(temporary)
            else:
                shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if sync:
        sync_folder(folder)


def _replace(temporary: str, path: str, recorded: TreeRecord) -> None:
    """Replace the directory at `path` by the new directory, then remove the old directory if it is unchanged."""
    held = f"{temporary.removesuffix('.ozx-tmp')}.ozx-old"  # `sweep` never removes such a name
    identity = folder_identity(os.stat(temporary))
    lock = _lock(path)
    try:
        rename(temporary, held)
        rename_directory(held, path, force=True)
        _remove_replaced(held, temporary, path, recorded)
    except BaseException:
        with contextlib.suppress(OSError):
            if folder_identity(os.stat(held)) == identity:  # still the new directory
                rename(held, temporary)
            else:
                show_replaced(held, path)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _remove_replaced(held: str, temporary: str, path: str, recorded: TreeRecord) -> None:
    """Rename the replaced directory from `held` to `temporary`, then remove it."""
    now = TreeRecord.of(held)
    found = recorded.differences(now)
    if not found:
        rename(held, temporary)
        now.root = temporary
        try:
            found = remove_recorded(now)
        except OSError as error:
            rename(temporary, held)
            reason = error.strerror or str(error)
            raise ResourceError(
                f"the replaced directory could not be removed ({reason}); it is kept as {show_replaced(held, path)}",
                path=path,
                hint="The new directory is complete. The old directory may be incomplete; remove it.",
            ) from error
        if found:
            rename(temporary, held)
    if found:
        raise ResourceError(
            f"the replaced directory changed during the replacement ({name_some(found)}); it is kept as "
            f"{show_replaced(held, path)}",
            path=path,
            hint="The new directory is complete. Check the latest changes in the old directory, then remove it.",
        )


def _lock(path: str) -> int | None:
    """Lock the old directory against `sweep` in other processes; return the descriptor of the lock.

    The old directory gets a temporary name before it is removed. `sweep` renames or removes an unlocked directory with
    such a name.
    """
    if not has_locks():
        return None
    descriptor = os.open(path, os.O_RDONLY)
    lock_file(descriptor)
    return descriptor
