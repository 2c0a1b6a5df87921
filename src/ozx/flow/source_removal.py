"""Removal of a source that was packed: only what is in the archive goes, and only if nothing changed meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ozx.atomic.tree_record import TreeRecord, name_some
from ozx.atomic.tree_removal import finish_removal, read_marker, remove_recorded, write_marker
from ozx.errors import ResourceError, UsageError, raise_error
from ozx.flow.sources.listing import Listing, list_directory
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA

__all__ = ["SourceRemoval", "check_nothing_left_out", "finish_source_removal", "record_in_place"]

# Without these no program takes the rest for a hierarchy.
_FIRST = frozenset((METADATA, *LEGACY_METADATA))


class SourceRemoval:
    """The removal of one directory, which begins before the directory is listed: everything in it is recorded.

    Parameters
    ----------
    root
        The directory.

    Raises
    ------
    UsageError
        `root` is a link.
    OSError
        A folder cannot be listed.
    """

    def __init__(self, root: str) -> None:
        if os.path.islink(root):
            raise UsageError(f"{root} is a link: name the directory itself to have it removed")
        self._record = TreeRecord.of(root)
        self._record.settle()

    def list_source(self) -> Listing:
        """Return what the directory holds, all of which is to be packed but for empty folders.

        Raises
        ------
        UsageError
            There are files that are not packed: they would be lost.
        FormatError, OSError
            As `list_directory`.
        """
        listing = list_directory(self._record.root)
        check_nothing_left_out(self._record.root, listing.left_out)
        return listing

    def run(self, archive: str) -> tuple[str, ...]:
        """Remove the directory, whose contents are in `archive`, on the disk and verified.

        Returns
        -------
        tuple of str
            A sentence that names what stays, as it came or changed while the directory was removed; else nothing.

        Raises
        ------
        ResourceError
            The directory is no longer what was packed; nothing was removed.
        OSError
            Something cannot be removed. The next run goes on.
        """
        root = self._record.root
        found = self._record.differences(TreeRecord.of(root))
        if found:
            raise ResourceError(
                f"it changed while it was packed, and nothing was removed: {name_some(found)}",
                path=root,
                hint=f"{archive} holds what was read. Stop what writes there, then pack again with --resume --force.",
            )
        write_marker(root, self._record.newest, archive)
        return _left_notes(root, remove_recorded(self._record, _FIRST))


def check_nothing_left_out(root: str, left_out: Sequence[str]) -> None:
    """Refuse to remove a directory with files in it that are not in its copy; empty folders may go.

    Parameters
    ----------
    root
        The directory.
    left_out
        What is not in the copy, folders with a slash at the end.

    Raises
    ------
    UsageError
        There are such files.
    """
    lost = [name for name in left_out if not name.endswith("/") or _has_files(os.path.join(root, name))]
    if lost:
        raise UsageError(
            f"{name_some(lost)} would be lost: no part of the hierarchy, so not in the copy",
            path=root,
            hint="Move or delete them first, or keep the source.",
        )


def record_in_place(source: str, target: str) -> TreeRecord | None:
    """Return the record of a directory that its own copy is to replace; None where `target` is another one.

    Raises
    ------
    OSError
        A folder cannot be listed.
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
    """Finish what a run that was killed while it removed `root` left; None where there was none.

    Parameters
    ----------
    root
        The directory.
    archive
        The file that `root` is to become.
    remove
        Whether the directory is to be removed now.

    Returns
    -------
    tuple of str
        Sentences that say so, and what stays.

    Raises
    ------
    UsageError
        There was one, and `remove` is not given, or `archive` is not the file that was made of the directory.
    OSError
        Something cannot be removed.
    """
    marker = read_marker(root)
    if marker is None:
        is_last_step = remove and os.path.exists(archive) and not os.listdir(root)
        if not is_last_step:
            return None
        os.rmdir(root)
        return (f"removed {root}, which was empty",)
    if not remove or not marker.is_of(archive):
        raise UsageError(
            "expected a hierarchy; found the rest of one that was packed, whose removal was cut off",
            path=root,
            hint=f"{archive} is not the file that it became: name that one."
            if remove
            else "Its file has all of it. Pack it to that file again with --remove-source: the rest goes, too.",
        )
    left = finish_removal(root, marker, _FIRST)
    return (f"finished the removal of {root}, which was cut off", *_left_notes(root, left))


def _left_notes(root: str, left: Sequence[str]) -> tuple[str, ...]:
    if not os.path.lexists(root):
        return ()
    what = f", but for {name_some(left)}" if left else ""
    return (f"warning: {root} is still there{what}; it changed while it was removed",)
