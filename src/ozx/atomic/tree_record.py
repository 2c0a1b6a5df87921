"""Records of the state of a directory tree, to detect later changes."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ozx.atomic.windows import joined
from ozx.file_changes import mark_of

#: Number of facts about a file: inode, size, modification time and change time, both in nanoseconds.
FACTS = 4

#: Whether the system keeps the time of a file's last change, which no program can set. On Windows `st_ctime` is the
#: time of its creation: there only its contents prove that a file did not change.
TIMES_PROVE = os.name != "nt"

_MASK = (1 << 64) - 1  # times before 1970 are negative
# Linux gives all files of one clock tick (10 ms at most) the same time; FAT and ext3 store whole seconds.
_TICK, _COARSE_TICK = 0.02, 2.0
_SECOND = 1_000_000_000
_SHOWN = 5


@dataclass(slots=True)
class FolderRecord:
    """Record of one folder: its device and inode, and the sorted names of its files with their status."""

    identity: tuple[int, int]
    names: list[str] = field(default_factory=list)
    facts: array[int] = field(default_factory=lambda: array("Q"))
    digests: array[int] = field(default_factory=lambda: array("Q"))  # of the contents; empty unless they are recorded

    def facts_at(self, place: int) -> tuple[int, ...]:
        """Return the recorded results of `os.stat` for the file at index `place` in `names`."""
        return tuple(self.facts[FACTS * place : FACTS * (place + 1)])

    def digest_at(self, place: int) -> int | None:
        """Return the recorded digest of the contents of the file at index `place`; None if none was recorded."""
        return self.digests[place] if self.digests else None


@dataclass(slots=True)
class TreeRecord:
    """Record of all files and folders of a directory tree; links are not followed."""

    root: str  # the directory
    # every folder by its prefix (``""``, ``"0/"``, ``"0/c/"``), parents before their children
    folders: dict[str, FolderRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, root: str, *, with_contents: bool = False) -> TreeRecord:
        """Record every file and folder below `root`, except those that are removed during the scan.

        `with_contents` records digests of the files, for systems where times prove little; see `TIMES_PROVE`.
        """
        record = cls(root)
        waiting = [""]
        while waiting:
            prefix = waiting.pop()
            try:
                folder, below = _look(joined(root, prefix), with_contents=with_contents)
            except FileNotFoundError:
                if not prefix:
                    raise
                continue
            record.folders[prefix] = folder
            waiting += (f"{prefix}{name}/" for name in reversed(below))
        return record

    @property
    def newest(self) -> int:
        """The latest change time in the tree in nanoseconds; 0 for a tree without files."""
        times = (folder.facts[FACTS - 1 :: FACTS] for folder in self.folders.values() if folder.names)
        return max(map(max, times), default=0)

    def settle(self) -> None:
        """Wait until the clock of the file system has advanced, so that later changes get a later change time."""
        newest = self.newest
        tick = _TICK if newest % _SECOND else _COARSE_TICK
        if time.time() - newest / _SECOND < tick:
            time.sleep(tick)

    def iter_names(self) -> Iterator[str]:
        """Yield the paths of all files and folders below the root; paths of folders end in a slash."""
        for prefix, folder in self.folders.items():
            if prefix:
                yield prefix
            for name in folder.names:
                yield prefix + name

    def iter_filled(self) -> Iterator[str]:
        """Yield the paths of all non-empty folders."""
        parents = {prefix[: prefix.rstrip("/").rfind("/") + 1] for prefix in self.folders if prefix}
        for prefix, folder in self.folders.items():
            if folder.names or prefix in parents:
                yield joined(self.root, prefix).rstrip(os.sep) or os.sep

    def differences(self, now: TreeRecord) -> list[str]:
        """Return descriptions of the differences from the tree `now`, for example ``"0/c/1 changed"``."""
        found = []
        for prefix, folder in self.folders.items():
            other = now.folders.get(prefix)
            if other is None:
                found.append(f"{prefix} is gone")
            elif other.identity != folder.identity:
                found.append(f"{prefix or self.root} was replaced by another folder")
            elif other != folder:
                found += (prefix + what for what in _folder_differences(folder, other))
        found += (f"{prefix} is new" for prefix in now.folders if prefix not in self.folders)
        return found


def folder_identity(status: os.stat_result) -> tuple[int, int]:
    """Return device and inode, which identify a folder after a rename."""
    return status.st_dev, status.st_ino


def facts_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return the part of a file's status that a `FolderRecord` stores."""
    size, modified = mark_of(status)
    return status.st_ino & _MASK, size, modified & _MASK, status.st_ctime_ns & _MASK


def name_some(names: Sequence[str]) -> str:
    """Return a text with the number of `names` and the first few names.

    Examples
    --------
    >>> name_some(["a", "b"]), name_some(list("abcdefgh"))
    ('2 things: a, b', '8 things: a, b, c, d, e, …')
    """
    what = "1 thing" if len(names) == 1 else f"{len(names):,} things"
    return f"{what}: {', '.join(name[:200] for name in names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''}"


def digest_of(path: str) -> int:
    """Return a digest of the contents of a file, as a number of 64 bits; 0 for a link."""
    if os.path.islink(path):
        return 0
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).digest()
    return int.from_bytes(digest, "little")


def _look(path: str, *, with_contents: bool) -> tuple[FolderRecord, list[str]]:
    """Record one folder; return the record, and the sorted names of its sub-folders."""
    folder, below = FolderRecord(folder_identity(os.stat(path))), []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                # On Windows only `lstat` knows the inode.
                status = os.lstat(entry.path) if os.name == "nt" else entry.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(status.st_mode)
                digest = digest_of(entry.path) if with_contents and not is_folder else None
            except FileNotFoundError:
                continue
            if is_folder:
                below.append(entry.name)
            else:
                folder.names.append(entry.name)
                folder.facts.extend(facts_of(status))
                folder.digests.extend([] if digest is None else [digest])
    return folder, below


def _folder_differences(folder: FolderRecord, now: FolderRecord) -> Iterator[str]:
    before = {name: (folder.facts_at(place), folder.digest_at(place)) for place, name in enumerate(folder.names)}
    for place, name in enumerate(now.names):
        facts = before.pop(name, None)
        if facts is None:
            yield f"{name} is new"
        elif facts != (now.facts_at(place), now.digest_at(place)):
            yield f"{name} changed"
    yield from (f"{name} is gone" for name in before)
