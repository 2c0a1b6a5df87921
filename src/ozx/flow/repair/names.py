"""Repair entry names: convert them to valid keys, omit system files and entries for folders.

A vectorised check proves most names clean; only the others are examined one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns, find_kinds
from ozx.archive.names.decoding import name_fault
from ozx.archive.names.table import NameTable
from ozx.archive.records import FLAG_UTF8
from ozx.archive.recovery.directory import RecoveredDirectory
from ozx.archive.recovery.scan import LostEntry
from ozx.errors import FormatError
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.flow.sources.listing import is_litter, is_litter_key
from ozx.zarr.keys import is_legacy_metadata_key

_NODE_METADATA = (b"/zarr.json", b"/.zarray", b"/.zgroup")
_SLASH, _BACKSLASH, _DOT = b"/\\."
_ARCHIVE_ENDINGS = (".ozx", ".zip")
_ENDINGS = np.frombuffer("".join(_ARCHIVE_ENDINGS).encode("ascii"), np.uint8).reshape(len(_ARCHIVE_ENDINGS), -1)


def _lookup(characters: bytes, *, non_ascii: bool = False) -> NDArray[np.bool_]:
    table = np.zeros(256, bool)
    table[list(characters)] = True
    table[0x80:] = non_ascii
    return table


# A name without any of these is ASCII, has no fault, and is neither litter nor Zarr v2.
_ANYWHERE = _lookup(b"\0:~#", non_ascii=True)
_FIRST_IN_COMPONENT = _lookup(b"./_")
_AFTER_DOT = _lookup(b"dDiI")  # Thumbs.db, desktop.ini


#: Entries for folders, which are left out; names with backslashes as separators; names with empty components or ``.``;
#: non-ASCII names that are not declared as UTF-8.
Fault = Literal["folder", "backslash", "dot", "unmarked"]


@dataclass
class RepairedKeys:
    """The files of an archive, with repaired names, which are the keys."""

    names: NameTable  # the clean names in UTF-8, in the order of the central directory
    rows: NDArray[np.int64]  # the entry of each name
    legacy: list[str] = field(default_factory=list)  # the names that are metadata of Zarr v2
    litter: list[str] = field(default_factory=list)  # the original names of files left out as litter
    # The first name with a fault, and the number of such names.
    faults: dict[Fault, tuple[str, int]] = field(default_factory=dict)

    def count(self, fault: Fault, name: str, count: int = 1) -> None:
        """Count a name with a fault, or several of which it is the first."""
        first, others = self.faults.get(fault, (name, 0))
        self.faults[fault] = first, others + count


def repair_names(columns: Columns, path: str) -> RepairedKeys:
    """Convert the names of an archive's files to keys that all ZIP readers read alike.

    `FormatError`: A name is dangerous or empty (``zip/name``); an entry is a link or a device (``zip/symlink``,
    ``zip/special-file``), or has the name of an archive (``rfc9/not-embedded``).
    """
    symlinks, special, folder_values, _ = find_kinds(columns, np.empty(0, np.int64))
    for rows, rule, what in (
        (symlinks, "zip/symlink", "a symbolic link, which ozx does not follow"),
        (special, "zip/special-file", "a device, pipe or socket"),
    ):
        if len(rows):
            raise _refused(path, columns.name(int(rows[0])), f"it is {what}", rule)
    names, has_backslash, has_dot = _without_slips(columns)
    repaired = RepairedKeys(names, np.arange(len(columns)))
    folders, dropped, renamed = set(folder_values.tolist()), [], {}
    nodes = cache(partial(_find_nodes, columns, names))
    suspects = sorted({*_find_suspects(names).tolist(), *folders})
    for row in suspects:
        key = _repair_name(columns, row, path, repaired, nodes, is_folder=row in folders)
        if key is None:
            dropped.append(row)
        elif key != names.raw_name(row):
            renamed[row] = key
    kinds: tuple[tuple[NDArray[np.bool_], Fault], ...] = (has_backslash, "backslash"), (has_dot, "dot")
    for slips, fault in kinds:
        slips[suspects] = False  # already counted one by one
        if slips.any():
            repaired.count(fault, columns.name(int(np.argmax(slips))), int(slips.sum()))
    repaired.rows = np.delete(repaired.rows, dropped)
    repaired.names = names.take(repaired.rows, renamed)
    return repaired


def _without_slips(columns: Columns) -> tuple[NameTable, NDArray[np.bool_], NDArray[np.bool_]]:
    """Replace backslashes by slashes and remove leading ``./``; return the names and a mask for each fault."""
    table: NameTable = columns
    has_backslash = np.zeros(len(columns), bool)
    for rows, matrix in columns.iter_name_matrices():
        has_backslash[rows] = (matrix == _BACKSLASH).any(1)
    if has_backslash.any():
        buffer = b"".join(columns.iter_raw_names()).replace(b"\\", b"/")
        lengths = columns.name_lengths.astype(np.int64)
        table = NameTable(buffer, np.cumsum(lengths) - lengths, columns.name_lengths)
    has_dot = table.below(b"./")
    if has_dot.any():
        cut = np.where(has_dot, 2, 0).astype(np.uint16)
        table = NameTable(table.buffer, table.starts + table.name_offset + cut, table.name_lengths - cut)
    return table, has_backslash, has_dot


def _find_suspects(names: NameTable) -> NDArray[np.int64]:
    """Return the indices of the names that must be examined one by one."""
    suspects = [np.flatnonzero(names.name_lengths == 0)]
    for rows, matrix in names.iter_name_matrices():
        flagged = _ANYWHERE[matrix].any(1) | _FIRST_IN_COMPONENT[matrix[:, 0]] | (matrix[:, -1] == _SLASH)
        before, after = matrix[:, :-1], matrix[:, 1:]
        flagged |= ((before == _SLASH) & _FIRST_IN_COMPONENT[after]).any(1)
        flagged |= ((before == _DOT) & _AFTER_DOT[after]).any(1)
        if matrix.shape[1] >= _ENDINGS.shape[1]:
            ends = matrix[:, None, -_ENDINGS.shape[1] :] | 0x20  # in lower case
            flagged |= (ends == _ENDINGS).all(2).any(1)
        suspects.append(rows[flagged])
    return np.sort(np.concatenate(suspects))


def _repair_name(
    columns: Columns, row: int, path: str, repaired: RepairedKeys, nodes: Callable[[], set[str]], *, is_folder: bool
) -> bytes | None:
    """Return the key of one entry, and record its faults; None if the entry is left out.

    `is_folder` is true if the entry is a folder, whatever its name is. `nodes` returns the paths of all nodes.
    """
    name = columns.name(row)
    parts = name.replace("\\", "/").split("/")
    clean = "/".join(part for part in parts if part not in ("", "."))
    is_folder = is_folder or not parts[-1]
    fault = _fault_of(parts, clean, is_folder=is_folder)
    if is_folder and fault is None and columns.uncompressed_sizes[row]:
        fault = "it is the name of a folder, but the entry contains bytes"
    if fault is not None:
        raise _refused(path, name, fault, "zip/name")
    if is_folder:
        repaired.count("folder", name)
        return None
    if any(map(is_litter, parts)) and is_litter_key(clean, nodes()):
        repaired.litter.append(name)
        return None
    if clean.lower().endswith(_ARCHIVE_ENDINGS):
        raise FormatError(
            f"{name} is an archive inside the archive, which RFC-9 forbids",
            path=path,
            rule="rfc9/not-embedded",
            hint="Unpack the outer archive; if it contains only the inner archive, use the inner archive instead.",
        )
    if not columns.raw_name(row).isascii() and not columns.flags[row] & FLAG_UTF8:
        repaired.count("unmarked", name)
    if len(parts) != clean.count("/") + 1:
        repaired.count("dot", name)
    if "\\" in name:
        repaired.count("backslash", name)
    if is_legacy_metadata_key(clean):
        repaired.legacy.append(clean)
    return clean.encode("utf-8")


def _fault_of(parts: list[str], clean: str, *, is_folder: bool) -> str | None:
    if not parts[0] and len(parts) > 1:
        return "it is absolute"
    return None if is_folder and not clean else name_fault(clean)


def _find_nodes(columns: Columns, names: NameTable) -> set[str]:
    """Return the paths of all nodes in the archive and of the nodes' parent folders."""
    found: set[str] = set()
    for row, raw in enumerate(names.iter_raw_names()):
        if raw.endswith(_NODE_METADATA):
            parts = columns.name(row).replace("\\", "/").split("/")
            *folders, _ = [part for part in parts if part not in ("", ".")]
            found.update("/".join(folders[:count]) for count in range(1, len(folders) + 1))
    return found


