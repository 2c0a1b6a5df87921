"""Write entries into a directory; check that keys are possible file names."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from ozx.atomic.windows import joined, rename, windows_fault
from ozx.errors import FormatError, ResourceError
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.sources.listing import DEEPEST
from ozx.progress import Progress
from ozx.threads import Workers

_HINT = "Open the file without unpacking (ozx.open), or unpack it on another system or disk."


def folders_of(keys: Iterable[str]) -> list[str]:
    """Return the folders of `keys`, each after its parent folder."""
    found: dict[str, None] = {}
    last = ""
    for key in keys:
        folder = key.rpartition("/")[0]
        if folder == last:
            continue
        last = folder
        missing = []
        while folder and folder not in found:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        found.update(dict.fromkeys(reversed(missing)))
    return list(found)


def make_folders(target: str, folders: Iterable[str]) -> None:
    """Create `folders` in the empty directory `target`."""
    for folder in folders:
        os.mkdir(joined(target, folder))


def lift_folder(target: str, folder: str) -> None:
    """Move the contents of `folder`, a sub-folder of `target`, into `target`, which contains no other files."""
    top, *below = folder.split("/")
    names = os.listdir(joined(target, folder))
    aside = ".ozx-lift"
    while aside in (top, *names):
        aside += "-"
    rename(joined(target, top), joined(target, aside))
    source = os.path.join(target, aside, *below)
    for name in names:
        rename(joined(source, name), joined(target, name))
    for _ in (top, *below):
        os.rmdir(source)
        source = os.path.dirname(source)


def check_keys(keys: Sequence[str], folders: list[str], target: str, *, windows: bool = os.name == "nt") -> None:
    """Check that each key is a possible file name in the directory `target`."""
    for path in set(folders).intersection(keys):
        raise _refused(path, "it is both a value and a folder")
    limits = _limits(target)
    longest = max(map(len, keys), default=0)  # in characters, of at most four bytes each
    is_near_limit = longest * 4 > min(*limits, DEEPEST)
    for path in keys if is_near_limit or windows else ():
        fault = _too_long(path, *limits) or (windows_fault(path) if windows else None)
        if fault:
            raise _refused(path, fault)
    fold = _folding(target)
    if fold is None:
        return
    seen: dict[str, str] = {}
    for path in (*folders, *keys):
        other = seen.setdefault(fold(path), path)
        if other != path:
            raise _refused(path, f"this file system does not distinguish it from {other!r}")


def write_entries(target: str, entries: Iterable[Entry], progress: Progress) -> None:
    """Write `entries` one by one into `target`, whose folders must exist."""
    for entry in entries:
        try:
            with open(joined(target, entry.key), "xb", buffering=0) as file:
                for block in entry.iter_blocks():
                    view = memoryview(block)
                    while view:
                        view = view[file.write(view) :]
                    progress.advance(len(block))
        except FileExistsError as error:
            raise ResourceError(
                f"{entry.key!r} exists already: this file system treats it as equal to another name"
            ) from error


def write_directory(plan: Plan, target: str, workers: Workers, progress: Progress) -> tuple[int, int]:
    """Write a plan into the empty directory `target`; return the number of files and of bytes."""
    limits, made = _limits(target), {""}
    files = size = 0

    def checked(entry: Entry) -> Entry:
        nonlocal files, size
        fault = _too_long(entry.key, *limits) or (windows_fault(entry.key) if os.name == "nt" else None)
        if fault:
            raise _refused(entry.key, fault)
        for folder in folders_of([entry.key]):
            if folder not in made:
                try:
                    os.mkdir(joined(target, folder))
                except FileExistsError as error:
                    raise ResourceError(
                        f"{folder!r} exists already: this file system treats it as equal to another name"
                    ) from error
                made.add(folder)
        files, size = files + 1, size + entry.size
        return entry

    write_entries(target, map(checked, plan.iter_entries(workers)), progress)
    return files, size


def _folding(target: str) -> Callable[[str], str] | None:
    """Return a function that folds case as the file system does; None if the file system compares bytes."""
    probe = os.path.join(target, ".ozx-probe-\u00e9")
    with open(probe, "xb"):
        pass
    try:
        folds_case = os.path.exists(os.path.join(target, ".OZX-PROBE-\u00e9"))
        folds_forms = os.path.exists(os.path.join(target, ".ozx-probe-e\u0301"))
    finally:
        os.unlink(probe)
    if not folds_case and not folds_forms:
        return None

    def fold(name: str) -> str:
        folded = unicodedata.normalize("NFC", name) if folds_forms else name
        return folded.casefold() if folds_case else folded

    return fold


def _limits(target: str) -> tuple[int, int]:
    pathconf = getattr(os, "pathconf", None)
    if pathconf is None:
        return 255, 32_000
    try:
        return pathconf(target, "PC_NAME_MAX"), pathconf(target, "PC_PATH_MAX") - len(os.fsencode(target)) - 2
    except (OSError, ValueError):
        return 255, 4096


def _too_long(path: str, longest_name: int, longest_path: int) -> str | None:
    raw = path.encode("utf-8")
    if len(raw) > longest_path:
        return f"its path of {len(raw):,} bytes is longer than this system allows"
    if any(len(part) > longest_name for part in raw.split(b"/")):
        return f"one of its components is longer than {longest_name} bytes"
    if path.count("/") > DEEPEST:
        return f"its path has more than {DEEPEST} folders"
    return None


def _refused(path: str, reason: str) -> FormatError:
    return FormatError(f"{path!r} cannot be a file here: {reason}", rule="zip/name", hint=_HINT)
