"""Describe the program that currently opens .ozx files, in the same form for every operating system."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.calls import JsonResult


@dataclass(frozen=True, slots=True)
class Opener:
    """A program that the desktop can start."""

    identifier: str  # its name on the desktop: that of a desktop entry, a ProgID or an application
    command: str | None  # if known
    exists: bool
    is_ours: bool  # set by ``ozx associate``


@dataclass(frozen=True, slots=True)
class Status(JsonResult):
    """The program that currently opens ``.ozx`` files, and related settings.

    Attributes
    ----------
    system
        ``linux``, ``macos`` or ``windows``.
    type
        The type of an ``.ozx`` file on this desktop: a media type, a uniform type identifier or a ProgID, or None.
    opens_with
        The program; None if there is none or it cannot be determined.
    converts_with
        The program behind *Convert to .ozx* in the menus of file managers, or None.
    associated
        Whether ``ozx associate`` has run, and ``ozx associate --remove`` has not run since.
    notes
        Faults, one sentence each.
    """

    system: str
    type: str | None
    opens_with: Opener | None
    converts_with: Opener | None
    associated: bool
    notes: tuple[str, ...]
    _SCHEMA = 3


def opener_notes(opener: Opener | None, *, associated: bool) -> list[str]:
    """Return notes on differences from the settings that ``ozx associate`` makes."""
    if opener is None:
        return ["no program opens .ozx files: run ozx associate again"] if associated else []
    if not opener.exists:
        return [f"the program of {opener.identifier} no longer exists: run ozx associate again"]
    if associated and not opener.is_ours:
        return [f'{opener.identifier} is the default now: choose another in "Open with", or run ozx associate again']
    return []


def converter_notes(converter: Opener | None, *, associated: bool) -> list[str]:
    """Return notes on faults of the menu item *Convert to .ozx*."""
    if converter is None:
        return ['"Convert to .ozx" is not in the menus of file managers: run ozx associate again'] if associated else []
    return [] if converter.exists else ['the program of "Convert to .ozx" no longer exists: run ozx associate again']