def _refused(path: str, name: str, fault: str, rule: str) -> FormatError:
    return FormatError(
        f"entry name {name!r} is refused: {fault}" if rule == "zip/name" else f"entry {name!r} is refused: {fault}",
        path=path,
        rule=rule,
        hint="ozx cannot repair this name. Unpack the file with the program that wrote it, check the folder, "
        "then run ozx pack on it.",
    )


# Repair the names of entries found in a damaged archive, if the archive's writer spelt most names differently.
#
# `ozx.flow.repair.names` repairs the same spellings in a whole archive. Here only the spelling of the majority counts:
# a single odd name is probably damaged.

_FOLDER_ENDING = ".zarr"


def repair_found_names(directory: RecoveredDirectory) -> tuple[str, ...]:
    """Repair names with backslashes, with a leading ``./``, or below a common folder whose name ends in ``.zarr``."""
    repairs = []
    names = _names(directory)
    if sum("\\" in name for name in names) > sum("/" in name for name in names):
        _rename(directory, lambda name: name.replace("\\", "/"))
        repairs.append("the names have backslashes as separators; they became slashes")
    if _is_majority(name.startswith("./") for name in _names(directory)):
        _rename(directory, lambda name: name.removeprefix("./"))
        repairs.append("the names begin with './'; this beginning is left out")
    folder = _root_folder(directory)
    if folder is not None:
        outside = _leave_out(directory, folder)
        _rename(directory, lambda name: name.removeprefix(folder))
        others = f"; entries outside of this folder are left out: {outside:,}" if outside else ""
        repairs.append(f"the hierarchy is in the folder {folder!r}, which becomes the root{others}")
    return tuple(repairs)


