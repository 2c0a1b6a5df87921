"""Find the root of a hierarchy: the given folder, or a folder inside it."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ozx.archive.other_formats import describe_names
from ozx.errors import FormatError, UsageError
from ozx.flow.sources.browsing import similar_nodes
from ozx.flow.sources.listing import is_left_out
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA, top_nodes
from ozx.quoting import quote

# Limits of the search for a root below the top.
_DEPTH = 4
_FOLDERS = 1_000
_SHOWN = 5
_ROOT_NAMES = (METADATA, *LEGACY_METADATA[:3])


@dataclass
class FoundRoot:
    """The topmost folders with Zarr metadata, and the files outside of these folders."""

    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def choose_root(nodes: Collection[str], path: str, *, asked: str = "", files: Sequence[str] = ()) -> str:
    """Return the path of the root: the node `asked`, or by default the node that contains all other nodes.

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
            f"expected one hierarchy; found {len(found):,} nodes without a common root: {_few(found)}",
            path=path,
            hint=f"If these are separate images, name one of them: {quote(example)}",
        )
    what = f"{len(files):,} other {'file' if len(files) == 1 else 'files'}: {_few(files)}" if files else "nothing"
    archives = [name for name in files if name.lower().endswith((".ozx", ".zip"))]
    hint = (
        f"Give the path of one file: {quote(os.path.join(path, archives[0]))}"
        if archives and os.path.isdir(path)
        else None
    )
    if not archives:
        what, hint = describe_names(files, path, is_folder=os.path.isdir(path)) or (what, None)
    raise FormatError(
        f"expected an OME-Zarr hierarchy, which has zarr.json or .zgroup; found {what}",
        path=path,
        rule="rfc9/root",
        hint=hint,
    )


def find_root_folder(path: str) -> FoundRoot:
    """Find the topmost nodes in a directory, down to a few folder levels."""
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
                    hint="Give the path of the root folder of the image, the plate or the series.",
                )
            following += _look(path, prefix, found)
        level = following
    found.files += level
    return found


def _look(path: str, prefix: str, found: FoundRoot) -> list[str]:
    """Record the files of a folder, or the folder itself if it is a node; return the sub-folders to search."""
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
