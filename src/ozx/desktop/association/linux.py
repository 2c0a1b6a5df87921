"""Linux desktops (freedesktop.org): what registers .ozx, and the program that currently opens .ozx files."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ozx.desktop import icons
from ozx.desktop.association.changes import COMMENT, EXTENSION, MEDIA_TYPE, NAME, Command, Desktop, DesktopChanges
from ozx.desktop.association.open_with import needs_no_quotes, quoted
from ozx.desktop.association.status import Opener, Status, converter_notes, opener_notes

DESKTOP_ENTRY = f"{NAME}.desktop"
_CONVERT_ENTRY = f"{NAME}-convert.desktop"
_ICON = MEDIA_TYPE.replace("/", "-")
_DEFAULTS = "Default Applications"
_MISSING = "Install {0} (apt install {0}; dnf install {0}), then run ozx associate again."

# The local file header of RFC-9's recommended first entry: length of the name at 26, name at 30. The
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

# $0 is the output: an existing file without a suffix (GNOME, MATE), which may be open already (tumbler reads the file
# it has opened). So fill it instead of replacing it.
# The image may be hostile: limit it to 4 GiB of addresses and 30 seconds of CPU time, enough for any thumbnail.
_DRAW = (
    "ulimit -v 4194304; ulimit -t 30; "
    'd=$(mktemp -d) && "$@" "$d/a.png" && cat "$d/a.png" > "$0"; e=$?; rm -rf "$d"; exit $e'
)


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the XDG Base Directory Specification, in search order."""

    data_home: str
    config_home: str
    data_dirs: tuple[str, ...]
    config_dirs: tuple[str, ...]
    desktops: tuple[str, ...] = ()


def find_places(environment: Mapping[str, str], home: str) -> Places:
    """Return the XDG folders of this user."""

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


def register(
    changes: DesktopChanges, places: Places, viewer: Command, ozx: Command, converter: Command, name: str
) -> None:
    """Let a double-click run `viewer`, called `name`, a thumbnail `ozx`, and menus `converter`."""
    changes.write(_package(places), _MIME_PACKAGE.encode())
    for path, picture in _icons(places).items():
        changes.write(path, picture)
    _write_entry(changes, places, viewer, name)
    changes.write(_thumbnailer_path(places), _thumbnailer(ozx))
    for path, content, is_executable in _menus(places, converter):
        changes.write(path, content, is_executable=is_executable)
    touch, update = _updates(places)
    changes.run(touch, "Install coreutils.")
    changes.run(update, _MISSING.format("shared-mime-info"))
    changes.run(("xdg-mime", "default", DESKTOP_ENTRY, MEDIA_TYPE), _MISSING.format("xdg-utils"))


def desktop(places: Places) -> Desktop:
    """Return how to register, and what is ours in the home directory.

    A default program that is not installed counts for no desktop.
    """
    has_sandbox = shutil.which("bwrap") is not None
    return Desktop(
        "linux",
        lambda changes, viewer, ozx, converter, name: register(changes, places, viewer, ozx, converter, name),
        lambda: read_status(places),
        lambda viewer, ozx: notes(viewer, ozx, places, has_sandbox=has_sandbox),
        files=(
            _package(places),
            *_icons(places),
            _launcher(places),
            _entry_path(places),
            _thumbnailer_path(places),
            *(path for path, _, _ in _menus(places, ("ozx-convert",))),
        ),
        afterwards=_updates(places),
        old=(
            posixpath.join(places.data_home, NAME, "association.json"),
            posixpath.join(places.data_home, "applications", _CONVERT_ENTRY),
        ),
    )


def _package(places: Places) -> str:
    return posixpath.join(places.data_home, f"mime/packages/{NAME}.xml")


def _icons(places: Places) -> dict[str, bytes]:
    """Return the pictures of the icon by their paths."""
    pictures = {f"{size}x{size}": (icons.png(size), "png") for size in (48, 256)} | {"scalable": (icons.svg(), "svg")}
    theme = posixpath.join(places.data_home, "icons/hicolor")
    return {f"{theme}/{size}/mimetypes/{_ICON}.{suffix}": picture for size, (picture, suffix) in pictures.items()}


def _thumbnailer_path(places: Places) -> str:
    return posixpath.join(places.data_home, f"thumbnailers/{NAME}.thumbnailer")


def _entry_path(places: Places) -> str:
    return posixpath.join(places.data_home, "applications", DESKTOP_ENTRY)


def _updates(places: Places) -> tuple[Command, Command]:
    return (
        # Running programs look for new icons when the theme's folder becomes newer.
        ("touch", "-c", posixpath.join(places.data_home, "icons/hicolor")),
        ("update-mime-database", posixpath.join(places.data_home, "mime")),
    )


# *Convert to .ozx* in the menus of file managers.

_CONVERT = "Convert to .ozx"
_TYPES = "image/tiff;inode/directory;"


