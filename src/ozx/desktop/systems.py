"""The desktop of this user: which plan, which lookup and which places belong to the system that runs here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ozx.desktop import linux, linux_lookup, macos, macos_lookup, windows, windows_lookup
from ozx.desktop.launching import find_background_viewer, find_ozx
from ozx.desktop.media_type import MEDIA_TYPE
from ozx.desktop.registry import user_registry
from ozx.desktop.status import Status, opener_notes
from ozx.desktop.steps import Step

__all__ = ["Desktop", "this_desktop"]


@dataclass(frozen=True, slots=True)
class Desktop:
    """What is different on each system.

    Attributes
    ----------
    system
        ``linux``, ``macos`` or ``windows``.
    record
        Where the record of an association stands.
    default_viewer
        Returns the command that runs ``ozx view``.
    plan
        Returns the steps for a viewer's command, the command of ozx, and the viewer's name.
    notes
        Returns what the user has to know about these two commands.
    status
        Returns what would open an ``.ozx`` file now.
    """

    system: str
    record: str
    default_viewer: Callable[[], tuple[str, ...]]
    plan: Callable[[tuple[str, ...], tuple[str, ...], str], tuple[Step, ...]]
    notes: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]
    status: Callable[[], Status]


def this_desktop() -> Desktop:
    """Return the desktop of this user on this system."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return _windows(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"))
    if sys.platform == "darwin":
        return _macos(home)
    return _linux(os.environ, home)


def _linux(environment: Mapping[str, str], home: str) -> Desktop:
    places = linux.find_places(environment, home)
    record = linux.record_path(places)

    def status() -> Status:
        is_associated = os.path.exists(record)
        media_type, opener = linux_lookup.find_type(places), linux_lookup.find_opener(places)
        notes = opener_notes(opener, associated=is_associated)
        if is_associated and media_type != MEDIA_TYPE:
            notes.append(f"the MIME database does not have {MEDIA_TYPE} for .ozx files: run ozx associate again")
        return Status("linux", media_type, opener, is_associated, record, tuple(notes))

    return Desktop(
        system="linux",
        record=record,
        default_viewer=lambda: (*find_ozx(), "view"),
        plan=lambda viewer, ozx, name: linux.plan(places, viewer, ozx, name=name),
        notes=lambda viewer, ozx: tuple(
            linux.notes(viewer, ozx, places, has_sandbox=shutil.which("bwrap") is not None)
        ),
        status=status,
    )


def _macos(home: str) -> Desktop:
    record = macos.record_path(home)

    def status() -> Status:
        is_associated = os.path.exists(record)
        opener = macos_lookup.find_opener(home)
        notes = opener_notes(opener, associated=is_associated)
        return Status("macos", macos.TYPE if is_associated else None, opener, is_associated, record, tuple(notes))

    return Desktop(
        system="macos",
        record=record,
        default_viewer=find_background_viewer,
        plan=lambda viewer, _ozx, _name: macos.plan(home, viewer),
        notes=lambda _viewer, _ozx: (),
        status=status,
    )


def _windows(local_data: str) -> Desktop:
    record = windows.record_path(local_data)

    def status() -> Status:
        registry = user_registry()
        is_associated = os.path.exists(record)
        opener = windows_lookup.find_opener(registry) if registry else None
        prog_id = windows_lookup.find_type(registry) if registry else None
        notes = opener_notes(opener, associated=is_associated)
        return Status("windows", prog_id, opener, is_associated, record, tuple(notes))

    return Desktop(
        system="windows",
        record=record,
        default_viewer=find_background_viewer,
        plan=lambda viewer, _ozx, _name: windows.plan(local_data, viewer),
        notes=lambda _viewer, _ozx: (),
        status=status,
    )
