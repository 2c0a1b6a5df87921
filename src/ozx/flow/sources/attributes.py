"""Find file attributes that an archive does not keep: access control lists, extended attributes, hard links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from ozx.atomic.tree_record import name_some
from ozx.errors import UsageError, raise_error

_ACCESS_LISTS = {"system.posix_acl_access", "system.posix_acl_default"}
# Attributes of users and programs. The system sets all others, on every file: SELinux, NFSv4, Lustre, btrfs.
_OF_USERS = ("user.", "security.capability")


def check_no_attributes(root: str) -> None:
    """Raise an error if a directory to be removed has file attributes that its archive would not keep.

    Extended attributes and access control lists are examined on Linux only.
    """
    found = list(_attributes(root))
    if found:
        raise UsageError(
            f"file attributes that an archive does not keep would be lost: {name_some(found)}",
            path=root,
            hint="Give --drop-attributes (drop_attributes=True) if they need not be kept, or keep the source.",
        )


def _attributes(root: str) -> Iterator[str]:
    """Yield each file or folder with attributes that an archive does not keep, and name the attributes."""
    for folder, _, files in os.walk(root, onerror=raise_error):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            shown = os.path.relpath(path, root)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                yield f"{shown} (hard links: {status.st_nlink})"
            names = _attribute_names(path)
            if names & _ACCESS_LISTS:
                yield f"{shown} (access control list)"
            own = sorted(name for name in names if name.startswith(_OF_USERS))
            if own:
                yield f"{shown} ({', '.join(own)})"


def _attribute_names(path: str) -> set[str]:
    if not hasattr(os, "listxattr"):
        return set()
    try:
        return set(os.listxattr(path, follow_symlinks=False))
    except OSError:  # the file system has no attributes
        return set()
