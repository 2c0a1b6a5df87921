"""Describe the registration of a file type as plain data, to show and test it on any system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: RFC-9 names no media type and none is registered: hence the vendor tree, with the suffix of RFC 6839.
MEDIA_TYPE = "application/vnd.ome.zarr+zip"
EXTENSION = ".ozx"
COMMENT = "OME-Zarr image"
#: The name of our files among those of other programs.
NAME = "ozx-toolkit"


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A step that writes a file that only ozx uses."""

    path: str
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class MergePlist:
    """A step that changes entries of a property list made in an earlier step; the value None removes an entry."""

    path: str
    entries: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """A step that runs a program after the previous steps."""

    arguments: tuple[str, ...]  # the program and its arguments
    hint: str = ""  # how to install the program
    makes: str | None = None  # the folder of ours that the program makes; an earlier one is removed before


@dataclass(frozen=True, slots=True)
class SetValue:
    """A step that sets a string in the Windows registry; the empty `name` is the default value of `key`."""

    key: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NotifyShell:
    """A step that requests the Windows shell to reload its file associations."""


Step = WriteFile | MergePlist | RunProgram | SetValue | NotifyShell


@dataclass(frozen=True, slots=True)
class Own:
    """Everything that is ours on a desktop, whichever viewer is set."""

    files: tuple[str, ...] = ()
    folders: dict[str, RunProgram] = field(default_factory=dict)  # each with the program that runs before it goes
    keys: tuple[str, ...] = ()  # registry keys, with all below them
    values: tuple[SetValue, ...] = ()  # in keys that other programs use, too
    afterwards: tuple[RunProgram | NotifyShell, ...] = ()
    old: tuple[str, ...] = ()  # files of earlier versions of ozx
