"""Apply all steps of a file association, or none."""

from __future__ import annotations

import os
import plistlib
from dataclasses import dataclass, field
from xml.parsers.expat import ExpatError

from ozx.desktop.association import key_file
from ozx.desktop.association.record import ChangedFile, ChangedValue, ListedItem, MadeFiles, Record, digest
from ozx.desktop.association.revert import restored, revert_files, revert_values, run_for_others
from ozx.desktop.association.steps import (
    MergePlist,
    NotifyShell,
    PutAction,
    PutFirst,
    PutLast,
    RunProgram,
    SetValue,
    Step,
    WriteFile,
)
from ozx.desktop.association.thunar_actions import with_action
from ozx.desktop.association.transaction import Transaction, read_or_none
from ozx.errors import FormatError, raise_error

_Put = PutFirst | PutLast | PutAction


def apply(steps: tuple[Step, ...], command: tuple[str, ...], old: Record, path: str, transaction: Transaction) -> None:
    """Apply `steps` in order, and write a record of the changes to `path`.

    Changes of the `old` association that are not in `steps` are reverted. If both change a file or value, the new
    record keeps the content from before the `old` association. `command` is the program to associate.
    """
    files: list[ChangedFile] = []
    values: list[ChangedValue] = []
    programs: list[tuple[RunProgram, _Made]] = []
    for step in steps:
        match step:
            case WriteFile():
                files.append(_write(step, old, transaction))
            case PutFirst() | PutLast() | PutAction():
                files.append(_put(step, old, transaction))
            case MergePlist():
                transaction.write(step.path, merged(read_or_none(step.path), step), "change")
            case RunProgram():
                if step.folder is not None and not transaction.is_dry:
                    transaction.make_folder(os.path.dirname(step.folder))
                _clear(step, old, transaction)
                made = _Made(step.folder)
                transaction.before_rollback(made.remove)
                transaction.run(step.arguments, step.hint)
                transaction.after_rollback(run_for_others, step.arguments, step.folder, step.keep)
                programs.append((step, made))
            case SetValue():
                values.append(_set_value(step, old, transaction))
            case NotifyShell():
                transaction.notify_shell()
    own = {file.path for file in files}
    revert_files([file for file in old.files if file.path not in own], transaction)
    set_now = {(value.key, value.name) for value in values}
    revert_values([value for value in old.values if (value.key, value.name) not in set_now], transaction)
    if transaction.is_dry:
        transaction.add_action("write", path)
        return
    transaction.make_folder(os.path.dirname(os.path.abspath(path)))
    record = Record(
        command=command,
        files=tuple(files),
        programs=tuple(_program(step, made, old, own) for step, made in programs),
        values=tuple(values),
        folders=tuple(dict.fromkeys([*old.folders, *transaction.folders])),
        keys=tuple(dict.fromkeys([*old.keys, *transaction.keys])),
    )
    transaction.write(path, record.to_bytes())


def is_in_place(steps: tuple[Step, ...], command: tuple[str, ...], old: Record, transaction: Transaction) -> bool:
    """Return whether all steps and their record are already applied, so that `apply` would change nothing."""
    known = {file.path for file in old.files} | {path for program in old.programs for path in program.files}
    if old.command != command or not all(map(os.path.lexists, known)):
        return False
    if {program.arguments for program in old.programs} != {
        step.arguments for step in steps if isinstance(step, RunProgram)
    }:
        return False
    return all(_is_done(step, known, transaction) for step in steps)


def merged(now: bytes | None, step: MergePlist) -> bytes:
    """Return a property list with the entries of `step` merged in.

    Raises
    ------
    FormatError
        `now` is not a property list.
    """
    try:
        entries = {} if now is None else plistlib.loads(now)
    except (plistlib.InvalidFileException, ExpatError, ValueError) as error:
        raise FormatError(f"expected a property list; {error}", path=step.path) from None
    entries = {**entries, **step.entries}
    return plistlib.dumps({name: value for name, value in entries.items() if value is not None})


@dataclass(slots=True)
class _Made:
    """The files that a program created in a folder."""

    folder: str | None
    _before: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._before = _tree(self.folder)

    def paths(self) -> set[str]:
        return _tree(self.folder) - self._before

    def remove(self) -> None:
        for path in sorted(self.paths(), key=len, reverse=True):
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def _tree(folder: str | None) -> set[str]:
    if folder is None or not os.path.lexists(folder):
        return set()
    walk = os.walk(folder, onerror=raise_error)
    return {folder, *(os.path.join(parent, name) for parent, folders, files in walk for name in (*folders, *files))}


