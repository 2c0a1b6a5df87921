"""Which desktop entry would open an .ozx file now, by the specifications of freedesktop.org."""

from __future__ import annotations

import os
import posixpath
import shlex
import shutil
from collections.abc import Iterator

from ozx.desktop import key_file
from ozx.desktop.linux import DEFAULTS, DESKTOP_ENTRY, Places
from ozx.desktop.media_type import EXTENSION, MEDIA_TYPE
from ozx.desktop.status import Opener

__all__ = ["find_opener", "find_type"]

_ENTRY = "Desktop Entry"


def find_type(places: Places) -> str | None:
    """Return the media type that the MIME database has for ``*.ozx``; None where it has none."""
    for folder in (places.data_home, *places.data_dirs):
        for line in _read(posixpath.join(folder, "mime/globs2")).splitlines():
            # weight:type:glob[:flags]
            fields = line.split(":")
            if len(fields) > 2 and fields[2].lower() == f"*{EXTENSION}":
                return fields[1]
    return None


def find_opener(places: Places) -> Opener | None:
    """Return the first of the defaults for .ozx files that is installed, or the first program that offers itself."""
    for identifier in _iter_candidates(places):
        path = _find_entry(identifier, places)
        if path is None:
            continue
        text = _read(path)
        command = key_file.find_value(text, _ENTRY, "Exec")
        program = key_file.find_value(text, _ENTRY, "TryExec") or _first_word(command or "")
        exists = bool(program) and shutil.which(program) is not None
        return Opener(identifier, command, exists=exists, is_ours=identifier == DESKTOP_ENTRY)
    return None


def _iter_candidates(places: Places) -> Iterator[str]:
    """Yield desktop entries in the order of the MIME Applications Associations specification."""
    applications = [posixpath.join(folder, "applications") for folder in (places.data_home, *places.data_dirs)]
    for folder in (places.config_home, *places.config_dirs, *applications):
        for prefix in (*(f"{desktop}-" for desktop in places.desktops), ""):
            text = _read(posixpath.join(folder, f"{prefix}mimeapps.list"))
            yield from _items(key_file.find_value(text, DEFAULTS, MEDIA_TYPE))
    for folder in applications:
        yield from _items(
            key_file.find_value(_read(posixpath.join(folder, "mimeinfo.cache")), "MIME Cache", MEDIA_TYPE)
        )


def _find_entry(identifier: str, places: Places) -> str | None:
    for folder in (places.data_home, *places.data_dirs):
        path = posixpath.join(folder, "applications", identifier)
        if os.path.isfile(path):
            return path
    return None


def _items(value: str | None) -> list[str]:
    return [item.strip() for item in (value or "").split(";") if item.strip()]


def _first_word(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError:  # what nobody can read, the desktop cannot either
        return ""