def _converter_entry(places: Places) -> str:
    """Return the path of the desktop entry in Thunar's menu *Send To*.

    It is not among the applications: there, it would open TIFF files by double-click where no default is set.
    """
    return posixpath.join(places.data_home, "Thunar/sendto", _CONVERT_ENTRY)


def _menus(places: Places, converter: Command) -> tuple[tuple[str, bytes, bool], ...]:
    """Return the files by which file managers run `converter`: path, content, and whether the file is executable."""
    command = f"{quoted(converter)} %F"
    script = _encode(f'#!/bin/sh\n# {_CONVERT}; written by ozx associate.\nexec {shlex.join(converter)} "$@"\n')
    data, config = places.data_home, places.config_home
    return (
        (_converter_entry(places), _send_to(command, converter[0]), False),
        # Dolphin
        (posixpath.join(data, f"kio/servicemenus/{_CONVERT_ENTRY}"), _service_menu(command), True),
        # PCManFM
        (posixpath.join(data, f"file-manager/actions/{_CONVERT_ENTRY}"), _action(command), False),
        # Nemo
        (posixpath.join(data, f"nemo/actions/{NAME}-convert.nemo_action"), _nemo_action(command), False),
        # Files (Nautilus) and Caja: the menu "Scripts"
        (posixpath.join(data, "nautilus/scripts", _CONVERT), script, True),
        (posixpath.join(config, "caja/scripts", _CONVERT), script, True),
    )


def _send_to(command: str, program: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Version=1.0\n"
        "Type=Application\n"
        f"Name={_CONVERT}\n"
        "Comment=Convert TIFF files and OME-Zarr folders to .ozx files\n"
        f"Exec={command}\n" + (f"TryExec={_string(program)}\n" if program.isprintable() else "") + f"Icon={_ICON}\n"
        "Terminal=false\n"
        f"MimeType={_TYPES}\n"
    )


def _service_menu(command: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Type=Service\n"
        "X-KDE-ServiceTypes=KonqPopupMenu/Plugin\n"
        f"MimeType={_TYPES}\n"
        "Actions=convert;\n"
        "\n"
        "[Desktop Action convert]\n"
        f"Name={_CONVERT}\n"
        f"Icon={_ICON}\n"
        f"Exec={command}\n"
    )


def _action(command: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Type=Action\n"
        f"Name={_CONVERT}\n"
        f"Icon={_ICON}\n"
        "Profiles=convert;\n"
        "\n"
        "[X-Action-Profile convert]\n"
        f"MimeTypes={_TYPES}\n"
        f"Exec={command}\n"
    )


def _nemo_action(command: str) -> bytes:
    return _encode(
        "[Nemo Action]\n"
        "Active=true\n"
        f"Name={_CONVERT}\n"
        "Comment=Make an OME-Zarr image in one file\n"
        f"Exec={command}\n"
        f"Icon-Name={_ICON}\n"
        "Selection=notnone\n"
        f"Mimetypes={_TYPES}\n"
        "Quote=double\n"
    )


def notes(viewer: Command, ozx: Command, places: Places, *, has_sandbox: bool) -> list[str]:
    """Return notes on paths that some desktops cannot use."""
    found = []
    if not needs_no_quotes(viewer) and not needs_no_quotes((_launcher(places),)):
        found.append(
            f"the path {places.data_home} needs quotes, which file managers support, but xdg-open 1.1.3 does not"
        )
    if has_sandbox and not ozx[0].startswith("/usr/"):
        found.append(
            f"GNOME runs thumbnail programs only from /usr, and {ozx[0]} is elsewhere: GNOME shows only thumbnails "
            "that ozx thumbnail FILE --cache made; other file managers show all"
        )
    return found


def read_status(places: Places) -> Status:
    """Return the program that currently opens .ozx files."""
    is_associated = os.path.exists(_entry_path(places))
    media_type, opener = find_type(places), find_opener(places)
    fault = find_fault(_read(_mimeapps(places)))
    if fault is None:
        found = opener_notes(opener, associated=is_associated)
    else:
        found = [f"line {fault} of {_mimeapps(places)} is faulty, and desktops ignore the whole file: correct the line"]
    if is_associated and media_type != MEDIA_TYPE:
        found.append(f"the MIME database does not have {MEDIA_TYPE} for .ozx files: run ozx associate again")
    converter = _opener(_CONVERT_ENTRY, _converter_entry(places))
    found += converter_notes(converter, associated=is_associated)
    return Status("linux", media_type, opener, converter, is_associated, tuple(found))


def find_type(places: Places) -> str | None:
    """Return the media type of ``*.ozx`` in the MIME database, or None."""
    for folder in (places.data_home, *places.data_dirs):
        for line in _read(posixpath.join(folder, "mime/globs2")).splitlines():
            # weight:type:glob[:flags]
            fields = line.split(":")
            if len(fields) > 2 and fields[2].lower() == f"*{EXTENSION}":
                return fields[1]
    return None


