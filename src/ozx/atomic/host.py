"""Identification of this computer and its last start, to decide which temporary files may be removed.

On some file systems, locks apply within one computer only (NFS with ``local_lock``, Lustre with ``localflock``). A free
lock therefore proves that the writer is dead only if the writer ran on this computer.
"""

from __future__ import annotations

import functools
import os
import platform
import re

__all__ = ["HOST", "is_alive", "is_of_this_host", "this_host"]

#: The pattern of the results of `this_host`, as they appear in file names.
HOST = r"(?P<host>[A-Za-z0-9-]{1,20})-(?P<boot>[0-9a-f]{8})"

_NO_BOOT = "0" * 8


@functools.cache
def this_host() -> str:
    """Return the name of this computer and its boot identifier, shortened for use in file names.

    The boot identifier is 8 zeros on systems that show none.

    Examples
    --------
    >>> import re
    >>> re.fullmatch(HOST, this_host()) is not None
    True
    """
    name = re.sub(r"[^A-Za-z0-9]+", "-", platform.node().partition(".")[0]).strip("-")[:20] or "host"
    return f"{name}-{_boot_id()}"


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(8)
    except (OSError, ValueError):
        return _NO_BOOT


@functools.cache
def _boot_time() -> float:
    """Return the time when this computer started, in seconds since 1970; 0 if it is unknown."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)
    except (OSError, ValueError):
        return 0.0


def is_of_this_host(host: str, boot: str, path: str) -> bool:
    """Return whether this computer wrote a file. If so, the file's lock shows whether the file's writer is alive.

    Containers of one computer have different names and the same boot identifier. After a restart, the computer has the
    same name, and the file is older than the start. A newer file comes from another computer of the same name.

    Parameters
    ----------
    host, boot
        The groups of `HOST` in the file's name.
    path
        The file, whose modification time counts.

    Raises
    ------
    OSError
        The file cannot be examined.
    """
    own_host, _, own_boot = this_host().rpartition("-")
    if boot == own_boot and boot != _NO_BOOT:
        return True
    if host != own_host:
        return False
    return boot == own_boot or os.lstat(path).st_mtime < _boot_time()


def is_alive(process: int) -> bool:
    """Return whether a process with this number runs on this computer; False if the system cannot tell.

    Examples
    --------
    >>> is_alive(os.getpid())
    True
    """
    if os.name == "nt":  # os.kill would end the process
        return False
    try:
        os.kill(process, 0)
    except PermissionError:  # the process of another user
        return True
    except (OSError, OverflowError):
        return False
    return True
