"""Windows: what registers .ozx for one user (ProgID, extension), and the program that opens .ozx files now.

Written from Microsoft's documentation and not tried on Windows.
"""

from __future__ import annotations

import ntpath
import os
import subprocess

from ozx.desktop import icons
from ozx.desktop.association.changes import (
    COMMENT,
    EXTENSION,
    MEDIA_TYPE,
    NAME,
    NOTIFY_SHELL,
    Command,
    Desktop,
    DesktopChanges,
)
from ozx.desktop.association.registry import Registry
from ozx.desktop.association.status import Opener, Status, converter_notes, opener_notes

PROG_ID = "OzxToolkit.ozx.1"
_CLASSES = r"Software\Classes"
# The menu item "Convert to .ozx" for directories, and for these files with any program that opens them.
_VERB = "OzxToolkit.Convert"
_CONVERTED = (r"SystemFileAssociations\.tif", r"SystemFileAssociations\.tiff", "Directory")
# The user's choice in "Open with"; Windows lets no program write it.
_CHOICE = rf"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\{EXTENSION}\UserChoice"


# In the key of the extension, which other programs use, too.
_SHARED = (
    (rf"{_CLASSES}\{EXTENSION}", "", PROG_ID),
    (rf"{_CLASSES}\{EXTENSION}", "Content Type", MEDIA_TYPE),
    (rf"{_CLASSES}\{EXTENSION}\OpenWithProgids", PROG_ID, ""),
)


def register(changes: DesktopChanges, local_data: str, viewer: Command, converter: Command) -> None:
    """Let a double-click run `viewer` with the file, and let menus run `converter`."""
    icon = _icon(local_data)
    prog_id = rf"{_CLASSES}\{PROG_ID}"
    changes.write(icon, icons.ico())
    changes.set(prog_id, "", COMMENT)
    changes.set(prog_id, "FriendlyTypeName", COMMENT)
    changes.set(rf"{prog_id}\DefaultIcon", "", f'"{icon}",0')
    changes.set(rf"{prog_id}\shell\open\command", "", f'{_command_line(viewer)} "%1"')
    for key, name, text in _SHARED:
        changes.set(key, name, text)
    for kind in _CONVERTED:
        changes.set(rf"{_CLASSES}\{kind}\shell\{_VERB}", "", "Convert to .ozx")
        changes.set(rf"{_CLASSES}\{kind}\shell\{_VERB}", "Icon", f'"{icon}",0')
        changes.set(rf"{_CLASSES}\{kind}\shell\{_VERB}\command", "", f'{_command_line(converter)} "%1"')
    changes.run(NOTIFY_SHELL)


def desktop(local_data: str, registry: Registry | None) -> Desktop:
    """Return how to register, and what is ours in the registry and below ``%LOCALAPPDATA%``."""
    return Desktop(
        "windows",
        lambda changes, viewer, _ozx, converter, _name: register(changes, local_data, viewer, converter),
        lambda: read_status(registry, local_data),
        files=(_icon(local_data),),
        keys=(rf"{_CLASSES}\{PROG_ID}", *(rf"{_CLASSES}\{kind}\shell\{_VERB}" for kind in _CONVERTED)),
        values=_SHARED,
        afterwards=(NOTIFY_SHELL,),
        old=(ntpath.join(local_data, NAME, "association.json"),),
    )


def _icon(local_data: str) -> str:
    return ntpath.join(local_data, NAME, "ozx.ico")


def read_status(registry: Registry | None, local_data: str) -> Status:
    """Return the program that currently opens .ozx files."""
    is_associated = os.path.exists(_icon(local_data))
    opener = find_opener(registry) if registry else None
    prog_id = find_type(registry) if registry else None
    converter = _find_converter(registry) if registry else None
    notes = opener_notes(opener, associated=is_associated) + converter_notes(converter, associated=is_associated)
    return Status("windows", prog_id, opener, converter, is_associated, tuple(notes))


def find_type(registry: Registry) -> str | None:
    """Return the ProgID of .ozx files: the user's choice, else the default."""
    return registry.get(_CHOICE, "ProgId") or registry.get(rf"{_CLASSES}\{EXTENSION}", "")


def find_opener(registry: Registry) -> Opener | None:
    """Return the program to which the ProgID of .ozx files refers, or None."""
    prog_id = find_type(registry)
    if not prog_id:
        return None
    command = registry.get(rf"{_CLASSES}\{prog_id}\shell\open\command", "")
    exists = os.path.exists(_program(command)) if command else True
    return Opener(prog_id, command, exists=exists, is_ours=prog_id == PROG_ID)


def _find_converter(registry: Registry) -> Opener | None:
    command = registry.get(rf"{_CLASSES}\{_CONVERTED[0]}\shell\{_VERB}\command", "")
    return None if not command else Opener(_VERB, command, exists=os.path.exists(_program(command)), is_ours=True)


def _program(command: str) -> str:
    return command.split('"')[1] if command.startswith('"') else command.partition(" ")[0]


def _command_line(viewer: Command) -> str:
    # Always quoted: an unquoted path with spaces may run another program.
    return " ".join(filter(None, [f'"{viewer[0]}"', subprocess.list2cmdline(viewer[1:])])).replace("%", "%%")
