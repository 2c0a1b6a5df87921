"""Where an archive may be written: not into a hierarchy, not into its own source; and what is said of its name."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ozx.errors import UsageError
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA

__all__ = ["check_place", "name_notes", "swept_notes"]


def check_place(source: str, target: str) -> None:
    """Refuse a target inside a hierarchy: it would be a file of that hierarchy from then on.

    RFC-9 (R2, 2026-04-20): "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy".

    Parameters
    ----------
    source
        The file or directory it is made of.
    target
        Where it is to be written.

    Raises
    ------
    UsageError
        `target` lies inside `source`, or inside another hierarchy.
    """
    folder = os.path.realpath(os.path.dirname(os.path.abspath(target)))
    real_source = os.path.realpath(source)
    if os.path.isdir(source) and (folder == real_source or folder.startswith(real_source.rstrip(os.sep) + os.sep)):
        raise UsageError(f"{target} lies inside its own source {source}", hint="Choose a place outside of it.")
    while True:
        for name in (METADATA, *LEGACY_METADATA):
            if os.path.exists(os.path.join(folder, name)):
                raise UsageError(
                    f"{target} would lie inside another hierarchy: {folder} has a {name}; RFC-9 allows no .ozx there",
                    hint="Name an output, or an --out-dir, outside of it.",
                )
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def name_notes(target: str) -> tuple[str, ...]:
    """Return a warning where the name of an archive does not tell what it is, else nothing.

    RFC-9 (R2, 2026-04-20): it should end in ``.ozx``.

    Examples
    --------
    >>> name_notes("cells.ozx"), name_notes("cells.zip")
    ((), ('warning: cells.zip does not end in .ozx; programs will not know it for an OME-Zarr file',))
    """
    if target.lower().endswith(".ozx"):
        return ()
    return (f"warning: {target} does not end in .ozx; programs will not know it for an OME-Zarr file",)


def swept_notes(swept: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each leftover that was removed beside the target.

    Examples
    --------
    >>> swept_notes([".cells.ozx.4711.ozx-tmp"])
    ('removed .cells.ozx.4711.ozx-tmp, left by a run that was killed',)
    """
    return tuple(f"removed {path}, left by a run that was killed" for path in swept)
