"""Repair the names of entries found in a damaged archive, if the archive's writer spelt most names differently.

`ozx.flow.repair.names` repairs the same spellings in a whole archive. Here only the spelling of the majority counts:
a single odd name is probably damaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from ozx.archive.recovery.evidence import Evidence, LostEntry
from ozx.flow.sources.listing import is_litter
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key

_FOLDER_ENDING = ".zarr"


def repair_found_names(evidence: Evidence) -> tuple[str, ...]:
    """Repair names with backslashes, with a leading ``./``, or below a common folder whose name ends in ``.zarr``."""
    repairs = []
    names = _names(evidence)
    if sum("\\" in name for name in names) > sum("/" in name for name in names):
        _rename(evidence, lambda name: name.replace("\\", "/"))
        repairs.append("the names have backslashes as separators; they became slashes")
    if _is_majority(name.startswith("./") for name in _names(evidence)):
        _rename(evidence, lambda name: name.removeprefix("./"))
        repairs.append("the names begin with './'; this beginning is left out")
    folder = _root_folder(evidence)
    if folder is not None:
        outside = _leave_out(evidence, folder)
        _rename(evidence, lambda name: name.removeprefix(folder))
        others = f"; entries outside of this folder are left out: {outside:,}" if outside else ""
        repairs.append(f"the hierarchy is in the folder {folder!r}, which becomes the root{others}")
    return tuple(repairs)


def _names(evidence: Evidence) -> list[str]:
    return [evidence.entries.names[index] for index in evidence.order.tolist()]


def _is_majority(found: Iterable[bool]) -> bool:
    counts = Counter(found)
    return counts[True] > counts[False]


def _root_folder(evidence: Evidence) -> str | None:
    """Return the path of the folder that contains the hierarchy, with a slash at its end, if its name ends in .zarr.

    No node may be outside of it, not even a damaged one: such a folder could be an image of a series.
    """
    names = _names(evidence)
    known = [*names, *(entry.name for entry in evidence.lost), *evidence.disputed.values(), *evidence.listed]
    folders = {folder for folder in map(_folder_of, known) if folder}
    if len(folders) != 1:
        return None
    (folder,) = folders
    has_others = any(_is_metadata(name) and not name.startswith(folder) for name in known)
    return None if has_others or not _is_majority(name.startswith(folder) for name in names) else folder


def _is_metadata(name: str) -> bool:
    return is_metadata_key(name) or is_legacy_metadata_key(name)


def _folder_of(name: str) -> str:
    *folders, _ = name.split("/")
    for number, part in enumerate(folders, 1):
        if part.endswith(_FOLDER_ENDING):
            return "/".join(folders[:number]) + "/"
    return ""


def _leave_out(evidence: Evidence, folder: str) -> int:
    """Leave out the folder's own entry and the entries outside of the folder; return the number of the latter.

    They count as lost, except files that desktops create.
    """
    entries, kept, outside = evidence.entries, [], 0
    for index in evidence.order.tolist():
        name = entries.names[index]
        if name.startswith(folder) and name != folder:
            kept.append(index)
        elif not folder.startswith(name):
            outside += 1
            if not any(map(is_litter, name.split("/"))):
                reason = f"it is outside of the folder {folder!r} of the hierarchy"
                evidence.lost.append(LostEntry(name, reason, entries.starts[index]))
    evidence.order = np.array(kept, np.int64)
    return outside


def _rename(evidence: Evidence, clean: Callable[[str], str]) -> None:
    """Change all names by `clean`, unless nothing of a name would be left."""

    def renamed(name: str) -> str:
        return clean(name) or name

    evidence.entries.names[:] = map(renamed, evidence.entries.names)
    evidence.disputed = {index: renamed(name) for index, name in evidence.disputed.items()}
    evidence.lost = [replace(entry, name=renamed(entry.name)) for entry in evidence.lost]
    evidence.cut_off = set(map(renamed, evidence.cut_off))
    evidence.replaced = set(map(renamed, evidence.replaced))
    evidence.listed = [renamed(name) for name in evidence.listed]
