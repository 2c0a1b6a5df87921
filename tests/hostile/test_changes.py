"""A file that changes while it is read, at any call of the system: the old values or the new ones, or a refusal."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
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
pytestmark = pytest.mark.filterwarnings("ignore")
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


def rewrite(path: Path, mode: str = "r+b") -> None:
    with path.open(mode) as file:
        file.write(other(path).read_bytes())


CHANGES: dict[str, Callable[[Path], None]] = {
    "replaced": lambda path: (
        shutil.copyfile(other(path), path.with_name("new")) and os.replace(path.with_name("new"), path)
    ),
    "rewritten": rewrite,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "grown": partial(rewrite, mode="ab"),
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
    return by_store(Path(result.path)) if result.complete else {}


def by_store(path: Path) -> State:
    with ozx.OzxStore(path) as store:
        return contents(store)


def by_edit(path: Path) -> State:
    """What changes when it is edited already is the other file as it is."""
    ozx.edit(path, pixel_size={"y": 0.5})
    return by_store(path)


def by_import(path: Path) -> State:
    result = ozx.import_image(path, path.with_name("out.ozx"), name="cells", sync=False)
    return by_store(Path(result.path))


def by_validate(path: Path) -> State:
    """Never raises for what is wrong with the file, and then has a finding of it."""
    report = ozx.validate(path)
    assert report.valid or [finding for finding in report.findings if finding.severity == "error"]
    return {}


READERS: dict[str, Callable[[Path], State]] = {
    "unpack": by_unpack,
    "repack": by_repack,
    "recover": by_recover,
    "extract": lambda path: by_store(Path(ozx.extract(path, path.with_name("out.ozx"), levels="0", sync=False).path)),
    "export": lambda path: {"": Path(ozx.export(path, path.with_name("out.tif"), sync=False).path).read_bytes()},
    "thumbnail": lambda path: {"": Path(ozx.thumbnail(path, path.with_name("out.png")).path).read_bytes()},
    "cat": lambda path: {"": b"".join(read_value(path, "0/c/0/1"))},
    "edit": by_edit,
    "import": by_import,
    "store": by_store,
    "validate": by_validate,
    "inspect": lambda path: {"": str(ozx.inspect(path).entries).encode()},
}


def at_each_call(
    folder: Path, run: Callable[[], State | None], change: Callable[[], object]
) -> Iterator[tuple[State | None, bool]]:
    """Run on copies of a folder, with the change before the first call, before the second …, and without it at last.

    Yields what each run gave, and whether the change came.
    """
    for moment in itertools.count():
        work = Path(shutil.copytree(folder / "before", folder / "work"))
        forget_swept_folders()
        found = None
        with injected(Faults(moment, change)) as faults, contextlib.suppress(OzxError, FileNotFoundError):
            found = run()
        left = [name for name in os.listdir(work) if name.endswith((".ozx-tmp", ".partial"))]
        assert not left, (moment, left)
        yield found, faults.fired is not None
        shutil.rmtree(work)
        if faults.fired is None:
            assert moment > 4
            return


def copied(archives: Path, folder: Path, ending: str) -> Path:
    """Copy both files to ``before``; return the path of the first one at work."""
    (folder / "before").mkdir()
    for name in NAMES:
        shutil.copy2(archives / f"{name}{ending}", folder / "before")
    return folder / "work" / f"cells{ending}"


def check_changes(
    tmp_path: Path, archives: Path, read: Callable[[Path], State], change: Callable[[Path], None]
) -> None:
    ending = ".tif" if read is by_import else ".ozx"
    right = []
    for name in NAMES:
        (tmp_path / name).mkdir()
        right.append(read(Path(shutil.copy2(archives / f"{name}{ending}", tmp_path / name / f"cells{ending}"))))
    right += [by_store(archives / "other.ozx")] * (read is by_edit)
    file = copied(archives, tmp_path, ending)
    for found, is_changed in at_each_call(tmp_path, partial(read, file), partial(change, file)):
        assert found in ([None, {}, *right] if is_changed else right[:1])


@pytest.mark.ci
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READERS)
def test_a_change_at_any_call(tmp_path, archives, read, change):
    check_changes(tmp_path, archives, READERS[read], CHANGES[change])


def add_to(path: Path) -> None:
    with ozx.OzxStore(path, mode="a", keep_partial=False) as store:
        store.set_sync("0/added", default_buffer_prototype().buffer.from_bytes(b"added"))


WRITERS: dict[str, Callable[[Path], object]] = {
    "edit": lambda path: ozx.edit(path, pixel_size={"y": 0.5}),
    "repack": lambda path: ozx.repack(path, path, force=True),
    "store": add_to,
}


@pytest.mark.ci
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_that_takes_the_name_meanwhile_is_not_replaced_by_its_predecessor(tmp_path, archives, write):
    """At any call: what is there in the end comes from the file that came last."""
    after = {}
    for name in NAMES:
        file = Path(shutil.copy2(archives / f"{name}.ozx", tmp_path / f"{name}.ozx"))
        write(file)
        after[name] = by_store(file)
    right = [by_store(archives / "other.ozx"), after["other"]]
    file = copied(archives, tmp_path, ".ozx")
    for _, is_changed in at_each_call(tmp_path, partial(write, file), partial(CHANGES["replaced"], file)):
        assert by_store(file) in (right if is_changed else [after["cells"]])


@pytest.mark.ci
def test_a_change_at_any_call_of_unpacking_by_two_processes(tmp_path, archives, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "ENOUGH_FOR_TWO", 2)
    check_changes(tmp_path, archives, by_unpack, rewrite)


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
    source, key = Path(shutil.copytree(archives / "cells", tmp_path / "before")).with_name("work") / "image", "0/c/0/1"
    new = pattern(90, 1024)

    def pack() -> State:
        return {key: b"".join(read_value(ozx.pack(source, sync=False).path, key))}

    for found, is_changed in at_each_call(tmp_path, pack, partial((source / key).write_bytes, new)):
        assert found in ([None, {key: new}] if is_changed else []) or found == {key: pattern(1, 1024)}
