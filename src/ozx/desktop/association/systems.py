"""Choose the file association code for the running operating system."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ozx.desktop.association import linux, macos, windows
from ozx.desktop.association.launching import find_background_viewer, find_converter
from ozx.desktop.association.registry import user_registry
from ozx.desktop.association.status import Status
from ozx.desktop.association.steps import Own, Step


@dataclass(frozen=True, slots=True)
class Desktop:
    """The functions of a file association that differ between operating systems."""

    system: str  # ``linux``, ``macos`` or ``windows``
    default_viewer: Callable[[], tuple[str, ...]]  # returns the command that runs ``ozx view``
    # returns the steps for a viewer's command, the command of ozx, and the viewer's name
    plan: Callable[[tuple[str, ...], tuple[str, ...], str], tuple[Step, ...]]
    own: Own  # what `plan` makes, whichever the viewer
    notes: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]  # returns remarks about these two commands
    status: Callable[[], Status]  # returns the program that opens ``.ozx`` files now


def this_desktop() -> Desktop:
    """Return the desktop functions for this user and operating system."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return _windows(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"))
    if sys.platform == "darwin":
        return _macos(home)
    return _linux(os.environ, home)


def _linux(environment: Mapping[str, str], home: str) -> Desktop:
    places = linux.find_places(environment, home)
    return Desktop(
        system="linux",
        default_viewer=find_background_viewer,
        plan=lambda viewer, ozx, name: linux.plan(places, viewer, ozx, find_converter(), name=name),
        own=linux.own(places),
        notes=lambda viewer, ozx: tuple(
            linux.notes(viewer, ozx, places, has_sandbox=shutil.which("bwrap") is not None)
        ),
        status=lambda: linux.read_status(places),
    )


def _macos(home: str) -> Desktop:
    return Desktop(
        system="macos",
        default_viewer=find_background_viewer,
        plan=lambda viewer, _ozx, _name: macos.plan(home, viewer, find_converter()),
        own=macos.own(home),
        notes=lambda _viewer, _ozx: (),
        status=lambda: macos.read_status(home),
    )


def _windows(local_data: str) -> Desktop:
    return Desktop(
        system="windows",
        default_viewer=find_background_viewer,
        plan=lambda viewer, _ozx, _name: windows.plan(local_data, viewer, find_converter()),
        own=windows.own(local_data),
        notes=lambda _viewer, _ozx: (),
        status=lambda: windows.read_status(user_registry(), local_data),
    )
