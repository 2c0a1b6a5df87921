"""Which program would open an .ozx file on Windows now, as the user's part of the registry says it."""

from __future__ import annotations

import os

from ozx.desktop.media_type import EXTENSION
from ozx.desktop.registry import Registry
from ozx.desktop.status import Opener
from ozx.desktop.windows import CLASSES, PROG_ID

__all__ = ["find_opener", "find_type"]

# What the user has chosen in "Open with"; Windows lets nobody else write it.
_CHOICE = rf"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\{EXTENSION}\UserChoice"


def find_type(registry: Registry) -> str | None:
    """Return the ProgID of .ozx files: the user's choice, else the default."""
    return registry.get(_CHOICE, "ProgId") or registry.get(rf"{CLASSES}\{EXTENSION}", "")


def find_opener(registry: Registry) -> Opener | None:
    """Return what the ProgID of .ozx files runs; None where there is none."""
    prog_id = find_type(registry)
    if not prog_id:
        return None
    command = registry.get(rf"{CLASSES}\{prog_id}\shell\open\command", "")
    program = command.split('"')[1] if command and command.startswith('"') else (command or "").partition(" ")[0]
    exists = os.path.exists(program) if command else True
    return Opener(prog_id, command, exists=exists, is_ours=prog_id == PROG_ID)
