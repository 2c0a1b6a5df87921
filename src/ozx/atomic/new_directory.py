"""A new directory: it takes its name whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ozx.atomic.renaming import finish_swap, rename_directory
from ozx.atomic.syncing import sync_folder, sync_tree
from ozx.atomic.targets import already_there, naming_errors
from ozx.atomic.temporary import create_directory, sweep
from ozx.errors import UsageError

__all__ = ["NewDirectory", "replacing_directory"]


@dataclass(slots=True)
class NewDirectory:
    """A directory in the making: its temporary path, and what was finished or removed on the way."""

    path: str
    swept: list[str] = field(default_factory=list)


@contextmanager
def replacing_directory(path: str, *, force: bool = False, sync: bool = True) -> Iterator[NewDirectory]:
    """Give a new, empty directory that takes the name `path` when the block ends well, and vanishes when it does not.

    An existing directory is exchanged in one step where the system can (Linux). Elsewhere it becomes ``path.old``
    first; when a kill falls between, the next call puts it back or removes it, and says so in `swept`.

    Parameters
    ----------
    path
        The final name.
    force
        Whether an existing directory may be replaced.
    sync
        Whether to wait until all of it is on the disk.

    Raises
    ------
    UsageError
        `path` exists and `force` is not given, or it is a file.
    """
    folder = os.path.dirname(os.path.abspath(path))
    swept = finish_swap(path) + sweep(folder)
    if os.path.lexists(path) and not force:
        raise already_there(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise UsageError(f"expected a directory to replace at {path}; found a file", hint="Choose another name.")
    temporary, lock = create_directory(path)
    try:
        with naming_errors(path, temporary):
            yield NewDirectory(temporary, swept)
            if sync:
                sync_tree(temporary)
            rename_directory(temporary, path, force=force)
    finally:
        # After an exchange the old tree has the temporary name. What cannot be removed is swept by the next run.
        with contextlib.suppress(OSError):
            shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if sync:
        sync_folder(folder)
