"""``NAME.partial``: the file that an `OzxStore` writes to until it is complete.

Unlike the temporary files of `ozx.atomic` it survives what happens to its writer: a killed acquisition leaves the
values it wrote, each behind a local header with size and CRC-32, for ``ozx recover``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from ozx.atomic.locks import has_locks, lock_file, still_has_name, unlock_file
from ozx.atomic.permissions import PRIVATE_FILE, can_set_permissions, keep_permissions
from ozx.atomic.renaming import rename_file
from ozx.atomic.syncing import check_written, close_written, sync_folder
from ozx.atomic.targets import check_target
from ozx.atomic.temporary import name_beside
from ozx.errors import ResourceError, UsageError

__all__ = ["PartialFile"]

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A link is not followed, and a pipe that comes between two looks does not block.
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class PartialFile:
    """The file ``PATH.partial``, locked, empty and open for reading and writing.

    What a dead writer left under that name is kept as ``PATH.partial.1`` (or ``.2`` …). Where a file is replaced, only
    the owner may read the new one until it has the permissions of the old one.

    Parameters
    ----------
    target
        The name the file gets once it is complete.

    Raises
    ------
    UsageError
        `target` is no regular file, or something else than a file has the partial name, such as a link.
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
        self._old = check_target(target, force=True)
        self.target = target
        self.path = name_beside(target, ".partial")
        self.left_behind: str | None = None
        self.descriptor = self._create()

    def _create(self) -> int:
        for _ in range(100):  # another writer may come and go between any two steps
            if not has_locks():
                self._move_aside()  # Windows refuses to rename what is open
            descriptor = self._open()
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
                        if self._old is not None and can_set_permissions():
                            os.fchmod(descriptor, PRIVATE_FILE)
                        return descriptor
                    self._move_aside()
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise ResourceError(f"{self.path} is made and removed all the time", path=self.target)

    def _open(self) -> int:
        self._check_kind(os.lstat(self.path) if os.path.lexists(self.path) else None)
        descriptor = os.open(self.path, _FLAGS, 0o666 if self._old is None else PRIVATE_FILE)
        try:
            self._check_kind(os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _check_kind(self, status: os.stat_result | None) -> None:
        if status is not None and not stat.S_ISREG(status.st_mode):
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "something else"
            raise UsageError(
                f"expected a regular file, or none, at {self.path}, where it is written; found {kind}",
                path=self.target,
                hint=f"Remove {self.path}.",
            )

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

    def publish(self, *, force: bool, sync: bool, check_old: Callable[[str], None] | None = None) -> None:
        """Give the file its final name.

        Raises
        ------
        UsageError
            That of something else than a file; or `force` is not given, and there is a file.
        ResourceError
            Another program has moved or removed the partial file.
        """
        if not still_has_name(self.descriptor, self.path):
            raise ResourceError(
                f"expected what was written at {self.path}; another program has moved or removed it", path=self.target
            )
        if self._old is not None:
            keep_permissions(self.descriptor, self.target, self._old)
        if sync:
            os.fsync(self.descriptor)
        else:
            check_written(self.descriptor)
        if not has_locks():
            self.close()  # Windows renames closed files only
        check_target(self.target, force=force)
        rename_file(self.path, self.target, force=force, check_old=check_old)
        if sync:
            sync_folder(os.path.dirname(os.path.abspath(self.target)))
        self.close()

    def remove(self) -> None:
        """Remove the file; one that cannot be removed is moved aside by the next writer."""
        is_ours = False
        with contextlib.suppress(OSError):
            is_ours = still_has_name(self.descriptor, self.path)
        if not has_locks():
            self.close()
        with contextlib.suppress(OSError):
            if is_ours:
                os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Close the file; what is in it stays under its partial name."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            unlock_file(descriptor)  # forked children hold the lock as well, as long as they live
            close_written(descriptor)