def find_opener(places: Places) -> Opener | None:
    """Return the first installed default program for .ozx files, else the first program that declares support."""
    found = (
        _opener(identifier, _find_entry(identifier, places)) for identifier in _iter_candidates(places, MEDIA_TYPE)
    )
    return next((opener for opener in found if opener is not None), None)


def _mimeapps(places: Places) -> str:
    return posixpath.join(places.config_home, "mimeapps.list")


def _launcher(places: Places) -> str:
    return posixpath.join(places.data_home, NAME, "open")


def _write_entry(changes: DesktopChanges, places: Places, viewer: Command, name: str) -> None:
    """Write the desktop entry; if the viewer's command needs quotes, also a script, which the entry then calls."""
    launcher = _launcher(places)
    # Desktop entries cannot hold names that are not UTF-8.
    program = viewer[0] if viewer[0].isprintable() else launcher
    if not needs_no_quotes(viewer) and needs_no_quotes((launcher,)):
        script = f'#!/bin/sh\n# Opens .ozx files; written by ozx associate.\nexec {shlex.join(viewer)} "$@"\n'
        changes.write(launcher, _encode(script), is_executable=True)
        viewer = (launcher,)
    entry = (
        "[Desktop Entry]\n"
        "Version=1.0\n"
        "Type=Application\n"
        f"Name={_string(name)}\n"
        f"Comment=Open OME-Zarr images in {EXTENSION} files\n"
        f"Exec={quoted(viewer)} %f\n"
        f"TryExec={_string(program)}\n"
        f"Icon={_ICON}\n"
        "Terminal=false\n"
        "NoDisplay=true\n"
        f"MimeType={MEDIA_TYPE};\n"
    )
    changes.write(_entry_path(places), entry.encode("utf-8", "replace"))


def _thumbnailer(ozx: Command) -> bytes:
    # Quoted for a shell, not for a desktop entry.
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


def _opener(identifier: str, path: str | None) -> Opener | None:
    """Return the program of a desktop entry; None if there is no such file."""
    if path is None or not os.path.isfile(path):
        return None
    text = _read(path)
    command = find_value(text, "Desktop Entry", "Exec")
    program = find_value(text, "Desktop Entry", "TryExec") or _first_word(command or "")
    exists = bool(program) and shutil.which(program) is not None
    return Opener(identifier, command, exists=exists, is_ours=identifier in (DESKTOP_ENTRY, _CONVERT_ENTRY))


def _iter_candidates(places: Places, media_type: str) -> Iterator[str]:
    """Yield the desktop entries for a type in the order of the MIME Applications Associations specification."""
    applications = [posixpath.join(folder, "applications") for folder in (places.data_home, *places.data_dirs)]
    for folder in (places.config_home, *places.config_dirs, *applications):
        for prefix in (*(f"{desktop}-" for desktop in places.desktops), ""):
            text = _read(posixpath.join(folder, f"{prefix}mimeapps.list"))
            if find_fault(text) is None:
                yield from _items(find_value(text, _DEFAULTS, media_type))
    for folder in applications:
        yield from _items(find_value(_read(posixpath.join(folder, "mimeinfo.cache")), "MIME Cache", media_type))


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
    except OSError:  # the desktop cannot read it either
        return ""


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADER = re.compile(r"\s*\[(?P<section>[^\]\r\n]*)\]\s*")
# GLib allows no brackets or control characters in a section's name, and in a key only a locale's brackets.
_VALID_HEADER = re.compile(r"\s*\[[^\[\]\x00-\x1f\x7f]+\]\s*")
_VALID_ENTRY = re.compile(r"\s*[^=\[\]#\s][^=\[\]]*(\[[^=\[\]]*\])?\s*=.*", re.DOTALL)
_ENTRY = re.compile(r"\s*(?P<key>[^=#\s][^=\r\n]*?)\s*=[ \t]*(?P<value>[^\r\n]*?)\s*")


def find_fault(text: str) -> int | None:
    r"""Return the number of the first line that makes GLib reject the whole file, or None.

    Examples
    --------
    >>> find_fault("# mine\n[A]\nx=1\n"), find_fault("[A]\nx=1\nwhat?\n")
    (None, 3)
    """
    section = None
    for number, line in enumerate(_LINE.findall(text), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _VALID_HEADER.fullmatch(line):
            section = line
        elif section is None or not _VALID_ENTRY.fullmatch(line):
            return number
    return None


def find_value(text: str, section: str, key: str) -> str | None:
    r"""Return the last value of `key`, or None.

    Examples
    --------
    >>> find_value("x=1\n[A]\nx=2\nx = 3;\n#[B]\n", "A", "x"), find_value("x=1\n[A]\n", "A", "x")
    ('3;', None)
    """
    found = None
    inside = None
    for line in _LINE.findall(text):
        if header := _HEADER.fullmatch(line):
            inside = header["section"] or inside
        elif inside == section and (entry := _ENTRY.fullmatch(line)) and entry["key"] == key:
            found = entry["value"]
    return found
