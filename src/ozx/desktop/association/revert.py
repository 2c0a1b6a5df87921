"""Undo an association: restore old contents, and keep later changes by other programs."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
from collections.abc import Sequence

from ozx.desktop.association import key_file
from ozx.desktop.association.record import ChangedFile, ChangedValue, MadeFiles, Record, digest
from ozx.desktop.association.thunar_actions import EMPTY, without_action
from ozx.desktop.association.transaction import Transaction, read_or_none, run_program


def revert(record: Record, path: str, transaction: Transaction) -> None:
    """Undo all changes of `record`, and remove the record file at `path`."""
    revert_files(record.files, transaction)
    revert_values(record.values, transaction)
    own = {file.path for file in record.files}
    for program in reversed(record.programs):
        _revert_program(program, own, transaction)
    if record.values:
        transaction.notify_shell()
    transaction.delete(path)
    folders = {*record.folders, *(folder for program in record.programs for folder in program.folders)}
    for folder in sorted(folders, key=len, reverse=True):
        transaction.remove_folder(folder)
    for key in sorted(record.keys, key=len, reverse=True):
        transaction.remove_key(key)


def revert_files(files: Sequence[ChangedFile], transaction: Transaction) -> None:
    """Undo the changes of files in reverse order; keep and list files that other programs have changed since."""
    for file in reversed(files):
        now = read_or_none(file.path)
        if now is None:
            continue
        then = restored(file, now)
        if then is None:
            transaction.delete(file.path)
        elif then != now:
            transaction.write(file.path, then, "restore")
        elif file.listed is None and then != file.before:
            transaction.keep(file.path, "another program has changed it")


def restored(file: ChangedFile, now: bytes) -> bytes | None:
    """Return the content that a file gets when our change is undone, or None if the file must be deleted.

    `now` is the present content of the file. If the result equals `now`, the file stays unchanged.
    """
    if digest(now) == file.sha256:
        return file.before
    listed = file.listed
    if listed is None:
        return now
    if not listed.sections:
        rest = without_action(_text(now), listed.item)
        return None if file.before is None and rest == EMPTY else rest.encode("utf-8", "surrogateescape")
    text = key_file.without_item(_text(now), listed.sections, listed.key, listed.item, _text(file.before or b""))
    return None if file.before is None and not text.strip() else text.encode("utf-8", "surrogateescape")


def revert_values(values: Sequence[ChangedValue], transaction: Transaction) -> None:
    """Undo the changes of registry values in reverse order.

    Keep and list values that other programs have changed since.
    """
    for value in reversed(values):
        now = transaction.registry.get(value.key, value.name) if transaction.registry else None
        if now is None:
            continue
        if now != value.value:
            transaction.keep(f"{value.key}\\{value.name}", "another program has changed it")
        elif value.before is None:
            transaction.unset(value.key, value.name)
        else:
            transaction.set(value.key, value.name, value.before)


def _revert_program(program: MadeFiles, own: set[str], transaction: Transaction) -> None:
    arguments = program.undo
    if program.keep is not None and program.folder is not None:
        others = _matches(program.folder, program.keep)
        others -= {os.path.relpath(path, program.folder) for path in own}
        if others or not program.files:
            arguments = program.arguments
    if arguments is not None:
        if shutil.which(arguments[0]) is None:
            transaction.keep(program.folder or arguments[-1], f"{arguments[0]} is no longer installed")
        else:
            transaction.run(arguments, "")
            transaction.after_rollback(run_for_others, program.arguments, program.folder, program.keep)
    if arguments is None or program.undo is not None:
        for path in program.files:
            if os.path.lexists(path):
                transaction.delete(path)


def run_for_others(arguments: tuple[str, ...], folder: str | None, keep: str | None) -> None:
    """Run a program after a rollback if `folder` still has files that match the pattern `keep`.

    `arguments` are the command, which updates an index of these files. Other programs may have written them. Errors are
    ignored, so that the error that caused the rollback is reported.
    """
    if folder is not None and keep is not None:
        with contextlib.suppress(OSError):
            if _matches(folder, keep):
                run_program(arguments)


def _matches(folder: str, pattern: str) -> set[str]:
    """Return the files below `folder` that match `pattern`; only the last part of `pattern` has wildcards."""
    below, pattern = os.path.split(pattern)
    try:
        names = os.listdir(os.path.join(folder, below))
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return {os.path.join(below, name) for name in fnmatch.filter(names, pattern)}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
