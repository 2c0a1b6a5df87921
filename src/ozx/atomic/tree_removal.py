"""Removal of a recorded directory tree; files that changed after the record are kept.

Each file is checked, renamed to a hidden name in its folder, checked again, and only then removed. If another program
meanwhile creates a file with the old name, that file is kept. See docs/decisions/0018-removing-sources.md.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ozx.atomic.syncing import flush, sync_folder
from ozx.atomic.tree_record import FACTS, TreeRecord, digest_of, facts_of, folder_identity
from ozx.atomic.windows import joined
from ozx.file_changes import FileMark, mark_of

#: The name of a file in the root of a tree that is being removed: after a kill, a later run finishes the removal.
MARKER = ".ozx-removing"

_ASIDE = re.compile(r"\.(.+)\.ozx-aside", re.DOTALL)
# A replaced folder, or a link, is not entered.
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_HAS_DIR_FD = {os.open, os.stat, os.link, os.unlink, os.rename} <= os.supports_dir_fd
_SEPARATORS = f"/{os.sep}"
_BUSY = (errno.ENOTEMPTY, errno.EEXIST)


def write_marker(root: str, newest: int, copy: str) -> None:
    """Write a marker file into `root`. It states that `copy` contains the same data, so that `root` may be removed.

    `newest` is the latest change time of a file that may be removed, in nanoseconds.
    """
    size, modified = mark_of(os.stat(copy))
    with open(os.path.join(root, MARKER), "x", encoding="utf-8") as file:
        json.dump({"newest": newest, "copy_size": size, "copy_mtime_ns": modified}, file)
        file.flush()
        flush(file.fileno())
    sync_folder(root)


def read_marker(root: str) -> tuple[int, FileMark] | None:
    """Return the newest change time and the mark of the copy in a killed process's marker file in `root`, or None.

    An incomplete marker is deleted.
    """
    path = os.path.join(root, MARKER)
    try:
        with open(path, encoding="utf-8") as file:
            marker = json.load(file)
            return marker["newest"], (marker["copy_size"], marker["copy_mtime_ns"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        os.unlink(path)
        return None


def has_mark(path: str, mark: FileMark) -> bool:
    """Return whether a file exists and has this mark."""
    return os.path.exists(path) and mark_of(os.stat(path)) == mark


def finish_removal(root: str, newest: int, first: Collection[str] = ()) -> list[str]:
    """Finish the removal of a tree, which a killed process began; return the names of changed files, which are kept."""
    put_back = _put_all_back(root)
    record = TreeRecord.of(root)
    for prefix, folder in record.folders.items():
        names, facts = folder.names[:], folder.facts[:]
        folder.names.clear()
        del folder.facts[:]
        for place, name in enumerate(names):
            file = facts[FACTS * place : FACTS * (place + 1)]
            # Renaming a file alters its change time.
            if max(file[2:3] if prefix + name in put_back else file[2:]) <= newest:
                folder.names.append(name)
                folder.facts += file
    return remove_recorded(record, first)


def remove_recorded(record: TreeRecord, first: Collection[str] = ()) -> list[str]:
    """Remove the unchanged files of a recorded tree, then all folders that are empty.

    Files named in `first` are removed first, from parents to children: a partly removed hierarchy without metadata is
    not taken for a whole one. Return the names of the remaining files: those not recorded, or changed since then.
    """
    linked: set[int] = set()
    for prefix, folder in record.folders.items():
        places = [place for place, name in enumerate(folder.names) if name in first]
        if places:
            _remove_files(record, prefix, places, linked)
    for prefix, folder in reversed(record.folders.items()):
        _remove_files(record, prefix, [place for place, name in enumerate(folder.names) if name not in first], linked)
        if prefix:
            _remove_folder(joined(record.root, prefix))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(record.root, MARKER))
    _remove_folder(record.root)
    try:
        return list(TreeRecord.of(record.root).iter_names())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove_folder(path: str) -> None:
    """Remove a folder if it is empty; keep anything else with this name."""
    try:
        os.rmdir(path.rstrip(_SEPARATORS))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        if error.errno not in _BUSY:
            raise


def _remove_files(record: TreeRecord, prefix: str, places: list[int], linked: set[int]) -> None:
    """Remove the files at indexes `places` in the record of a folder."""
    folder = record.folders[prefix]
    with _opened(joined(record.root, prefix), folder.identity) as opened:
        if opened is None:
            return
        for place in places:
            opened.remove(folder.names[place], folder.facts_at(place), linked, folder.digest_at(place))


@contextmanager
def _opened(path: str, identity: tuple[int, int]) -> Iterator[_Folder | None]:
    """Open the folder at `path`, and yield it as a `_Folder`; yield None if the folder is missing or was replaced."""
    descriptor = None
    try:
        if _HAS_DIR_FD:
            descriptor = os.open(path.rstrip(_SEPARATORS), _FOLDER_FLAGS)
        status = os.lstat(path.rstrip(_SEPARATORS)) if descriptor is None else os.fstat(descriptor)
        is_same = folder_identity(status) == identity
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        is_same = False
    try:
        yield _Folder(path if descriptor is None else "", descriptor) if is_same else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder, from which files can be removed even if the folder is renamed."""

    path: str
    descriptor: int | None

    def remove(self, name: str, facts: tuple[int, ...], linked: set[int], digest: int | None) -> None:
        """Remove a file if it has not changed since it was recorded; compare its contents if their digest is known."""
        status = self._look(name)
        if status is None:
            return
        found = facts_of(status)
        # If a file has several names, removing one of them alters the change time under the others.
        known = FACTS - 1 if found[0] in linked else FACTS
        if found[:known] != facts[:known]:
            return
        aside = f".{name}.ozx-aside"
        try:
            self._rename(name, aside)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            aside = name  # no room for a longer name
        status = self._look(aside)
        is_same = status is not None and facts_of(status)[: FACTS - 1] == facts[: FACTS - 1]
        if status is None or not is_same or (digest is not None and digest_of(self.path + aside) != digest):
            self.put_back(aside, name)
            return
        os.unlink(self.path + aside, dir_fd=self.descriptor)
        if status.st_nlink > 1:
            linked.add(found[0])

    def put_back(self, aside: str, name: str) -> bool:
        """Restore a file's name unless another file now has this name."""
        try:
            os.link(
                self.path + aside,
                self.path + name,
                src_dir_fd=self.descriptor,
                dst_dir_fd=self.descriptor,
                follow_symlinks=False,
            )
        except (FileExistsError, FileNotFoundError):
            return False
        except (OSError, NotImplementedError):  # no hard links here, or not for this file
            if self._look(name) is not None:
                return False
            self._rename(aside, name)
        else:
            os.unlink(self.path + aside, dir_fd=self.descriptor)
        return True

    def _look(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.path + name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _rename(self, name: str, new: str) -> None:
        os.rename(self.path + name, self.path + new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)


def _put_all_back(root: str) -> set[str]:
    """Restore the names of files that a killed process had temporarily renamed; return the names."""
    names: set[str] = set()
    for prefix, folder in TreeRecord.of(root).folders.items():
        found = [(match[0], match[1]) for name in folder.names if (match := _ASIDE.fullmatch(name))]
        if not found:
            continue
        with _opened(joined(root, prefix), folder.identity) as opened:
            names |= {prefix + name for aside, name in found if opened is not None and opened.put_back(aside, name)}
    return names
