"""Identification of this computer and its last start, to decide which temporary files may be removed.

On some file systems, locks apply within one computer only (NFS with ``local_lock``, Lustre with ``localflock``). A free
lock therefore proves that the writer is dead only if the writer ran on this computer.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import struct
import sys

#: The pattern of the results of `this_host`, as they appear in file names.
HOST = r"(?P<host>[A-Za-z0-9-]{1,20})-(?P<boot>[0-9a-f]{8})"

#: Seconds by which the clock of a file server may differ from that of this computer.
CLOCKS = 600

_NO_BOOT = "0" * 8
# Of the Windows API: the right to ask a process for its times, an error, and the exit code of a running process.
_QUERY_LIMITED_INFORMATION, _ACCESS_DENIED, _STILL_ACTIVE = 0x1000, 5, 259
# In seconds: Windows counts time from the year 1601.
_FROM_1601_TO_1970 = 11_644_473_600


@functools.cache
def this_host() -> str:
    """Return the name of this computer and its boot identifier, shortened for use in file names.

    The boot identifier is 8 zeros on systems that show none. It identifies the computer until its next restart even if
    the name changes, as it does on macOS with the network.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "-", platform.node().partition(".")[0]).strip("-")[:20] or "host"
    return f"{name}-{_boot_id()}"


def _boot_id() -> str:
    if sys.platform == "darwin":
        return _sysctl(b"kern.bootsessionuuid")[:8].decode("ascii", "replace").lower() or _NO_BOOT
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(8)
    except (OSError, ValueError):
        return _NO_BOOT


@functools.cache
def _boot_time() -> float:
    """Return the time when this computer started, in seconds since 1970; 0 if it is unknown."""
    if sys.platform == "darwin":
        return float(struct.unpack_from("@l", _sysctl(b"kern.boottime").ljust(8, b"\0"))[0])
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)
    except (OSError, ValueError):
        return 0.0


def _sysctl(name: bytes) -> bytes:
    """Return a value of macOS's kernel of at most 64 bytes; empty if there is none."""
    value, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    call = getattr(ctypes.CDLL(None), "sysctlbyname", None)
    if call is None or call(name, value, ctypes.byref(size), None, ctypes.c_size_t(0)):
        return b""
    return value.raw[: size.value]


def is_of_this_host(host: str, boot: str, path: str) -> bool:
    """Return whether this computer wrote a file. If so, the file's lock shows whether the file's writer is alive.

    Containers of one computer have different names and the same boot identifier. After a restart, the computer has the
    same name, and the file is older than the start. A newer file comes from another computer of the same name.
    """
    own_host, _, own_boot = this_host().rpartition("-")
    if boot == own_boot and boot != _NO_BOOT:
        return True
    if host != own_host:
        return False
    return boot == own_boot or os.lstat(path).st_mtime < _boot_time()


def is_alive(process: int, *, since: float | None = None) -> bool:
    """Return whether a process with this number runs on this computer; False if the system cannot tell.

    A process that started well after the time `since` is another one of the same number; asked on Windows only.
    """
    if os.name == "nt":  # os.kill would end the process
        start = _start_on_windows(process)
        return start is not None and (since is None or start <= since + CLOCKS)
    try:
        os.kill(process, 0)
    except PermissionError:  # the process of another user
        return True
    except (OSError, OverflowError):
        return False
    return True


def _start_on_windows(process: int) -> float | None:
    """Return when a process started, in seconds since 1970; None if none runs, 0 if the system does not tell."""
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, ctypes.c_uint32(process)))
    if not handle:
        return 0.0 if ctypes.get_last_error() == _ACCESS_DENIED else None  # type: ignore[attr-defined]
    try:
        code, times = ctypes.c_uint32(), [ctypes.c_uint64() for _ in range(4)]
        if not kernel.GetExitCodeProcess(handle, ctypes.byref(code)) or code.value != _STILL_ACTIVE:
            return None
        if not kernel.GetProcessTimes(handle, *map(ctypes.byref, times)):
            return 0.0
        return times[0].value / 1e7 - _FROM_1601_TO_1970
    finally:
        kernel.CloseHandle(handle)
