"""Create ``NAME.partial``, the file that an `OzxStore` writes until the archive is complete.

Unlike the temporary files of `ozx.atomic`, this file survives its writer: ``ozx recover`` finds the values that a
killed writer wrote.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from ozx.atomic.locks import has_locks, lock_file, still_has_name, unlock_file
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
from ozx.atomic.targets import check_target
from ozx.atomic.temporary import name_beside
from ozx.atomic.windows import rename
from ozx.errors import PartialFileWarning, ResourceError, UsageError
from ozx.quoting import quote

_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Follows no link, and does not block on a pipe that appears between two checks.
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def left_behind_warning(target: str, left_behind: str) -> PartialFileWarning:
    """Return the warning that a file was abandoned and is kept as `left_behind`."""
    return PartialFileWarning(
        f"{target}: an earlier writer did not finish; its data is kept as {left_behind}. "
        f"ozx recover {quote(left_behind)} OUT.ozx saves it"
    )


class PartialFile:
    """The file ``PATH.partial``, created empty, locked, and open for reading and writing.

    An abandoned file of that name is kept as ``PATH.partial.1`` (or ``.2`` …); `left_behind` is then this path. If the
    new file replaces an old one, only the owner can read the new file until it gets the permissions of the old file.
    """

    def __init__(self, target: str) -> None:
        self._old = check_target(target, force=True)
        self.target = target
        self.path = name_beside(target, ".partial")
        self.left_behind: str | None = None
        self.descriptor = self._create()
        self._made = os.fstat(self.descriptor)

    def _create(self) -> int:
        for _ in range(100):  # another writer may create or remove the file between two steps
            if not has_locks():
                self._move_aside()  # Windows refuses to rename what is open
            try:
                descriptor, is_new = self._open()
            except FileExistsError:
                continue
            is_locked = lock_file(descriptor)
            if is_locked is False or (is_locked is None and not is_new):
                os.close(descriptor)
                raise self._taken_error(has_lock=is_locked is False)
            try:
                if still_has_name(descriptor, self.path):
                    if is_new:
                        if self._old is not None and can_set_permissions():
                            os.fchmod(descriptor, PRIVATE_FILE)
                        return descriptor
                    if os.fstat(descriptor).st_size:
                        self._move_aside()
                    else:
                        os.unlink(self.path)  # not used: perhaps its writer got no lock, as when all locks are in use
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise ResourceError(f"other programs keep creating and removing {self.path}", path=self.target)

    def _taken_error(self, *, has_lock: bool) -> ResourceError:
        hint = f"Wait until it has finished. It writes to {self.path}."
        if has_lock:
            return ResourceError("another program is writing this file", path=self.target, hint=hint)
        return ResourceError(
            f"{self.path} exists: another program may be writing this file. This file system has no locks, which would "
            "show whether the program still runs",
            path=self.target,
            hint=f"{hint} If no program does, ozx recover {quote(self.path)} OUT.ozx saves its data; then remove it.",
        )

    def _open(self) -> tuple[int, bool]:
        """Open the file; return its descriptor, and whether this call has created it.

        Without locks, only the creation shows which of two writers came first.
        """
        self._check_kind(os.lstat(self.path) if os.path.lexists(self.path) else None)
        mode = 0o666 if self._old is None else PRIVATE_FILE
        is_new = True
        try:
            descriptor = os.open(self.path, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            if not has_locks():
                raise
            try:
                descriptor, is_new = os.open(self.path, _FLAGS), False
            except FileNotFoundError:  # removed meanwhile: as if it were there, so that the caller tries again
                raise FileExistsError(self.path) from None
        try:
            self._check_kind(os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, is_new

    def _check_kind(self, status: os.stat_result | None) -> None:
        if status is not None and not stat.S_ISREG(status.st_mode):
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "something else"
            raise UsageError(
                f"expected no file or a regular file at {self.path}, where ozx first writes the data; found {kind}",
                path=self.target,
                hint=f"Remove {self.path}.",
            )

    def _move_aside(self) -> None:
        number = 1
        while os.path.lexists(f"{self.path}.{number}"):
            number += 1
        aside = f"{self.path}.{number}"
        try:
            rename(self.path, aside)
        except FileNotFoundError:
            return
        except (PermissionError, ResourceError) as error:
            hint = f"Wait until it has finished. It writes to {self.path}."
            message = f"another program is writing this file ({error})"
            raise ResourceError(message, path=self.target, hint=hint) from None
        self.left_behind = aside

    def publish(self, *, force: bool, sync: bool, check_old: Callable[[str], None] | None = None) -> None:
        """Rename the file to its final name."""
        if self._old is not None:
            keep_permissions(self.descriptor, self.target, self._old)
        if sync:
            flush(self.descriptor)
        else:
            check_written(self.descriptor)
        check_target(self.target, force=force)
        if not has_locks():
            self.close()  # Windows renames closed files only
        if not (os.path.lexists(self.path) and os.path.samestat(os.lstat(self.path), self._made)):
            raise ResourceError(
                f"another program has moved or removed {self.path}, where the data was written", path=self.target
            )
        rename_file(self.path, self.target, force=force, check_old=check_old)
        if sync:
            sync_folder(os.path.dirname(os.path.abspath(self.target)))
        self.close()

    def remove(self) -> None:
        """Remove the file; if the removal fails, the next writer renames the file."""
        is_ours = False
        with contextlib.suppress(OSError):
            is_ours = os.path.samestat(os.lstat(self.path), self._made)  # also after it was closed
        if not has_locks():
            self.close()
        with contextlib.suppress(OSError):
            if is_ours:
                os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Close the file and keep its partial name."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            unlock_file(descriptor)  # forked children would keep the lock
            close_written(descriptor)
