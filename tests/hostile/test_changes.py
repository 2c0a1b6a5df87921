"""A file that changes while it is read, at any call of the system: the old values or the new ones, or a refusal."""

import contextlib
import functools
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from faults import Faults, injected
from hierarchies import make_image, tree
from stores import contents, pattern
from sweeping import forget_swept_folders

import ozx
from ozx.errors import FormatError, OzxError
from ozx.flow import fast_unpacking

LONG_AGO = (1_000_000_000, 1_000_000_000)
FILE, OTHER = "cells.ozx", "other.ozx"
State = dict[str, bytes]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Two archives of the same layout and size, in which no chunk is the same."""
    folder = tmp_path_factory.mktemp("archives")
    for name, first in ((FILE, 0), (OTHER, 50)):
        chunks = {f"0/c/{n // 2}/{n % 2}": pattern(first + n, 1024) for n in range(4)}
        root = make_image(folder / name.removesuffix(".ozx") / "image", chunks | {"0/notes": pattern(first, 300_000)})
        ozx.pack(root, folder / name)
        os.utime(folder / name, LONG_AGO)
    assert (folder / FILE).stat().st_size == (folder / OTHER).stat().st_size
    return folder


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(path.with_name(OTHER).read_bytes())


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.with_name(OTHER).read_bytes())


CHANGES: dict[str, Callable[[Path], None]] = {
    "replaced": lambda path: (
        shutil.copyfile(path.with_name(OTHER), path.with_name("new")) and os.replace(path.with_name("new"), path)
    ),
    "rewritten": rewrite,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "grown": grow,
    "removed": os.unlink,
}


def by_unpack(path: Path) -> State:
    return tree(ozx.unpack(path, path.with_name("out"), sync=False).path)


def by_repack(path: Path) -> State:
    ozx.repack(path, path.with_name("out"), sync=False)
    return tree(path.with_name("out"))


def by_recover(path: Path) -> State:
    """What is not complete says so: then anything of the old and the new values may be missing."""
    result = ozx.recover(path, path.with_name("out.ozx"), sync=False)
    return contents(ozx.OzxStore(result.path)) if result.complete else {}


def by_extract(path: Path) -> State:
    result = ozx.extract(path, path.with_name("out.ozx"), levels="0", sync=False)
    return contents(ozx.OzxStore(result.path))


def by_store(path: Path) -> State:
    store = ozx.OzxStore(path)
    try:
        return contents(store)
    finally:
        store.close()


def by_validate(path: Path) -> State:
    """Never raises for what is wrong with the file, and then has a finding of it."""
    report = ozx.validate(path)
    assert report.valid or [finding for finding in report.findings if finding.severity == "error"]
    return {}


def by_inspect(path: Path) -> State:
    ozx.inspect(path)
    return {}


READERS = [by_unpack, by_repack, by_recover, by_extract, by_store, by_validate, by_inspect]


def check_changes(tmp_path: Path, archives: Path, read: Callable[[Path], State], change: Callable[[Path], None]) -> int:
    """Read again and again, with the change before the first call, before the second …; return how many there are."""
    right = [{}]
    for name in (FILE, OTHER):
        folder = tmp_path / f"right {name}"
        folder.mkdir()
        shutil.copy2(archives / name, folder / FILE)
        right.append(read(folder / FILE))
    moment = 0
    while True:
        folder = tmp_path / "work"
        folder.mkdir()
        for name in (FILE, OTHER):
            shutil.copy2(archives / name, folder / name)
        forget_swept_folders()
        found: State = {}
        with injected(Faults(moment, lambda folder=folder: change(folder / FILE))) as faults, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(OzxError, FileNotFoundError):
                found = read(folder / FILE)
        assert found in right, moment
        left = [name for name in os.listdir(folder) if name.endswith((".ozx-tmp", ".partial"))]
        assert not left, (moment, left)
        shutil.rmtree(folder)
        if faults.fired is None:
            assert found == right[1]
            return moment
        moment += 1


@pytest.mark.ci
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_change_at_any_call(tmp_path, archives, read, change):
    assert check_changes(tmp_path, archives, read, CHANGES[change]) > 4


@pytest.mark.ci
def test_a_change_at_any_call_of_unpacking_by_two_processes(tmp_path, archives, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "_ENOUGH_FOR_TWO", 2)
    assert check_changes(tmp_path, archives, by_unpack, rewrite) > 4


def test_a_store_that_was_opened_reads_no_value_of_a_file_that_was_rewritten(tmp_path, archives):
    for name in (FILE, OTHER):
        shutil.copy2(archives / name, tmp_path / name)
    before = by_store(tmp_path / FILE)
    store = ozx.OzxStore(tmp_path / FILE)
    assert store.get_sync("zarr.json")
    rewrite(tmp_path / FILE)
    with pytest.raises(FormatError) as caught:
        contents(store)
    assert caught.value.rule in ("zip/crc", "zip/changed")
    assert by_store(tmp_path / FILE) != before


@pytest.mark.ci
def test_a_source_that_changes_while_it_is_packed(tmp_path, archives):
    # One chunk is written by another program: what is packed has the old or the new one, whole.
    key = "0/c/0/1"
    old, new = pattern(1, 1024), pattern(90, 1024)
    moment = 0
    while True:
        folder = tmp_path / str(moment)
        source = shutil.copytree(archives / "cells", folder)
        found = None
        change = functools.partial((source / "image" / key).write_bytes, new)
        with injected(Faults(moment, change)) as faults, contextlib.suppress(OzxError):
            ozx.pack(source / "image", folder / "out.ozx", sync=False)
            found = by_store(folder / "out.ozx")[key]
        assert found in (None, old, new), moment
        if faults.fired is None:
            break
        moment += 1
    assert moment > 20
