"""*Convert to .ozx* in the menus of Linux file managers: the steps that add it."""

from __future__ import annotations

import posixpath
import shlex

from ozx.desktop.association.launching import quoted
from ozx.desktop.association.steps import MEDIA_TYPE, NAME, PutAction, PutLast, Step, WriteFile
from ozx.desktop.association.thunar_actions import make_action

#: The words in the menus.
CONVERT = "Convert to .ozx"
#: The desktop entry that "Open with" of TIFF files shows.
CONVERT_ENTRY = f"{NAME}-convert.desktop"
#: The media type of the files.
TIFF = "image/tiff"

_ICON = MEDIA_TYPE.replace("/", "-")
_TYPES = f"{TIFF};inode/directory;"


def plan_menus(
    data_home: str, config_home: str, config_dirs: tuple[str, ...], converter: tuple[str, ...], opener: str | None
) -> tuple[Step, ...]:
    """Return the steps that let file managers run `converter` with TIFF files and directories.

    Parameters
    ----------
    data_home, config_home, config_dirs
        Folders of the XDG Base Directory Specification.
    converter
        The command, before the files.
    opener
        The desktop entry that opens TIFF files now, and keeps doing so; None if there is none.
    """
    command = f"{quoted(converter)} %F"
    in_thunar = f"{shlex.join(converter).replace('%', '%%')} %F"
    script = f'#!/bin/sh\n# {CONVERT}; written by ozx associate.\nexec {shlex.join(converter)} "$@"\n'
    data = script.encode("utf-8", "surrogateescape")
    applications = posixpath.join(data_home, "applications")
    return (
        # Every desktop, for TIFF files: "Open with".
        WriteFile(posixpath.join(applications, CONVERT_ENTRY), _entry(command, converter[0])),
        # Last, behind the program that a double-click on a TIFF file opens.
        PutLast(posixpath.join(applications, "mimeapps.list"), ("Added Associations",), TIFF, CONVERT_ENTRY, opener),
        # Dolphin
        WriteFile(
            posixpath.join(data_home, f"kio/servicemenus/{CONVERT_ENTRY}"), _service_menu(command), is_executable=True
        ),
        # PCManFM
        WriteFile(posixpath.join(data_home, f"file-manager/actions/{CONVERT_ENTRY}"), _action(command)),
        # Nemo
        WriteFile(posixpath.join(data_home, f"nemo/actions/{NAME}-convert.nemo_action"), _nemo_action(command)),
        # Files (Nautilus) and Caja: the menu "Scripts"
        WriteFile(posixpath.join(data_home, "nautilus/scripts", CONVERT), data, is_executable=True),
        WriteFile(posixpath.join(config_home, "caja/scripts", CONVERT), data, is_executable=True),
        PutAction(
            posixpath.join(config_home, "Thunar/uca.xml"),
            f"{NAME}-convert",
            make_action(f"{NAME}-convert", CONVERT, in_thunar, _ICON, "*.tif;*.tiff;*.TIF;*.TIFF;*.zarr"),
            tuple(posixpath.join(folder, "Thunar/uca.xml") for folder in config_dirs),
        ),
    )


def _entry(command: str, program: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Version=1.0\n"
        "Type=Application\n"
        f"Name={CONVERT}\n"
        "Comment=Convert TIFF files to OME-Zarr images in .ozx files\n"
        f"Exec={command}\n" + (f"TryExec={_string(program)}\n" if program.isprintable() else "") + f"Icon={_ICON}\n"
        "Terminal=false\n"
        "NoDisplay=true\n"
        f"MimeType={TIFF};\n"
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
        f"Name={CONVERT}\n"
        f"Icon={_ICON}\n"
        f"Exec={command}\n"
    )


def _action(command: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Type=Action\n"
        f"Name={CONVERT}\n"
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
        f"Name={CONVERT}\n"
        "Comment=Make an OME-Zarr image in one file\n"
        f"Exec={command}\n"
        f"Icon-Name={_ICON}\n"
        "Selection=notnone\n"
        f"Mimetypes={_TYPES}\n"
        "Quote=double\n"
    )


def _string(text: str) -> str:
    return text.replace("\\", "\\\\")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
