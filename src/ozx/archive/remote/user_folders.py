"""The folder in which ozx stores the caches of a user."""

from __future__ import annotations

import os
import sys


def user_folder(variable: str, unix: str, macos: str) -> str:
    """Return the folder of ozx inside a standard folder of the user.

    Parameters
    ----------
    variable
        The XDG environment variable that contains the standard folder, such as ``XDG_CACHE_HOME``.
    unix, macos
        The usual standard folder on these systems, beginning with ``~``. Windows has one folder for all kinds of data.

    Examples
    --------
    >>> import os
    >>> os.path.basename(user_folder("XDG_CACHE_HOME", "~/.cache", "~/Library/Caches"))
    'ozx'
    """
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser(macos)
    else:
        base = os.environ.get(variable) or os.path.expanduser(unix)
    return os.path.join(base, "ozx")
