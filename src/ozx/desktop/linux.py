"""Which steps make .ozx known to the desktops of Linux, by the specifications of freedesktop.org."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from ozx.desktop import icons
from ozx.desktop.launching import needs_no_quotes, quoted
from ozx.desktop.media_type import COMMENT, EXTENSION, MEDIA_TYPE, NAME
from ozx.desktop.steps import PutFirst, RunProgram, Step, WriteFile

__all__ = ["DEFAULTS", "DESKTOP_ENTRY", "Places", "find_places", "notes", "plan", "record_path"]

DESKTOP_ENTRY = f"{NAME}.desktop"
DEFAULTS = "Default Applications"
# Keeps us in "Open with" when another default is chosen; the entry's MimeType needs a cache of all entries for that.
_ADDED = "Added Associations"

_MISSING = "Install shared-mime-info (apt install shared-mime-info; dnf install shared-mime-info), then run it again."

# The local file header of the first entry, as RFC-9 recommends it: the length of its name at 26, the name at 30. The
# priority is above that of ZIP files (40).
_MIME_PACKAGE = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="{MEDIA_TYPE}">
    <comment>{COMMENT}</comment>
    <sub-class-of type="application/zip"/>
    <generic-icon name="image-x-generic"/>
    <magic priority="60">
      <match type="string" value="PK\\003\\004" offset="0">
        <match type="little16" value="9" offset="26">
          <match type="string" value="zarr.json" offset="30"/>
        </match>
      </match>
    </magic>
    <glob pattern="*{EXTENSION}"/>
  </mime-type>
</mime-info>
"""

# $0 is the output: a file that exists, under a name without a suffix (GNOME, MATE), and may be open already (tumbler
# reads what it has opened). So it is filled, and not replaced by a new file of its name.
_DRAW = 'd=$(mktemp -d) && "$@" "$d/a.png" && cat "$d/a.png" > "$0"; e=$?; rm -rf "$d"; exit $e'


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the XDG Base Directory Specification, in the order in which they are searched."""

    data_home: str
    config_home: str
    data_dirs: tuple[str, ...]
    config_dirs: tuple[str, ...]
    desktops: tuple[str, ...] = ()


def find_places(environment: Mapping[str, str], home: str) -> Places:
    """Return where this user's desktop looks.

    Examples
    --------
    >>> find_places({"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "not/absolute"}, "/home/me").config_home
    '/home/me/.config'
    """

    def one(name: str, default: str) -> str:
        # "All paths set in these environment variables must be absolute"; relative ones are ignored.
        value = environment.get(name, "")
        return posixpath.normpath(value) if posixpath.isabs(value) else default

    def many(name: str, default: str) -> tuple[str, ...]:
        folders = (environment.get(name) or default).split(":")
        return tuple(posixpath.normpath(folder) for folder in folders if posixpath.isabs(folder))

    return Places(
        data_home=one("XDG_DATA_HOME", posixpath.join(home, ".local/share")),
        config_home=one("XDG_CONFIG_HOME", posixpath.join(home, ".config")),
        data_dirs=many("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
        config_dirs=many("XDG_CONFIG_DIRS", "/etc/xdg"),
        desktops=tuple(name.lower() for name in environment.get("XDG_CURRENT_DESKTOP", "").split(":") if name),
    )


def record_path(places: Places) -> str:
    """Return the file that says what was done."""
    return posixpath.join(places.data_home, NAME, "association.json")


def plan(places: Places, viewer: tuple[str, ...], ozx: tuple[str, ...], *, name: str) -> tuple[Step, ...]:
    """Return the steps after which a double-click runs `viewer` with the file, and `ozx` draws the thumbnails."""
    mime = posixpath.join(places.data_home, "mime")
    theme = posixpath.join(places.data_home, "icons/hicolor")
    touch = ("touch", "-c", theme)
    pictures = {f"{size}x{size}": (icons.png(size), "png") for size in (48, 256)} | {"scalable": (icons.svg(), "svg")}
    return (
        WriteFile(posixpath.join(mime, f"packages/{NAME}.xml"), _MIME_PACKAGE.encode()),
        *(
            WriteFile(f"{theme}/{size}/mimetypes/{MEDIA_TYPE.replace('/', '-')}.{suffix}", picture)
            for size, (picture, suffix) in pictures.items()
        ),
        # Programs that run already look for new icons when the folder of the theme is newer than what they know.
        RunProgram(touch, "Install coreutils.", undo=touch),
        *_entry(places, viewer, name),
        WriteFile(posixpath.join(places.data_home, f"thumbnailers/{NAME}.thumbnailer"), _thumbnailer(ozx)),
        PutFirst(posixpath.join(places.config_home, "mimeapps.list"), (DEFAULTS, _ADDED), MEDIA_TYPE, DESKTOP_ENTRY),
        RunProgram(("update-mime-database", mime), _MISSING, folder=mime, keep="packages/*.xml"),
    )


def notes(viewer: tuple[str, ...], ozx: tuple[str, ...], places: Places, *, has_sandbox: bool) -> list[str]:
    """Return what the user has to know about paths that some desktops cannot use."""
    found = []
    if not needs_no_quotes(viewer) and not needs_no_quotes((_launcher(places),)):
        found.append(
            f"the path {places.data_home} needs quotes: file managers open .ozx files, xdg-open 1.1.3 does not"
        )
    if has_sandbox and not ozx[0].startswith("/usr/"):
        found.append(
            f"GNOME runs thumbnailers where only /usr is to be seen, and {ozx[0]} is not: other file managers show "
            "thumbnails, GNOME's those made with ozx thumbnail FILE --cache"
        )
    return found


def _launcher(places: Places) -> str:
    return posixpath.join(places.data_home, NAME, "open")


def _entry(places: Places, viewer: tuple[str, ...], name: str) -> tuple[WriteFile, ...]:
    """Return the desktop entry and, where the viewer's command needs quotes, a script that needs none."""
    files = []
    launcher = _launcher(places)
    # Names that are not UTF-8 have no place in a desktop entry.
    program = viewer[0] if viewer[0].isprintable() else launcher
    if not needs_no_quotes(viewer) and needs_no_quotes((launcher,)):
        script = f'#!/bin/sh\n# Opens .ozx files; written by ozx associate.\nexec {shlex.join(viewer)} "$@"\n'
        files.append(WriteFile(launcher, _encode(script), is_executable=True))
        viewer = (launcher,)
    entry = (
        "[Desktop Entry]\n"
        "Version=1.0\n"
        "Type=Application\n"
        f"Name={_string(name)}\n"
        f"Comment=Open OME-Zarr images in {EXTENSION} files\n"
        f"Exec={quoted(viewer)} %f\n"
        f"TryExec={_string(program)}\n"
        f"Icon={MEDIA_TYPE.replace('/', '-')}\n"
        "Terminal=false\n"
        "NoDisplay=true\n"
        f"MimeType={MEDIA_TYPE};\n"
    )
    return (
        *files,
        WriteFile(posixpath.join(places.data_home, "applications", DESKTOP_ENTRY), entry.encode("utf-8", "replace")),
    )


def _thumbnailer(ozx: tuple[str, ...]) -> bytes:
    # Read by a shell's rules, not by those of desktop entries.
    command = shlex.join(ozx).replace("%", "%%")
    return _encode(
        "[Thumbnailer Entry]\n"
        f"TryExec={_string(ozx[0])}\n"
        f"Exec=sh -c {shlex.quote(_DRAW)} %o {_string(command)} thumbnail --size %s %i\n"
        f"MimeType={MEDIA_TYPE};\n"
    )


def _string(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
