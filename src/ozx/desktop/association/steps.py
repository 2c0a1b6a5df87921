"""The steps that register a file type, as plain data: a plan can be shown, compared and tested anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "COMMENT",
    "EXTENSION",
    "MEDIA_TYPE",
    "NAME",
    "MergePlist",
    "NotifyShell",
    "PutFirst",
    "RunProgram",
    "SetValue",
    "Step",
    "WriteFile",
]

#: RFC-9 names no media type and none is registered: hence the vendor tree, with the suffix of RFC 6839.
MEDIA_TYPE = "application/vnd.ome.zarr+zip"
EXTENSION = ".ozx"
COMMENT = "OME-Zarr image"
#: The name of our files among those of other programs.
NAME = "ozx-toolkit"


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file to write, used only by ozx; the record keeps its previous content."""

    path: str
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class PutFirst:
    """An item to put first in a list, in several sections of a key file that other programs write, too."""

    path: str
    sections: tuple[str, ...]
    key: str
    item: str


@dataclass(frozen=True, slots=True)
class MergePlist:
    """Entries for a property list made by a program of an earlier step; None removes an entry."""

    path: str
    entries: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """A program to run after the steps before it."""

    arguments: tuple[str, ...]  # the program and its arguments
    hint: str  # how to install the program
    folder: str | None = None  # where it makes files. `revert` removes those that were new
    # if other files match this pattern (below `folder`), `revert` keeps the folder and runs `arguments` to update it
    keep: str | None = None
    undo: tuple[str, ...] | None = None  # arguments for `revert`, instead of `arguments`


@dataclass(frozen=True, slots=True)
class SetValue:
    """A string in the Windows registry; the empty `name` is the default value of `key`."""

    key: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NotifyShell:
    """Ask the Windows shell to read its associations again."""


Step = WriteFile | PutFirst | MergePlist | RunProgram | SetValue | NotifyShell