def _names(directory: RecoveredDirectory) -> list[str]:
    return [directory.entries.names[index] for index in directory.order.tolist()]


def _is_majority(found: Iterable[bool]) -> bool:
    counts = Counter(found)
    return counts[True] > counts[False]


def _root_folder(directory: RecoveredDirectory) -> str | None:
    """Return the path of the folder that contains the hierarchy, with a slash at its end, if its name ends in .zarr.

    No node may be outside of it, not even a damaged one: such a folder could be an image of a series.
    """
    names = _names(directory)
    known = [*names, *(entry.name for entry in directory.lost), *directory.disputed.values(), *directory.listed]
    folders = {folder for folder in map(_folder_of, known) if folder}
    if len(folders) != 1:
        return None
    (folder,) = folders
    has_others = any(is_any_metadata_key(name) and not name.startswith(folder) for name in known)
    return None if has_others or not _is_majority(name.startswith(folder) for name in names) else folder


def _folder_of(name: str) -> str:
    *folders, _ = name.split("/")
    for number, part in enumerate(folders, 1):
        if part.endswith(_FOLDER_ENDING):
            return "/".join(folders[:number]) + "/"
    return ""


def _leave_out(directory: RecoveredDirectory, folder: str) -> int:
    """Leave out the folder's own entry and the entries outside of the folder; return the number of the latter.

    They count as lost, except files that desktops create.
    """
    entries, kept, outside = directory.entries, [], 0
    for index in directory.order.tolist():
        name = entries.names[index]
        if name.startswith(folder) and name != folder:
            kept.append(index)
        elif not folder.startswith(name):
            outside += 1
            if not any(map(is_litter, name.split("/"))):
                reason = f"it is outside of the folder {folder!r} of the hierarchy"
                directory.lost.append(LostEntry(name, reason, entries.starts[index]))
    directory.order = np.array(kept, np.int64)
    return outside


def _rename(directory: RecoveredDirectory, clean: Callable[[str], str]) -> None:
    """Change all names by `clean`, unless nothing of a name would be left."""

    def renamed(name: str) -> str:
        return clean(name) or name

    directory.entries.names[:] = map(renamed, directory.entries.names)
    directory.disputed = {index: renamed(name) for index, name in directory.disputed.items()}
    directory.lost = [replace(entry, name=renamed(entry.name)) for entry in directory.lost]
    directory.cut_off = set(map(renamed, directory.cut_off))
    directory.replaced = set(map(renamed, directory.replaced))
    directory.listed = [renamed(name) for name in directory.listed]
