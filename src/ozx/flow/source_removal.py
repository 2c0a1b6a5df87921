"""Remove a source directory after packing, but only files that are unchanged and in the archive."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ozx.atomic.locks import lock_file, unlock_file
from ozx.atomic.tree_record import TIMES_PROVE, TreeRecord, name_some
from ozx.atomic.tree_removal import finish_removal, has_mark, read_marker, remove_recorded, write_marker
from ozx.errors import ResourceError, UsageError, raise_error
from ozx.flow.sources.listing import Listing, list_directory
from ozx.progress import Progress
from ozx.zarr.keys import LEGACY_METADATA, METADATA

# Removed first: without these files, the remaining files are no hierarchy.
_FIRST = frozenset((METADATA, *LEGACY_METADATA))


_PAUSE = 0.05  # seconds between two attempts to take a lock


@contextmanager
def removal_turn(root: str, progress: Progress) -> Iterator[bool]:
    """Allow only one run at a time to pack and remove a directory; yield whether another run already removed it.

    Runs on other computers, and on systems that cannot lock folders, do not wait: such a run finds a changed source.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # Windows refuses to open a directory
        yield False
        return
    try:
        while lock_file(descriptor) is False:
            time.sleep(_PAUSE)
            progress.advance(0)  # raises an error if the batch was interrupted
        yield not os.path.lexists(root)
    finally:
        unlock_file(descriptor)
        os.close(descriptor)


def record_for_removal(root: str) -> TreeRecord:
    """Return the state of a directory that is to be removed, before its files are listed."""
    if os.path.islink(root):
        raise UsageError(f"{root} is a link: to remove the directory, give the path to which the link points")
    record = TreeRecord.of(root, with_contents=not TIMES_PROVE)
    record.settle()
    return record


def list_for_removal(root: str) -> Listing:
    """Return the listing of a directory; raise an error if it contains files that would not be packed."""
    listing = list_directory(root)
    check_nothing_left_out(root, listing.left_out)
    return listing


def remove_source(record: TreeRecord, archive: str) -> tuple[str, ...]:
    """Remove the recorded directory; `archive` must contain its verified contents and be on disk.

    Returns tuple of str: A sentence that names the remaining files, which appeared or changed during the removal; empty
    if no file remains.
    """
    root = record.root
    found = record.differences(TreeRecord.of(root, with_contents=not TIMES_PROVE))
    if found:
        raise ResourceError(
            f"nothing was removed, because the directory changed while it was packed: {name_some(found)}",
            path=root,
            hint=f"{archive} contains the data as ozx read it. Stop the writing program, "
            "then pack again with resume=True and force=True.",
        )
    write_marker(root, record.newest, archive)
    return _left_notes(root, remove_recorded(record, _FIRST))


def check_nothing_left_out(root: str, left_out: Sequence[str]) -> None:
    """Raise an error if a directory to remove has files that its copy lacks; empty folders are allowed."""
    lost = [name for name in left_out if not name.endswith("/") or _has_files(os.path.join(root, name))]
    if lost:
        raise UsageError(
            f"{name_some(lost)} would be lost: they are not part of the hierarchy, so they are not in the copy",
            path=root,
            hint="Move or delete them first, or keep the source.",
        )


def record_in_place(source: str, target: str) -> TreeRecord | None:
    """Return a record of the files in `source` if `target` is the same directory, else None.

    If the directory is the same, its rewritten copy replaces it.
    """
    is_itself = os.path.realpath(source) == os.path.realpath(target)
    if not is_itself or not os.path.isdir(target) or os.path.islink(target):
        return None
    record = TreeRecord.of(target)
    record.settle()
    return record


def _has_files(path: str) -> bool:
    return any(names for _, _, names in os.walk(path, onerror=raise_error))


def finish_source_removal(root: str, archive: str, *, remove: bool) -> tuple[str, ...] | None:
    """Complete an interrupted removal of `root`; return None if no removal was interrupted."""
    marker = read_marker(root)
    if marker is None:
        is_last_step = remove and os.path.exists(archive) and not os.listdir(root)
        if not is_last_step:
            return None
        os.rmdir(root)
        return (f"removed {root}, which was empty",)
    newest, mark = marker
    if not (remove and has_mark(archive, mark)):
        raise UsageError(
            "this directory was packed and partly removed: the removal was interrupted",
            path=root,
            hint=f"If it was packed into another file than {archive}, name that file. "
            f"Otherwise {archive} has changed since: check it with ozx validate."
            if remove
            else "Its archive is complete. Pack to that file again with remove_source=True to remove the rest.",
        )
    left = finish_removal(root, newest, _FIRST)
    return (f"finished the interrupted removal of {root}", *_left_notes(root, left))


def _left_notes(root: str, left: Sequence[str]) -> tuple[str, ...]:
    if not os.path.lexists(root):
        return ()
    what = f", with {name_some(left)}" if left else ""
    return (f"warning: {root} still exists{what}; it changed while it was removed",)


# Find file attributes that an archive does not keep: access control lists, extended attributes, hard links.

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
            hint="Give drop_attributes=True if they need not be kept, or keep the source.",
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
