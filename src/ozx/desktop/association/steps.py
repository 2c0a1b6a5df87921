"""Describe the steps of a file type registration as plain data, to show, compare and test them on any system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: RFC-9 names no media type and none is registered: hence the vendor tree, with the suffix of RFC 6839.
MEDIA_TYPE = "application/vnd.ome.zarr+zip"
EXTENSION = ".ozx"
COMMENT = "OME-Zarr image"
#: The name of our files among those of other programs.
NAME = "ozx-toolkit"


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A step that writes a file that only ozx uses; the record keeps the file's previous content."""

    path: str
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class PutFirst:
    """A step that puts an item first in the list of a key, in each given section of an INI-like file.

    Other programs also edit such a file, for example ``mimeapps.list``.
    """

    path: str
    sections: tuple[str, ...]
    key: str
    item: str


@dataclass(frozen=True, slots=True)
class PutLast:
    """A step that adds an item to a list in an INI-like file, such as ``mimeapps.list``, if the list lacks the item.

    The item comes last. If the list is empty, the item `ahead` comes before it.
    """

    path: str
    sections: tuple[str, ...]
    key: str
    item: str
    ahead: str | None = None


@dataclass(frozen=True, slots=True)
class PutAction:
    """A step that adds an action to a file of Thunar; a missing file is copied from the first existing base file."""

    path: str
    identifier: str
    action: str
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergePlist:
    """A step that changes entries of a property list made in an earlier step; the value None removes an entry."""

    path: str
    entries: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """A step that runs a program after the previous steps."""

    arguments: tuple[str, ...]  # the program and its arguments
    hint: str  # how to install the program
    folder: str | None = None  # where the program makes files. `revert` removes the new ones
    # if other files match this pattern (below `folder`), `revert` keeps the folder and runs `arguments` to update it
    keep: str | None = None
    undo: tuple[str, ...] | None = None  # arguments for `revert`, instead of `arguments`


@dataclass(frozen=True, slots=True)
class SetValue:
    """A step that sets a string in the Windows registry; the empty `name` is the default value of `key`."""

    key: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NotifyShell:
    """A step that requests the Windows shell to reload its file associations."""


Step = WriteFile | PutFirst | PutLast | PutAction | MergePlist | RunProgram | SetValue | NotifyShell
