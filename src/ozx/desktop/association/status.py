"""What would open an .ozx file now: the answer of every system's lookup."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Opener", "Status", "opener_notes"]


@dataclass(frozen=True, slots=True)
class Opener:
    """A program that a desktop starts.

    Attributes
    ----------
    identifier
        What the desktop calls it: a desktop entry, a ProgID, an application.
    command
        What is run, as far as that can be told.
    exists
        Whether the program is there.
    is_ours
        Whether ``ozx associate`` has set it.
    """

    identifier: str
    command: str | None
    exists: bool
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Status:
    """What would open an ``.ozx`` file now.

    Attributes
    ----------
    system
        ``linux``, ``macos`` or ``windows``.
    type
        What the desktop takes an ``.ozx`` file for: a media type, a uniform type identifier or a ProgID; None where
        it knows none.
    opens_with
        The program; None where there is none, or where that cannot be told.
    associated
        Whether ``ozx associate`` has done its work here.
    record
        The file that knows what it did.
    notes
        What is not as it should be, one sentence each.
    """

    system: str
    type: str | None
    opens_with: Opener | None
    associated: bool
    record: str
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer of ``ozx associate --status --json``."""
        return {
            "schema": 1,
            "system": self.system,
            "type": self.type,
            "opens_with": None if self.opens_with is None else asdict(self.opens_with),
            "associated": self.associated,
            "record": self.record,
            "notes": list(self.notes),
        }


def opener_notes(opener: Opener | None, *, associated: bool) -> list[str]:
    """Return what is not as ``ozx associate`` leaves it.

    Examples
    --------
    >>> opener_notes(Opener("napari.desktop", "napari %f", exists=True, is_ours=False), associated=True)
    ['napari.desktop has been chosen instead: choose in "Open with", or run ozx associate again']
    """
    if opener is None:
        return ["nothing is found that opens .ozx files: run ozx associate again"] if associated else []
    if not opener.exists:
        return [f"the program of {opener.identifier} is not there any more: run ozx associate again"]
    if associated and not opener.is_ours:
        return [f'{opener.identifier} has been chosen instead: choose in "Open with", or run ozx associate again']
    return []
