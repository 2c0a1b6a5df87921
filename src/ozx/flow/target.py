"""Where an archive may be written: not into a hierarchy, not into its own source."""

from __future__ import annotations

import os

from ozx.errors import UsageError
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA

__all__ = ["check_place"]


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
