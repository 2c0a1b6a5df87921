"""``NAME.partial``: the file that an `OzxStore` writes to until it is complete.

Unlike the temporary files of `ozx.atomic` it survives what happens to its writer: a killed acquisition leaves the
values it wrote, each behind a local header with size and CRC-32, for ``ozx recover``.
"""

from __future__ import annotations

import contextlib
import os

from ozx.atomic.locks import has_locks, lock_file, still_has_name, unlock_file
from ozx.atomic.renaming import rename_file
from ozx.atomic.syncing import check_written, close_written, sync_folder
from ozx.atomic.targets import check_target
from ozx.errors import ResourceError

__all__ = ["PartialFile"]

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class PartialFile:
    """The file ``PATH.partial``, locked, empty and open for reading and writing.

    What a dead writer left under that name is kept as ``PATH.partial.1`` (or ``.2`` …).

    Parameters
    ----------
    target
        The name the file gets once it is complete.

    Raises
    ------
    ResourceError
        Another writer has it.

    Attributes
    ----------
    path
        Its name until then.
    descriptor
        Open for reading and writing.
    left_behind
        The new name of what a dead writer left, or None.
    """

    def __init__(self, target: str) -> None:
        check_target(target, force=True)
        self.target = target
        self.path = target + ".partial"
        self.left_behind: str | None = None
        self.descriptor = self._create()

    def _create(self) -> int:
        for _ in range(100):  # another writer may come and go between any two steps
            if not has_locks():
                self._move_aside()  # Windows refuses to rename what is open
            descriptor = os.open(self.path, _FLAGS, 0o666)
            if not lock_file(descriptor):
                os.close(descriptor)
                raise ResourceError(
                    "another program is writing this file",
                    path=self.target,
                    hint=f"Wait until it has closed it. It writes to {self.path}.",
                )
            try:
                if still_has_name(descriptor, self.path):
                    if os.fstat(descriptor).st_size == 0:
                        return descriptor
                    self._move_aside()
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise ResourceError(f"{self.path} is made and removed all the time", path=self.target)

    def _move_aside(self) -> None:
        number = 1
        while os.path.lexists(f"{self.path}.{number}"):
            number += 1
        aside = f"{self.path}.{number}"
        try:
            os.rename(self.path, aside)
        except FileNotFoundError:
            return
        except PermissionError as error:
            raise ResourceError(f"another program is writing this file ({error})", path=self.target) from None
        self.left_behind = aside

    def publish(self, *, force: bool, sync: bool) -> None:
        """Give the file its final name."""
        if sync:
            os.fsync(self.descriptor)
        else:
            check_written(self.descriptor)
        if not has_locks():
            self.close()  # Windows renames closed files only
        rename_file(self.path, self.target, force=force)
        if sync:
            sync_folder(os.path.dirname(os.path.abspath(self.target)))
        self.close()

    def remove(self) -> None:
        """Remove the file; one that cannot be removed is moved aside by the next writer."""
        if not has_locks():
            self.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Close the file; what is in it stays under its partial name."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            unlock_file(descriptor)  # forked children hold the lock as well, as long as they live
            close_written(descriptor)
