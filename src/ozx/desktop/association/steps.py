"""What can be done to make a file type known: plain data, so that a plan can be shown, compared and tested anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["MergePlist", "PutFirst", "RunProgram", "SetValue", "Step", "TellShell", "WriteFile"]


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file of our own; what stood at its path is kept in the record."""

    path: str
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class PutFirst:
    """An item that becomes the first in a list, in several sections of a key file that other programs write, too."""

    path: str
    sections: tuple[str, ...]
    key: str
    item: str


@dataclass(frozen=True, slots=True)
class MergePlist:
    """Entries of a property list that a program of an earlier step has made; None takes one out."""

    path: str
    entries: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """A program that is run when the steps before it are done.

    Attributes
    ----------
    arguments
        The program and its arguments.
    hint
        How to come by the program where it is missing.
    folder
        Where it makes files. Those that were not there before go when the association goes.
    keep
        Unless files match this pattern (below `folder`): then they serve others, and `arguments` brings them up to
        date.
    undo
        What is run when the association is taken back, instead of `arguments`.
    """

    arguments: tuple[str, ...]
    hint: str
    folder: str | None = None
    keep: str | None = None
    undo: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetValue:
    """A string in the Windows registry; the empty `name` is the default value of `key`."""

    key: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class TellShell:
    """Have the Windows shell look at its associations again."""


Step = WriteFile | PutFirst | MergePlist | RunProgram | SetValue | TellShell
