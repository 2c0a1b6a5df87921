"""The steps that register a file type, as plain data to show and test on any system; carry them out, or list them."""

from __future__ import annotations

import contextlib
import os
import plistlib
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers.expat import ExpatError

from ozx.atomic.new_file import replacing_file
from ozx.atomic.targets import check_regular
from ozx.desktop.association.registry import Registry
from ozx.errors import FormatError, ResourceError

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


# Make the changes one by one, and list them; in a dry run, only list them.

# Write, change or delete a file or folder, run a program, set or unset a value of the registry.
What = Literal["write", "change", "delete", "run", "set", "unset"]


@dataclass(frozen=True, slots=True)
class Action:
    """One change, made or planned."""

    what: What
    target: str  # the file, the folder, the program with its arguments, or the value's key and name


@dataclass(slots=True)
class DesktopChanges:
    """The changes so far, made or (in a dry run) planned."""

    registry: Registry | None
    is_dry: bool = False
    actions: list[Action] = field(default_factory=list)

    def apply(self, steps: tuple[Step, ...]) -> None:
        """Carry out the steps in order; without a required program, none of them."""
        for step in steps:
            if isinstance(step, RunProgram) and not self.is_dry and shutil.which(step.arguments[0]) is None:
                raise ResourceError(f"the program {step.arguments[0]} is not installed", hint=step.hint)
        for step in steps:
            match step:
                case WriteFile():
                    self._write(step)
                case MergePlist():
                    self._merge(step)
                case RunProgram():
                    self._run(step)
                case SetValue():
                    self._set(step)
                case NotifyShell():
                    self._notify_shell()

    def remove(self, own: Own) -> None:
        """Remove what is ours, and folders and registry keys that become empty."""
        for path in own.files:
            self._delete(path)
        for folder, program in own.folders.items():
            if os.path.lexists(folder):
                self._run_if_installed(program)
                self._delete(folder)
        self._remove_values(own)
        for step in own.afterwards if self.actions else ():
            if isinstance(step, RunProgram):
                self._run_if_installed(step)
            else:
                self._notify_shell()
        # Not earlier: update-mime-database wants the folder of the packages, though it be empty.
        for path in (*own.files, *own.folders) if not self.is_dry else ():
            _remove_empty_folders(os.path.dirname(path))

    def remove_old(self, own: Own) -> None:
        """Remove files of earlier versions of ozx, without a line in the list."""
        for path in own.old if not self.is_dry else ():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(path)
                _remove_empty_folders(os.path.dirname(path))

    def _add(self, what: What, target: str) -> bool:
        self.actions.append(Action(what, target))
        return not self.is_dry

    def _write(self, step: WriteFile) -> None:
        now = read_or_none(step.path)
        if now == step.content or not self._add("write" if now is None else "change", step.path):
            return
        target = os.path.realpath(step.path)
        # XDG Base Directory Specification: missing folders are created for the user alone.
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        _put(target, step.content, mode=0o755 if step.is_executable else None)

    def _merge(self, step: MergePlist) -> None:
        if not self._add("change", step.path):
            return
        try:
            entries = plistlib.loads(read_or_none(step.path) or b"")
        except (plistlib.InvalidFileException, ExpatError, ValueError) as error:
            raise FormatError(f"expected a property list; {error}", path=step.path) from None
        entries = {name: value for name, value in {**entries, **step.entries}.items() if value is not None}
        _put(step.path, plistlib.dumps(entries))

    def _delete(self, path: str) -> None:
        if not os.path.lexists(path) or not self._add("delete", path):
            return
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def _run_if_installed(self, step: RunProgram) -> None:
        if shutil.which(step.arguments[0]) is not None:
            self._run(step)

    def _run(self, step: RunProgram) -> None:
        if step.makes is not None:
            self._delete(step.makes)
        if not self._add("run", " ".join(step.arguments)):
            return
        done = subprocess.run(  # noqa: S603 (ours)
            step.arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
            raise ResourceError(f"{' '.join(step.arguments)} failed: {output}")

    def _set(self, step: SetValue) -> None:
        is_set = self._registry().get(step.key, step.name) == step.value
        if not is_set and self._add("set", f"{step.key}\\{step.name}"):
            self._registry().set(step.key, step.name, step.value)

    def _remove_values(self, own: Own) -> None:
        for value in own.values:
            if self._registry().get(value.key, value.name) == value.value:
                self._unset(value)
        for key in own.keys:
            if self._registry().has_key(key):
                self._delete_key(key)

    def _unset(self, step: SetValue) -> None:
        if self._add("unset", f"{step.key}\\{step.name}"):
            self._registry().delete(step.key, step.name)
            self._remove_empty_keys(step.key)

    def _delete_key(self, key: str) -> None:
        if self._add("delete", key):
            self._registry().delete_key(key)
            self._remove_empty_keys(key.rpartition("\\")[0])

    def _remove_empty_keys(self, key: str) -> None:
        while key.count("\\") > 1 and self._registry().delete_if_empty(key):  # Software\Classes stays
            key = key.rpartition("\\")[0]

    def _notify_shell(self) -> None:
        if self._add("run", "SHChangeNotify"):
            self._registry().notify_shell()

    def _registry(self) -> Registry:
        if self.registry is None:
            raise ResourceError("this system has no registry")
        return self.registry


def read_or_none(path: str) -> bytes | None:
    """Return the bytes of a file, None if it is missing; raise `UsageError` for a directory, device or named pipe."""
    check_regular(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _put(path: str, content: bytes, mode: int | None = None) -> None:
    with replacing_file(path, force=True, mode=mode) as new, open(new.descriptor, "wb", closefd=False) as file:
        file.write(content)


def _remove_empty_folders(folder: str) -> None:
    """Remove a folder and those above it, below the home directory, as long as they are empty."""
    home = os.path.expanduser("~")
    with contextlib.suppress(OSError):  # not empty
        while folder.startswith(home + os.sep):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
