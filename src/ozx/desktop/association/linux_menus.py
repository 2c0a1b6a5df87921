"""*Convert to .ozx* in the menus of Linux file managers: the steps that add it."""

from __future__ import annotations

import posixpath
import shlex

from ozx.desktop.association.launching import quoted
from ozx.desktop.association.steps import MEDIA_TYPE, NAME, WriteFile

#: The words in the menus.
CONVERT = "Convert to .ozx"
#: The name of the desktop entry.
CONVERT_ENTRY = f"{NAME}-convert.desktop"

_ICON = MEDIA_TYPE.replace("/", "-")
_TYPES = "image/tiff;inode/directory;"


def converter_entry(data_home: str) -> str:
    """Return the path of the desktop entry in Thunar's menu *Send To*.

    It is not among the applications: there, it would open TIFF files by double-click where no default is set.
    """
    return posixpath.join(data_home, "Thunar/sendto", CONVERT_ENTRY)


def plan_menus(data_home: str, config_home: str, converter: tuple[str, ...]) -> tuple[WriteFile, ...]:
    """Return the steps that let file managers run `converter` with TIFF files and directories."""
    command = f"{quoted(converter)} %F"
    script = f'#!/bin/sh\n# {CONVERT}; written by ozx associate.\nexec {shlex.join(converter)} "$@"\n'
    data = script.encode("utf-8", "surrogateescape")
    return (
        WriteFile(converter_entry(data_home), _entry(command, converter[0])),
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
    )


def _entry(command: str, program: str) -> bytes:
    return _encode(
        "[Desktop Entry]\n"
        "Version=1.0\n"
        "Type=Application\n"
        f"Name={CONVERT}\n"
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
