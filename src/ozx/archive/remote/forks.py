"""Detection of forked processes, in which obstore does not work.

obstore runs on threads that a forked child does not have: the child's first call would wait forever.
"""

from __future__ import annotations

import os
import sys

from ozx.errors import ResourceError

# Filled in a child whose parent had loaded obstore, for ozx or for zarr-python's own object store.
_FORKED: list[bool] = []


def _note_fork() -> None:
    if not _FORKED and any(name in sys.modules for name in ("obstore", "obstore._obstore")):
        _FORKED.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def is_forked() -> bool:
    """Return whether this process was forked from a process that had loaded obstore.

    Examples
    --------
    >>> is_forked()
    False
    """
    return bool(_FORKED)


def check_not_forked(name: str) -> None:
    """Raise an error if requests are impossible in this process; `name` is the URL for the message."""
    if is_forked():
        raise ResourceError(
            "a directory at a URL cannot be read in a forked process",
            path=name,
            hint="Start worker processes by 'spawn' or 'forkserver' instead of 'fork'.",
        )
