"""Change desktop settings one by one: list and (except in a dry run) make each change; roll back after an error."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Self

from ozx.atomic.new_file import replacing_file
from ozx.atomic.targets import check_regular
from ozx.desktop.association.registry import Registry
from ozx.errors import ResourceError

What = Literal["write", "change", "restore", "delete", "keep", "run", "set", "unset"]


@dataclass(frozen=True, slots=True)
class Action:
    """One change that a transaction made or would make, for the list that is shown.

    Attributes
    ----------
    what
        ``write``, ``change``, ``restore``, ``delete`` or ``keep`` a file or folder, ``run`` a program, ``set`` or
        ``unset`` a value of the registry.
    target
        The file, the folder, the program with its arguments, or the value's key and name.
    detail
        Added (``+ ``) and removed (``- ``) lines; for ``keep``, the reason.
    """

    what: What
    target: str
    detail: tuple[str, ...] = ()


@dataclass(slots=True)
class Transaction:
    """A series of changes, made and listed one by one, and rolled back if an error ends the ``with`` block."""

    registry: Registry | None
    is_dry: bool = False  # whether changes are only listed
    actions: list[Action] = field(default_factory=list)  # the changes, made or planned
    folders: list[str] = field(default_factory=list)  # folders, and below registry keys, created for the changes
    keys: list[str] = field(default_factory=list)
    _undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _after: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._undo.pop_all()
            self._after.pop_all()
        else:
            with self._after:
                self._undo.close()

    def add_action(self, what: What, target: str, *detail: str) -> None:
        """Add a change to the list."""
        self.actions.append(Action(what, target, detail))

    def write(self, path: str, content: bytes, what: What = "write", *, is_executable: bool = False) -> None:
        """Write a file, or the target of a symbolic link, atomically; create missing folders."""
        before = read_or_none(path)
        self.add_action(what, path, *_difference(before, content))
        if self.is_dry:
            return
        target = os.path.realpath(path)
        self.make_folder(os.path.dirname(target))
        self._undo.callback(_put, target, before, is_executable=False)
        _put(target, content, is_executable=is_executable)

    def delete(self, path: str) -> None:
        """Remove a file."""
        self.add_action("delete", path)
        if not self.is_dry:
            self._undo.callback(_put, path, read_or_none(path), is_executable=os.access(path, os.X_OK))
            os.unlink(path)

    def keep(self, path: str, why: str) -> None:
        """List a file or registry value that stays unchanged, with the reason."""
        self.add_action("keep", path, why)

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents, and record the new folders for a rollback.

        Raises
        ------
        NotADirectoryError
            The path is something other than a folder.
        OSError
            It cannot be created.
        """
        if os.path.isdir(path):
            return
        if os.path.lexists(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        self.make_folder(os.path.dirname(path))
        # XDG Base Directory Specification: missing folders are created for the user alone.
        os.mkdir(path, 0o700)
        self._undo.callback(_remove_if_empty, path)
        self.folders.append(path)

    def remove_folder(self, path: str) -> None:
        """Remove a folder if it is empty; in a dry run, list the folder if the listed deletions would empty it."""
        if self.is_dry:
            gone = {action.target for action in self.actions if action.what == "delete"}
            if os.path.isdir(path) and gone.issuperset(os.path.join(path, name) for name in os.listdir(path)):
                self.add_action("delete", path)
        elif _remove_if_empty(path):
            self._undo.callback(os.mkdir, path, 0o700)
            self.add_action("delete", path)

    def run(self, arguments: tuple[str, ...], hint: str) -> None:
        """Run a program.

        Raises
        ------
        ResourceError
            It is missing or fails.
        """
        self.add_action("run", " ".join(arguments))
        if self.is_dry:
            return
        if shutil.which(arguments[0]) is None:
            raise ResourceError(f"the program {arguments[0]} is not installed", hint=hint)
        done = run_program(arguments)
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
            raise ResourceError(f"{' '.join(arguments)} failed: {output}")

    def set(self, key: str, name: str, value: str) -> None:
        """Set a registry value, and record the created keys for a rollback."""
        registry = self._registry()
        before = registry.get(key, name)
        self.add_action("set", f"{key}\\{name}", *_lines(before, "-"), *_lines(value, "+"))
        if self.is_dry:
            return
        self._make_key(key)
        self._undo.callback(_put_value, registry, key, name, before)
        registry.set(key, name, value)

    def unset(self, key: str, name: str) -> None:
        """Remove a registry value."""
        registry = self._registry()
        before = registry.get(key, name)
        self.add_action("unset", f"{key}\\{name}", *_lines(before, "-"))
        if not self.is_dry:
            self._undo.callback(_put_value, registry, key, name, before)
            registry.delete(key, name)

    def remove_key(self, key: str) -> None:
        """Remove a registry key if it is empty."""
        if not self.is_dry:
            self._registry().delete_if_empty(key)

    def notify_shell(self) -> None:
        """Request the Windows shell to reload its file associations."""
        self.add_action("run", "SHChangeNotify")
        if not self.is_dry:
            self._registry().notify_shell()

    def before_rollback(self, function: Callable[..., object], *arguments: object) -> None:
        """Register a callback to run after an error, before earlier changes are rolled back."""
        self._undo.callback(function, *arguments)

    def after_rollback(self, function: Callable[..., object], *arguments: object) -> None:
        """Register a callback to run after a rollback. In a dry run, do nothing."""
        if not self.is_dry:
            self._after.callback(function, *arguments)

    def _make_key(self, key: str) -> None:
        registry = self._registry()
        if registry.has_key(key):
            return
        above = key.rpartition("\\")[0]
        if above:
            self._make_key(above)
        self._undo.callback(registry.delete_if_empty, key)
        self.keys.append(key)

    def _registry(self) -> Registry:
        if self.registry is None:
            raise ResourceError("this system has no registry")
        return self.registry


def run_program(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a program; return its exit code and output."""
    return subprocess.run(  # noqa: S603 (ours)
        arguments, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False
    )


def read_or_none(path: str) -> bytes | None:
    """Return the bytes of a file, None if it is missing; raise `UsageError` for a directory, device or named pipe."""
    check_regular(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _put(path: str, content: bytes | None, *, is_executable: bool) -> None:
    """Write a file and keep its permissions; remove the file if `content` is None."""
    if content is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    mode = None
    if is_executable:
        mode = os.stat(path).st_mode & 0o7777 | 0o111 if os.path.exists(path) else 0o755
    with replacing_file(path, force=True, mode=mode) as new, open(new.descriptor, "wb", closefd=False) as file:
        file.write(content)


def _put_value(registry: Registry, key: str, name: str, value: str | None) -> None:
    if value is None:
        registry.delete(key, name)
    else:
        registry.set(key, name, value)


def _remove_if_empty(path: str) -> bool:
    try:
        os.rmdir(path)
    except OSError:  # not empty, or already removed
        return False
    return True


def _difference(before: bytes | None, content: bytes) -> tuple[str, ...]:
    """Return the added and removed lines; for binary data, the new size."""
    if b"\0" in content:
        return (f"+ {len(content):,} bytes",)
    old, new = (data.decode(errors="replace").splitlines() for data in (before or b"", content))
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return tuple(f"{line[0]} {line[1:]}" for line in lines if not line.startswith("@@"))


def _lines(value: str | None, sign: str) -> tuple[str, ...]:
    return () if value is None else (f"{sign} {value}",)
