"""What is made and removed to register a file type, the same for every system; make the changes, or only list them."""

from __future__ import annotations

import contextlib
import os
import plistlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers.expat import ExpatError

from ozx.atomic.new_file import replacing_file
from ozx.atomic.targets import check_regular
from ozx.desktop.association.registry import Registry
from ozx.desktop.association.status import Status
from ozx.errors import FormatError, ResourceError

#: RFC-9 names no media type and none is registered: hence the vendor tree, with the suffix of RFC 6839.
MEDIA_TYPE = "application/vnd.ome.zarr+zip"
EXTENSION = ".ozx"
COMMENT = "OME-Zarr image"
#: The name of our files among those of other programs.
NAME = "ozx-toolkit"

#: A program and its arguments.
Command = tuple[str, ...]


#: The program that requests the Windows shell to reload its file associations: a function of the system.
NOTIFY_SHELL: Command = ("SHChangeNotify",)
#: The key, name and text of a registry value; the empty name is the default value of the key.
RegistryValue = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Desktop:
    """What differs between operating systems: what is made, and everything that is ours, whichever viewer is set."""

    system: str  # ``linux``, ``macos`` or ``windows``
    # makes what registers a viewer's command, the command of ozx, the converter's, and the viewer's name
    register: Callable[[DesktopChanges, Command, Command, Command, str], None]
    status: Callable[[], Status]  # returns the program that opens ``.ozx`` files now
    # returns remarks about the commands of viewer and ozx
    notes: Callable[[Command, Command], Sequence[str]] = lambda _viewer, _ozx: ()
    files: tuple[str, ...] = ()
    folders: dict[str, Command] = field(default_factory=dict)  # each with the program that runs before it goes
    keys: tuple[str, ...] = ()  # registry keys, with all below them
    values: tuple[RegistryValue, ...] = ()  # in keys that other programs use, too
    afterwards: tuple[Command, ...] = ()  # the programs that run when something was removed
    old: tuple[str, ...] = ()  # files of earlier versions of ozx


# Make the changes one by one, and list them; in a dry run, only list them.

# Write, change or delete a file or folder, run a program, set or unset a value of the registry.
What = Literal["write", "change", "delete", "run", "set", "unset"]


@dataclass(frozen=True, slots=True)
class DesktopChange:
    """One change, made or planned."""

    what: What
    target: str  # the file, the folder, the program with its arguments, or the value's key and name


@dataclass(slots=True)
class DesktopChanges:
    """The changes so far, made or (in a dry run) planned."""

    registry: Registry | None
    is_dry: bool = False
    actions: list[DesktopChange] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # of a dry run: programs, and how to install them

    def write(self, path: str, content: bytes, *, is_executable: bool = False) -> None:
        """Write a file that only ozx uses; one that has this content stays."""
        now = read_or_none(path)
        if now == content or not self._add("write" if now is None else "change", path):
            return
        target = os.path.realpath(path)
        # XDG Base Directory Specification: missing folders are created for the user alone.
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        _put(target, content, mode=0o755 if is_executable else None)

    def merge(self, path: str, entries: dict[str, Any]) -> None:
        """Change entries of a property list that a program has made before; the value None removes one."""
        if self._add("change", path):
            _put(path, _merged(path, read_or_none(path) or b"", entries))

    def run(self, command: Command, hint: str = "", makes: str | None = None) -> None:
        """Run a program; `hint` says how to install it, `makes` is a folder of ours that it makes anew."""
        if self.is_dry and not _is_installed(command):
            self.missing[command[0]] = hint
        if makes is not None:
            self._delete(makes)
        if not self._add("run", " ".join(command)):
            return
        if command == NOTIFY_SHELL:
            self._registry().notify_shell()
            return
        done = subprocess.run(  # noqa: S603 (ours)
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
            raise ResourceError(f"{' '.join(command)} failed: {output}")

    def set(self, key: str, name: str, text: str) -> None:
        """Set a string in the Windows registry."""
        is_set = self._registry().get(key, name) == text
        if not is_set and self._add("set", f"{key}\\{name}"):
            self._registry().set(key, name, text)

    def check_programs(self) -> None:
        """Raise an error if a program is missing, after a dry run."""
        for program, hint in self.missing.items():
            raise ResourceError(f"the program {program} is not installed", hint=hint)

    def remove(self, own: Desktop) -> None:
        """Remove what is ours, and folders and registry keys that become empty."""
        for path in own.files:
            self._delete(path)
        for folder, program in own.folders.items():
            if os.path.lexists(folder):
                if _is_installed(program):
                    self.run(program)
                self._delete(folder)
        self._remove_values(own)
        for program in own.afterwards if self.actions else ():
            if _is_installed(program):
                self.run(program)
        # Not earlier: update-mime-database wants the folder of the packages, though it be empty.
        for path in (*own.files, *own.folders) if not self.is_dry else ():
            _remove_empty_folders(os.path.dirname(path))

    def remove_old(self, own: Desktop) -> None:
        """Remove files of earlier versions of ozx, without a line in the list."""
        for path in own.old if not self.is_dry else ():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(path)
                _remove_empty_folders(os.path.dirname(path))

    def _add(self, what: What, target: str) -> bool:
        self.actions.append(DesktopChange(what, target))
        return not self.is_dry

    def _delete(self, path: str) -> None:
        if not os.path.lexists(path) or not self._add("delete", path):
            return
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def _remove_values(self, own: Desktop) -> None:
        for key, name, text in own.values:
            if self._registry().get(key, name) == text and self._add("unset", f"{key}\\{name}"):
                self._registry().delete(key, name)
                self._remove_empty_keys(key)
        for key in own.keys:
            if self._registry().has_key(key):
                self._delete_key(key)

    def _delete_key(self, key: str) -> None:
        if self._add("delete", key):
            self._registry().delete_key(key)
            self._remove_empty_keys(key.rpartition("\\")[0])

    def _remove_empty_keys(self, key: str) -> None:
        while key.count("\\") > 1 and self._registry().delete_if_empty(key):  # Software\Classes stays
            key = key.rpartition("\\")[0]

    def _registry(self) -> Registry:
        if self.registry is None:
            raise ResourceError("this system has no registry")
        return self.registry


def _is_installed(command: Command) -> bool:
    return command == NOTIFY_SHELL or shutil.which(command[0]) is not None


def read_or_none(path: str) -> bytes | None:
    """Return the bytes of a file, None if it is missing; raise `UsageError` for a directory, device or named pipe."""
    check_regular(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _merged(path: str, now: bytes, changes: dict[str, Any]) -> bytes:
    try:
        entries = {**plistlib.loads(now), **changes}
    except (plistlib.InvalidFileException, ExpatError, ValueError) as error:
        raise FormatError(f"expected a property list; {error}", path=path) from None
    return plistlib.dumps({name: value for name, value in entries.items() if value is not None})


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
