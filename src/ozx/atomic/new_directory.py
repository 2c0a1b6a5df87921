"""A new directory: it takes its name whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.atomic.permissions import PRIVATE_FOLDER, keep_permissions
from ozx.atomic.renaming import finish_swap, rename_directory
from ozx.atomic.syncing import sync_folder, sync_tree
from ozx.atomic.targets import check_folder, naming_errors
from ozx.atomic.temporary import create_directory, sweep

__all__ = ["NewDirectory", "replacing_directory"]


@dataclass(slots=True)
class NewDirectory:
    """A directory in the making: its temporary path, and what was finished or removed on the way."""

    path: str
    swept: list[str] = field(default_factory=list)


@contextmanager
def replacing_directory(
    path: str, *, force: bool = False, replace_folder: bool = False, sync: bool = True
) -> Iterator[NewDirectory]:
    """Give a new, empty directory that takes the name `path` when the block ends well, and vanishes when it does not.

    An existing directory is exchanged in one step where the system can (Linux). Elsewhere it becomes ``path.old``
    first; when a kill falls between, the next call puts it back or removes it, and says so in `swept`. The new root
    has the permissions of the old one; until then only its owner may look into it.

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

    Raises
    ------
    UsageError
        `path` exists and may not be replaced, or is no directory.
    """
    folder = os.path.dirname(os.path.abspath(path))
    swept = finish_swap(path) + sweep(folder)
    old = check_folder(path, force=force, replace_folder=replace_folder)
    temporary, lock = create_directory(path, 0o777 if old is None else PRIVATE_FOLDER)
    try:
        with naming_errors(path, temporary):
            yield NewDirectory(temporary, swept)
            if old is not None and lock is not None:
                keep_permissions(lock, path, old)
            if sync:
                sync_tree(temporary)
            check_folder(path, force=force, replace_folder=replace_folder)
            rename_directory(temporary, path, force=force or replace_folder)
    finally:
        # After an exchange the old tree has the temporary name. What cannot be removed is swept by the next run.
        with contextlib.suppress(OSError):
            if os.path.islink(temporary):  # the name was that of a link to a directory, which stays
                os.unlink(temporary)
            else:
                shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if sync:
        sync_folder(folder)