def _clear(step: RunProgram, old: Record, transaction: Transaction) -> None:
    """Remove the files that a program of the `old` association created, unless other programs use them."""
    for program in old.programs:
        if step.folder is not None and step.keep is None and program.folder == step.folder:
            own = [file.path for file in old.files if file.path.startswith(step.folder + os.sep)]
            for path in filter(os.path.lexists, (*program.files, *own)):
                transaction.delete(path)


def _write(step: WriteFile, old: Record, transaction: Transaction) -> ChangedFile:
    now = read_or_none(step.path)
    known = _find(old, step.path)
    if now != step.content:
        transaction.write(
            step.path, step.content, "write" if now is None else "change", is_executable=step.is_executable
        )
    # If the file has this content but no record, an interrupted run has written it.
    before = known.before if known else None if now == step.content else now
    return ChangedFile(step.path, digest(step.content), before)


def _put(step: _Put, old: Record, transaction: Transaction) -> ChangedFile:
    now = read_or_none(step.path)
    known = _find(old, step.path)
    listed = (
        ListedItem((), "unique-id", step.identifier)
        if isinstance(step, PutAction)
        else ListedItem(step.sections, step.key, step.item)
    )
    then = _with_item(now, step)
    before = now
    if now is not None and (known or then == now):
        before = restored(known or ChangedFile(step.path, "", None, listed), now)
        # The file is left from an interrupted run, which had copied the file of the system.
        if isinstance(step, PutAction) and known is None and before in map(read_or_none, step.bases):
            before = None
    if then != now:
        transaction.write(step.path, then, "write" if now is None else "change")
    return ChangedFile(step.path, digest(then), before, listed)


def _with_item(now: bytes | None, step: _Put) -> bytes:
    if isinstance(step, PutAction):
        bases = (read_or_none(path) for path in step.bases)
        data = now if now is not None else next((base for base in bases if base is not None), b"")
        text = with_action(data.decode("utf-8", "surrogateescape"), step.identifier, step.action)
        return text.encode("utf-8", "surrogateescape")
    text = (now or b"").decode("utf-8", "surrogateescape")
    for section in step.sections:
        if isinstance(step, PutFirst):
            text = key_file.with_item(text, section, step.key, step.item)
        else:
            text = key_file.with_last_item(text, section, step.key, step.item, step.ahead)
    return text.encode("utf-8", "surrogateescape")


def _set_value(step: SetValue, old: Record, transaction: Transaction) -> ChangedValue:
    now = transaction.registry.get(step.key, step.name) if transaction.registry else None
    known = next((value for value in old.values if (value.key, value.name) == (step.key, step.name)), None)
    if now != step.value:
        transaction.set(step.key, step.name, step.value)
    before = known.before if known else None if now == step.value else now
    return ChangedValue(step.key, step.name, step.value, before)


def _program(step: RunProgram, made: _Made, old: Record, own: set[str]) -> MadeFiles:
    paths = made.paths()
    for program in old.programs:
        if program.folder == step.folder:
            paths |= {path for path in (*program.files, *program.folders) if os.path.lexists(path)}
    folders = {path for path in paths if os.path.isdir(path) and not os.path.islink(path)}
    return MadeFiles(
        arguments=step.arguments,
        folder=step.folder,
        keep=step.keep,
        undo=step.undo,
        files=tuple(sorted(paths - folders - own)),
        folders=tuple(sorted(folders)),
    )


def _is_done(step: Step, known: set[str], transaction: Transaction) -> bool:
    match step:
        case WriteFile():
            return step.path in known and read_or_none(step.path) == step.content
        case PutFirst() | PutLast() | PutAction():
            now = read_or_none(step.path)
            return step.path in known and _with_item(now, step) == now
        case MergePlist():
            now = read_or_none(step.path)
            return now is not None and merged(now, step) == now
        case SetValue():
            return transaction.registry is not None and transaction.registry.get(step.key, step.name) == step.value
        case _:
            return True


def _find(old: Record, path: str) -> ChangedFile | None:
    return next((file for file in old.files if file.path == path), None)
