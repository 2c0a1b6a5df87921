"""Where the hierarchy is: at the root, or in a folder of what was meant to be its root."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ozx.errors import FormatError, UsageError
from ozx.flow.sources.browsing import similar_nodes
from ozx.flow.sources.listing import is_left_out
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA, top_nodes

__all__ = ["FoundRoot", "choose_root", "find_root_folder"]

# So far down, and in so many folders, a root is looked for where there is none at the top.
_DEPTH = 4
_FOLDERS = 1_000
_SHOWN = 5
_ROOT_NAMES = (METADATA, *LEGACY_METADATA[:3])


@dataclass
class FoundRoot:
    """Folders that hold metadata of Zarr, of which none is below another, and the files outside of them."""

    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def choose_root(nodes: Collection[str], path: str, *, asked: str = "", files: Sequence[str] = ()) -> str:
    """Return the path of the one node that stands above all others.

    Parameters
    ----------
    nodes
        Paths of all nodes.
    path
        What messages call the archive or directory.
    asked
        The node that the user named instead.
    files
        Some of the files there are, for the message where there is no node.

    Raises
    ------
    UsageError
        Several nodes stand side by side, or there is none of the name `asked`.
    FormatError
        There is no node at all (``rfc9/root``).

    Examples
    --------
    >>> choose_root({"cells.ome.zarr", "cells.ome.zarr/0"}, "cells.zip")
    'cells.ome.zarr'
    """
    if asked:
        if asked not in nodes:
            raise UsageError(f"it has no node {asked!r}", path=path, hint=similar_nodes(asked, nodes))
        return asked
    found = top_nodes(nodes)
    if len(found) == 1:
        return found[0]
    if found:
        example = f"{path}|zip:{found[0]}/" if not os.path.isdir(path) else os.path.join(path, found[0])
        raise UsageError(
            f"expected one hierarchy; found {len(found):,} nodes, and none above them all: {_few(found)}",
            path=path,
            hint=f"If these are images of their own, name one of them: {example}",
        )
    what = f"{len(files):,} other {'file' if len(files) == 1 else 'files'}: {_few(files)}" if files else "nothing"
    archives = [name for name in files if name.lower().endswith((".ozx", ".zip"))]
    raise FormatError(
        f"expected an OME-Zarr hierarchy, which has zarr.json or .zgroup; found {what}",
        path=path,
        rule="rfc9/root",
        hint=f"Name the file itself: {os.path.join(path, archives[0])}" if archives and os.path.isdir(path) else None,
    )


def find_root_folder(path: str) -> FoundRoot:
    """Return where in a directory hierarchies begin; looks a few folders deep, and not into hierarchies.

    Raises
    ------
    FormatError
        There are too many folders to go on (``rfc9/root``).
    OSError
        A folder cannot be read.
    """
    found, level, seen = FoundRoot(), [""], 0
    for _ in range(_DEPTH):
        following: list[str] = []
        for prefix in level:
            seen += 1
            if seen > _FOLDERS:
                raise FormatError(
                    f"expected an OME-Zarr hierarchy; found none in the first {_FOLDERS:,} folders",
                    path=path,
                    rule="rfc9/root",
                    hint="Name the folder whose root is the image, the plate or the series.",
                )
            following += _look(path, prefix, found)
        level = following
    found.files += level
    return found


def _look(path: str, prefix: str, found: FoundRoot) -> list[str]:
    """Take what stands in a folder; return its sub-folders unless it is a node."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(os.path.join(path, prefix)) as entries:
        for entry in entries:
            if not is_left_out(entry):
                (folders if entry.is_dir() else files).append(entry.name)
    if any(name in files for name in _ROOT_NAMES):
        found.folders.append(prefix.removesuffix("/"))
        return []
    found.files += (prefix + name for name in sorted(files))
    return [f"{prefix}{name}/" for name in sorted(folders)]


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
