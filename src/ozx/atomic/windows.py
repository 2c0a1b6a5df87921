"""Rules of Windows: possible names, long paths, and files that other programs hold open.

Functions of names take any system's text, so that they can be tested everywhere; the others do nothing elsewhere.
"""

from __future__ import annotations

import ctypes
import ntpath
import os
import re
import sys
import time
from collections.abc import Callable, Iterator

from ozx.errors import ResourceError

IS_WINDOWS = os.name == "nt"

_DEVICES = frozenset(
    [
        "con",
        "prn",
        "aux",
        "nul",
        "conin$",
        "conout$",
        *(f"{port}{number}" for port in ("com", "lpt") for number in "123456789¹²³"),
    ]
)
_FORBIDDEN = frozenset('<>:"|?*\\') | {chr(code) for code in range(32)}
_DRIVE_ALONE = re.compile(r"[A-Za-z]:(?![\\/])")
_LONG, _LONG_SHARE = "\\\\?\\", "\\\\?\\UNC\\"
# Without this prefix Windows refuses paths of 260 characters; temporary names are up to 60 characters longer.
_LONGEST_PLAIN = 190

_Rename = Callable[[str, str], None]

_GENERIC_READ, _DELETE = 0x80000000, 0x00010000
_SHARE_ALL, _OPEN_EXISTING, _BACKUP_SEMANTICS = 7, 3, 0x02000000
_IN_USE = (32, 33)  # ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
# In seconds; virus scanners and indexers hold a new file for some 10 ms.
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.1)


def windows_fault(path: str) -> str | None:
    """Return why Windows cannot have files with the names in `path`, which are separated by slashes; or None."""
    for part in path.split("/"):
        if part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
            return f"{part!r} is the name of a device on Windows"
        if len(part.encode("utf-16-le", "surrogatepass")) > 2 * 255:
            return f"{part!r} is longer than 255 characters"
        if part.endswith((".", " ")):
            return f"{part!r} ends in a dot or a space, which Windows drops"
        if not _FORBIDDEN.isdisjoint(part):
            return f"{part!r} has a character that Windows forbids"
    return None


def output_fault(path: str) -> str | None:
    r"""Return why Windows would not write to `path` itself, but to another file, a device or a stream; or None."""
    if path.startswith("\\\\.\\"):
        return "it names a device"
    if _DRIVE_ALONE.match(path):
        return "after the drive it has no backslash, so that its folder depends on the drive"
    parts = ntpath.splitdrive(path)[1].replace("\\", "/").split("/")
    if not any(parts):
        return "it is a whole drive"
    return windows_fault("/".join(part for part in parts if part not in (".", "..")))


def long_path(path: str, *, windows: bool = IS_WINDOWS) -> str:
    r"""Return an absolute path in the form that may have 32,000 characters; on other systems, `path` itself."""
    if not windows:
        return path
    path = ntpath.abspath(path)
    if path.startswith(("\\\\?\\", "\\\\.\\")):
        return path
    return _LONG_SHARE + path[2:] if path.startswith("\\\\") else _LONG + path


def usable_path(path: str, *, windows: bool = IS_WINDOWS) -> str:
    """Return `path`; if Windows would refuse it for its length, return its long form."""
    is_long = windows and len(ntpath.abspath(path)) > _LONGEST_PLAIN
    return long_path(path, windows=windows) if is_long else path


def joined(folder: str, key: str) -> str:
    """Return the path of a key below `folder`, with the separators that long paths need."""
    return f"{folder}{os.sep}{key}" if os.sep == "/" else os.path.join(folder, key.replace("/", os.sep))


def open_shared(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file for reading; on Windows such that other programs may meanwhile rename, replace or remove it."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 (only there)

        handle = _handle(os.fspath(path), _GENERIC_READ, 0)
        if handle is not None:
            return msvcrt.open_osfhandle(handle, flags)
    return os.open(path, flags)  # raises the usual errors


def is_held(path: str) -> bool:
    """Return whether another program has a file or folder open such that Windows cannot rename or remove it."""
    if sys.platform != "win32":
        return False
    handle = _handle(path, _DELETE, _BACKUP_SEMANTICS)
    if handle is None:
        return ctypes.get_last_error() in _IN_USE
    ctypes.WinDLL("kernel32").CloseHandle(ctypes.c_void_p(handle))
    return False


def _handle(path: str, access: int, flags: int) -> int | None:
    if sys.platform != "win32":
        return None
    open_file = ctypes.WinDLL("kernel32", use_last_error=True).CreateFileW
    open_file.restype, word = ctypes.c_void_p, ctypes.c_ulong
    place, name = ctypes.c_void_p, ctypes.c_wchar_p
    open_file.argtypes = (name, word, word, place, word, word, place)
    handle: int | None = open_file(path, access, _SHARE_ALL, None, _OPEN_EXISTING, flags, None)
    return None if handle in (None, ctypes.c_void_p(-1).value) else handle


def check_not_held(path: str) -> None:
    """Raise an error if another program holds a file, or anything in a folder, open for longer than a moment."""
    for place in _places_of(path) if IS_WINDOWS else ():
        for pause in _PAUSES:
            if not is_held(place):
                break
            time.sleep(pause)
        else:
            raise ResourceError(
                "another program has it open, so that it cannot be replaced",
                path=place,
                hint="Close what shows or reads it (ozx view, napari, Fiji or others), then try again.",
            )


def _places_of(path: str) -> Iterator[str]:
    if os.path.lexists(path) and not os.path.islink(path):
        yield path
        for folder, folders, files in os.walk(path):
            yield from (os.path.join(folder, name) for name in (*folders, *files))


def rename(old: str, new: str, call: _Rename | None = None) -> None:
    """Rename a file or folder; on Windows try again for a moment, because a virus scanner may hold it open."""
    call = call or os.rename
    for pause in _PAUSES if IS_WINDOWS else ():
        try:
            return call(old, new)
        except PermissionError:
            time.sleep(pause)
    try:
        return call(old, new)
    except PermissionError:
        check_not_held(new)
        check_not_held(old)
        raise
