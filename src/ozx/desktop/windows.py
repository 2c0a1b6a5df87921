"""Which steps make .ozx known to Windows, for one user: a ProgID, and the extension that leads to it.

Written from Microsoft's documentation and not tried on Windows.
"""

from __future__ import annotations

import ntpath
import subprocess

from ozx.desktop import icons
from ozx.desktop.media_type import COMMENT, EXTENSION, MEDIA_TYPE, NAME
from ozx.desktop.steps import SetValue, Step, TellShell, WriteFile

__all__ = ["CLASSES", "PROG_ID", "plan", "record_path"]

CLASSES = r"Software\Classes"
PROG_ID = "OzxToolkit.ozx.1"


def record_path(local_data: str) -> str:
    """Return the file that says what was done, in the folder that ``%LOCALAPPDATA%`` names."""
    return ntpath.join(local_data, NAME, "association.json")


def plan(local_data: str, viewer: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps after which a double-click runs `viewer` with the file."""
    icon = ntpath.join(local_data, NAME, "ozx.ico")
    extension, prog_id = rf"{CLASSES}\{EXTENSION}", rf"{CLASSES}\{PROG_ID}"
    return (
        WriteFile(icon, icons.ico()),
        SetValue(prog_id, "", COMMENT),
        SetValue(prog_id, "FriendlyTypeName", COMMENT),
        SetValue(rf"{prog_id}\DefaultIcon", "", f'"{icon}",0'),
        SetValue(rf"{prog_id}\shell\open\command", "", f'{_command_line(viewer)} "%1"'),
        SetValue(extension, "", PROG_ID),
        SetValue(extension, "Content Type", MEDIA_TYPE),
        SetValue(rf"{extension}\OpenWithProgids", PROG_ID, ""),
        TellShell(),
    )


def _command_line(viewer: tuple[str, ...]) -> str:
    # Always with quotes: a path with spaces that has none may run another program.
    return " ".join(filter(None, [f'"{viewer[0]}"', subprocess.list2cmdline(viewer[1:])])).replace("%", "%%")
