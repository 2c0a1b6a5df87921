"""Write entries as objects below a URL; write the root's metadata last, when all other objects are complete.

An object store cannot rename objects, so that the write is not atomic. After an error, ozx removes the objects that it
wrote; if ozx is killed, they stay, without root metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ozx.archive.remote.new_objects import NewObjects
from ozx.errors import OzxError, UsageError
from ozx.flow.entry import Entry
from ozx.hierarchy.keys import LEGACY_METADATA, ROOT_METADATA
from ozx.progress import Progress

# The document that makes it a hierarchy comes last.
_ROOT = (".zmetadata", ".zattrs", ".zarray", ".zgroup", ROOT_METADATA)


def write_prefix(
    url: str,
    entries: Iterable[Entry],
    keys: Iterable[str],
    *,
    force: bool,
    replace_folder: bool,
    check: Callable[[], None],
    progress: Progress,
) -> list[str]:
    """Write entries below a URL; return notes.

    `force`: whether existing objects may be replaced or removed if they are a Zarr hierarchy, or if all of them have
    keys in `keys`, as after a killed run.
    """
    names = set(keys)
    new = NewObjects(url, replace=force or replace_folder)
    try:
        old = set(new.list_keys())
        _check_old(old, names, new.name, force=force, replace_folder=replace_folder)
        try:
            new.remove(old.intersection(_ROOT))  # from now on the old objects are no hierarchy
            late = {}
            for entry in entries:
                if entry.key in _ROOT:
                    late[entry.key] = entry
                    continue
                new.add(entry.key, entry.size, entry.iter_blocks())
                progress.advance(entry.size)
            new.wait()
            new.remove(old - names)
            check()
            for key in sorted(late, key=_ROOT.index):
                new.add(key, late[key].size, late[key].iter_blocks())
                new.wait()
                progress.advance(late[key].size)
        except BaseException as error:
            left = new.abort()
            if isinstance(error, OzxError):
                state = f"{left:,} objects may be left below {new.name}" if left else "The new objects were removed"
                gone = "; the old hierarchy there is incomplete" if old else ""
                error.hint = f"{error.hint or ''} {state}{gone}.".strip()
            raise
    finally:
        new.close()
    replaced = f"{len(old):,} objects were replaced or removed below {new.name}"
    return [replaced] if old else []


def _check_old(old: set[str], names: set[str], url: str, *, force: bool, replace_folder: bool) -> None:
    if not old or replace_folder:
        return
    if not old.intersection((ROOT_METADATA, *LEGACY_METADATA)) and not old <= names:
        raise UsageError(
            f"expected no objects below the URL, or a Zarr hierarchy to replace; found {len(old):,} objects without "
            "zarr.json at the root",
            path=url,
            hint="Choose another name. replace_folder=True removes all of these objects.",
        )
    if not force:
        raise UsageError(
            f"expected no objects below the URL; found {len(old):,}",
            path=url,
            hint="Choose another name, or give force=True to replace a Zarr hierarchy.",
        )
