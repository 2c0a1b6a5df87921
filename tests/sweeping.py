"""A helper of tests that stand for several processes: a process looks for leftovers only once in every folder."""

from ozx.atomic import temporary


def forget_swept_folders():
    """Let ozx look for leftovers again, as a new process does."""
    temporary._swept.clear()
