"""Register .ozx with the desktop of this user, so that a double-click opens a viewer; or remove the registration."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ozx.calls import JsonResult
from ozx.desktop.association import linux, macos, windows
from ozx.desktop.association.changes import Desktop, DesktopChange, DesktopChanges
from ozx.desktop.association.open_with import find_background_viewer, find_converter, find_ozx, parse_viewer
from ozx.desktop.association.registry import user_registry
from ozx.desktop.association.status import Status
from ozx.errors import UsageError, resource_errors


def _this_desktop() -> Desktop:
    """Return what is to do for this user on this operating system."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        local_data = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return windows.desktop(local_data, user_registry())
    if sys.platform == "darwin":
        return macos.desktop(home)
    return linux.desktop(linux.find_places(os.environ, home))


@dataclass(frozen=True, slots=True)
class Association(JsonResult):
    """The changes to the desktop, made or only planned.

    Attributes
    ----------
    system
        ``linux``, ``macos`` or ``windows``.
    command
        The command of a double-click, before the name of the file; empty after `dissociate`.
    written
        Whether anything was changed: False in a dry run, and if no change was necessary.
    actions
        Every change, in order.
    notes
        Remarks, one sentence each.
    """

    system: str
    command: tuple[str, ...]
    written: bool
    actions: tuple[DesktopChange, ...]
    notes: tuple[str, ...]
    _SCHEMA = 3


@resource_errors()
def associate(*, viewer: str | None = None, dry_run: bool = False) -> Association:
    """Register a viewer for ``.ozx`` files for this user only: file type, icon, default program, thumbnails.

    ozx writes files of its own, on Windows registry values of its own, and programs of the desktop do the rest. A
    second call with the same viewer changes nothing; a call with another viewer replaces the first viewer.

    Parameters
    ----------
    viewer
        A command line; the file is appended. By default ``ozx view``.
    dry_run
        Only list the changes.

    Returns
    -------
    Association
        The changes, or with `dry_run` the planned ones, file by file.

    Raises
    ------
    UsageError
        The viewer's program is missing, or root runs this in another user's home directory.
    ResourceError
        A required program is missing or fails, or a file cannot be written.

    Examples
    --------
    >>> associate(dry_run=True).written
    False
    """
    _check_home()
    desktop = _this_desktop()
    chosen = find_background_viewer() if viewer is None else parse_viewer(viewer)
    name = "OME-Zarr viewer" if viewer is None else os.path.basename(chosen[0])
    ozx, converter = find_ozx(), find_converter()
    changes = DesktopChanges(user_registry(), is_dry=dry_run)
    changes.remove_old(desktop)
    planned = DesktopChanges(changes.registry, is_dry=True)
    desktop.register(planned, chosen, ozx, converter, name)
    # Programs run each time, so they do not count, unless something is wrong.
    if any(action.what != "run" for action in planned.actions) or desktop.status().notes:
        if not dry_run:
            planned.check_programs()  # without one, nothing is changed
        desktop.register(changes, chosen, ozx, converter, name)
    notes = tuple(desktop.notes(chosen, ozx))
    if not dry_run:
        notes = (*notes, *desktop.status().notes)
    return Association(desktop.system, chosen, bool(changes.actions) and not dry_run, tuple(changes.actions), notes)


@resource_errors()
def dissociate(*, dry_run: bool = False) -> Association:
    """Remove the files, applets and registry values of `associate`; nothing of other programs.

    Parameters
    ----------
    dry_run
        Only list the changes.

    Returns
    -------
    Association
        What was removed, or with `dry_run` what would be.

    Raises
    ------
    UsageError
        Root runs this in another user's home directory.
    ResourceError
        A program of the desktop fails, or a file cannot be removed.

    Examples
    --------
    >>> dissociate(dry_run=True).written
    False
    """
    _check_home()
    desktop = _this_desktop()
    changes = DesktopChanges(user_registry(), is_dry=dry_run)
    changes.remove_old(desktop)
    changes.remove(desktop)
    return Association(desktop.system, (), bool(changes.actions) and not dry_run, tuple(changes.actions), ())


@resource_errors()
def association_status() -> Status:
    """Return the program that currently opens ``.ozx`` files.

    Raises
    ------
    UnsupportedError
        A value in the Windows registry is not text.
    ResourceError
        A file of the desktop cannot be read.

    Examples
    --------
    >>> association_status().system in ("linux", "macos", "windows")
    True
    """
    return _this_desktop().status()


def _check_home() -> None:
    """Raise an error under ``sudo``, which would create files that the user cannot change."""
    home = os.path.expanduser("~")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and os.stat(home).st_uid != 0:
        raise UsageError(
            f"running as root, but {home} belongs to another user",
            hint="Run ozx associate without sudo; it needs no administrator rights.",
        )
