"""associate: makes .ozx known to the desktop of this user, so that a double-click opens a viewer; takes it back."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from ozx.desktop.association.apply import apply, is_in_place
from ozx.desktop.association.launching import find_ozx, parse_viewer
from ozx.desktop.association.record import Record
from ozx.desktop.association.registry import user_registry
from ozx.desktop.association.revert import revert
from ozx.desktop.association.status import Status
from ozx.desktop.association.systems import this_desktop
from ozx.desktop.association.transaction import Action, Transaction, read_or_none
from ozx.errors import UsageError, resource_errors

__all__ = ["Association", "associate", "association_status", "dissociate"]


@dataclass(frozen=True, slots=True)
class Association:
    """What was done to the desktop, or would be.

    Attributes
    ----------
    system
        ``linux``, ``macos`` or ``windows``.
    command
        What a double-click runs, before the name of the file; empty after the association was taken back.
    record
        The file that knows what was done.
    written
        Whether anything was changed: not in a dry run, and not where all is as it should be.
    actions
        Every change, in order.
    notes
        Things worth knowing, one sentence each.
    """

    system: str
    command: tuple[str, ...]
    record: str
    written: bool
    actions: tuple[Action, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer of ``ozx associate --json``."""
        return {
            "schema": 1,
            "system": self.system,
            "command": list(self.command),
            "record": self.record,
            "written": self.written,
            "actions": [{**asdict(action), "detail": list(action.detail)} for action in self.actions],
            "notes": list(self.notes),
        }


@resource_errors()
def associate(*, viewer: str | None = None, dry_run: bool = False) -> Association:
    """Have a double-click on an ``.ozx`` file open it, for this user alone: type, icon, default program, thumbnails.

    All of it is done or, after an error, none. Done twice, it changes nothing; with another viewer, it replaces the
    first. What is changed is written down, so that `dissociate` can take it back.

    Parameters
    ----------
    viewer
        A command line; it gets the file as its last argument. By default ``ozx view``.
    dry_run
        Only tell what would be done.

    Returns
    -------
    Association
        What was done, or with `dry_run` would be, file by file.

    Raises
    ------
    UsageError
        The viewer's program is not there, or it is root's work in the home directory of somebody else.
    ResourceError
        A program that is needed is missing, or fails.
    FormatError, UnsupportedError
        The record of an earlier association cannot be read.
    ResourceError
        A file cannot be written.

    Examples
    --------
    >>> associate(dry_run=True).written
    False
    """
    _check_home()
    desktop = this_desktop()
    chosen = desktop.default_viewer() if viewer is None else parse_viewer(viewer)
    name = "OME-Zarr viewer" if viewer is None else os.path.basename(chosen[0])
    ozx = find_ozx()
    steps = desktop.plan(chosen, ozx, name)
    old = _read_record(desktop.record) or Record()
    transaction = Transaction(user_registry(), is_dry=dry_run)
    is_new = not is_in_place(steps, chosen, old, transaction)
    if is_new:
        with transaction:
            apply(steps, chosen, old, desktop.record, transaction)
    notes = desktop.notes(chosen, ozx)
    if not dry_run:
        notes = (*notes, *desktop.status().notes)
    return Association(
        desktop.system, chosen, desktop.record, is_new and not dry_run, tuple(transaction.actions), notes
    )


@resource_errors()
def dissociate(*, dry_run: bool = False) -> Association:
    """Take back what `associate` did: the home directory is as it was before, file by file.

    Files that somebody else changed since are kept, and listed as kept.

    Parameters
    ----------
    dry_run
        Only tell what would be done.

    Returns
    -------
    Association
        What was taken back, or with `dry_run` would be, file by file.

    Raises
    ------
    UsageError
        It would be root's work in the home directory of somebody else.
    ResourceError
        A program that is needed fails.
    FormatError, UnsupportedError
        The record of what was done cannot be read.
    ResourceError
        A file cannot be written or removed.

    Examples
    --------
    >>> dissociate(dry_run=True).written
    False
    """
    _check_home()
    desktop = this_desktop()
    record = _read_record(desktop.record)
    transaction = Transaction(user_registry(), is_dry=dry_run)
    if record is not None:
        with transaction:
            revert(record, desktop.record, transaction)
    is_written = record is not None and not dry_run
    return Association(desktop.system, (), desktop.record, is_written, tuple(transaction.actions), ())


@resource_errors()
def association_status() -> Status:
    """Return what would open an ``.ozx`` file now.

    Raises
    ------
    UnsupportedError
        In the Windows registry stands something else than text.
    ResourceError
        A file of the desktop cannot be read.

    Examples
    --------
    >>> association_status().system in ("linux", "macos", "windows")
    True
    """
    return this_desktop().status()


def _check_home() -> None:
    """Refuse what ``sudo`` makes of it: files that the user cannot change any more."""
    home = os.path.expanduser("~")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and os.stat(home).st_uid != 0:
        raise UsageError(
            f"expected a home directory of root; {home} belongs to somebody else",
            hint="Run it without sudo: it needs no administrator's rights.",
        )


def _read_record(path: str) -> Record | None:
    data = read_or_none(path)
    return None if data is None else Record.from_bytes(data, path)
