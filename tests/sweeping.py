"""A test that does the work of several processes: each looks for leftovers once in every folder."""

from ozx.atomic import temporary

__all__ = ["forget_swept_folders"]


def forget_swept_folders():
    """Have leftovers looked for again, as a new process does."""
    temporary._swept.clear()
