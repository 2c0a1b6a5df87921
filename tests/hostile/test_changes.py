"""A file that changes while it is read, at any call of the system: the old values or the new ones, or a refusal."""

import contextlib
import functools
import itertools
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import tiffs
from faults import Faults, injected
from hierarchies import make_image, tree
from stores import contents, pattern
from sweeping import forget_swept_folders
from zarr.core.buffer import default_buffer_prototype

import ozx
from ozx.errors import FormatError, OzxError
from ozx.flow.sinks import fast_unpacking
from ozx.operations.read_value import read_value

LONG_AGO = (1_000_000_000, 1_000_000_000)
NAMES = ("cells", "other")
State = dict[str, bytes]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Two archives of the same layout and size, in which no chunk is the same; and two TIFF files."""
    folder = tmp_path_factory.mktemp("archives")
    for name, first in zip(NAMES, (0, 50), strict=True):
        chunks = {f"0/c/{n // 2}/{n % 2}": pattern(first + n, 1024) for n in range(4)}
        root = make_image(folder / name / "image", chunks | {"0/notes": pattern(first, 300_000)})
        ozx.pack(root, folder / f"{name}.ozx")
        tiffs.write(folder / f"{name}.tif", tiffs.pixels((150, 170), seed=first), tile=(64, 64))
        for ending in ("ozx", "tif"):
            os.utime(folder / f"{name}.{ending}", LONG_AGO)
    assert len({path.stat().st_size for path in folder.glob("*.ozx")}) == 1
    assert len({path.stat().st_size for path in folder.glob("*.tif")}) == 1
    return folder


def other(path: Path) -> Path:
    return path.with_stem("other")


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(other(path).read_bytes())


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(other(path).read_bytes())


CHANGES: dict[str, Callable[[Path], None]] = {
    "replaced": lambda path: (
        shutil.copyfile(other(path), path.with_name("new")) and os.replace(path.with_name("new"), path)
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


def by_export(path: Path) -> State:
    return {"": Path(ozx.export(path, path.with_name("out.ome.tif"), sync=False).path).read_bytes()}


def by_thumbnail(path: Path) -> State:
    return {"": Path(ozx.thumbnail(path, path.with_name("out.png")).path).read_bytes()}


def by_cat(path: Path) -> State:
    return {"": b"".join(read_value(path, "0/c/0/1"))}


def by_edit(path: Path) -> State:
    """What changes when it is edited already is the other file as it is."""
    ozx.edit(path, pixel_size={"y": 0.5})
    return by_store(path)


def by_import(path: Path) -> State:
    result = ozx.import_image(path, path.with_name("out.ozx"), name="cells", sync=False)
    return contents(ozx.OzxStore(result.path))


def by_validate(path: Path) -> State:
    """Never raises for what is wrong with the file, and then has a finding of it."""
    report = ozx.validate(path)
    assert report.valid or [finding for finding in report.findings if finding.severity == "error"]
    return {}


def by_inspect(path: Path) -> State:
    ozx.inspect(path)
    return {}


READERS = [
    *(by_unpack, by_repack, by_recover, by_extract, by_export, by_thumbnail, by_cat, by_edit),
    *(by_import, by_store, by_validate, by_inspect),
]


def check_changes(tmp_path: Path, archives: Path, read: Callable[[Path], State], change: Callable[[Path], None]) -> int:
    """Read again and again, with the change before the first call, before the second …; return how many there are."""
    ending = ".tif" if read is by_import else ".ozx"
    right = [{}]
    for name in NAMES:
        folder = tmp_path / f"right {name}"
        folder.mkdir()
        file = Path(shutil.copy2(archives / f"{name}{ending}", folder / f"cells{ending}"))
        right.append(read(file))
    if read is by_edit:
        right.append(by_store(archives / "other.ozx"))
    moment = 0
    while True:
        folder = tmp_path / "work"
        folder.mkdir()
        file = folder / f"cells{ending}"
        for path in (file, other(file)):
            shutil.copy2(archives / path.name, path)
        forget_swept_folders()
        found: State = {}
        with injected(Faults(moment, functools.partial(change, file))) as faults, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(OzxError, FileNotFoundError):
                found = read(file)
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


def edit_in_place(path: Path) -> None:
    ozx.edit(path, pixel_size={"y": 0.5})


def repack_in_place(path: Path) -> None:
    ozx.repack(path, path, force=True)


def add_to(path: Path) -> None:
    with ozx.OzxStore(path, mode="a", keep_partial=False) as store:
        store.set_sync("0/added", default_buffer_prototype().buffer.from_bytes(b"added"))


@pytest.mark.ci
@pytest.mark.parametrize("write", [edit_in_place, repack_in_place, add_to], ids=lambda write: write.__name__)
def test_a_file_that_takes_the_name_meanwhile_is_not_replaced_by_its_predecessor(tmp_path, archives, write):
    """At any call: what is there in the end comes from the file that came last."""
    after = {}
    for name in NAMES:
        file = Path(shutil.copy2(archives / f"{name}.ozx", tmp_path / f"{name}.ozx"))
        write(file)
        after[name] = by_store(file)
    right = [by_store(archives / "other.ozx"), after["other"]]
    for moment in itertools.count():
        folder = tmp_path / str(moment)
        folder.mkdir()
        file = folder / "cells.ozx"
        for path in (file, other(file)):
            shutil.copy2(archives / path.name, path)
        forget_swept_folders()
        change = functools.partial(CHANGES["replaced"], file)
        with injected(Faults(moment, change)) as faults, contextlib.suppress(OzxError):
            write(file)
        if faults.fired is None:
            assert by_store(file) == after["cells"]
            assert moment > 4
            return
        assert by_store(file) in right, (moment, faults.fired)
        assert not [name for name in os.listdir(folder) if name.endswith((".ozx-tmp", ".partial"))], moment


@pytest.mark.ci
def test_a_change_at_any_call_of_unpacking_by_two_processes(tmp_path, archives, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "ENOUGH_FOR_TWO", 2)
    assert check_changes(tmp_path, archives, by_unpack, rewrite) > 4


def test_a_store_that_was_opened_reads_no_value_of_a_file_that_was_rewritten(tmp_path, archives):
    for name in NAMES:
        shutil.copy2(archives / f"{name}.ozx", tmp_path)
    path = tmp_path / "cells.ozx"
    before = by_store(path)
    store = ozx.OzxStore(path)
    assert store.get_sync("zarr.json")
    rewrite(path)
    with pytest.raises(FormatError) as caught:
        contents(store)
    assert caught.value.rule in ("zip/crc", "zip/changed")
    assert by_store(path) != before


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
