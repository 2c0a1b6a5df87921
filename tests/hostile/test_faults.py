"""Every read, write, sync and rename of every verb that writes fails once: the right error, and nothing is lost."""

import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from builders import array, group
from children import run_in_child
from faults import Faults, InjectedError, injected
from hierarchies import make_image, tree
from stores import pattern, put

import ozx
from ozx import atomic
from ozx.errors import OzxWarning, ResourceError
from ozx.flow import fast_unpacking

CHUNKS = {f"0/c/{n // 2}/{n % 2}": pattern(n, 1024) for n in range(4)}
LARGE = {"0/notes": pattern(9, 300_000)}
VALUES = {"zarr.json": group(), "0/zarr.json": array([64, 64], [32, 32])} | CHUNKS


def put_values(path: Path, mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        with ozx.OzxStore(path, mode=mode) as store:
            for key, value in VALUES.items():
                put(store, key, value[::-1] if "/c/" in key else value)
            put(store, "0/c/late", pattern(5, 70_000))


@dataclass(frozen=True)
class Work:
    """Something that writes.

    Attributes
    ----------
    name
        What it is called.
    run
        Does it, in the folder it is given.
    out
        What it writes there.
    keeps
        What may stand beside it after a fault: an unfinished file that is kept on purpose.
    is_followed
        Whether something is written when `out` is complete, so that it is there though that failed.
    """

    name: str
    run: Callable[[Path], object]
    out: str
    keeps: tuple[str, ...] = ()
    is_followed: bool = False


WORKS = [
    Work("pack", lambda folder: ozx.pack(folder / "image", folder / "out.ozx", force=True), "out.ozx"),
    Work(
        "pack, verified and with a checksum",
        lambda folder: ozx.pack(folder / "image", folder / "out.ozx", force=True, verify=True, checksum="sha256"),
        "out.ozx",
        ("out.ozx.sha256",),
        is_followed=True,
    ),
    Work("unpack", lambda folder: ozx.unpack(folder / "cells.ozx", folder / "out", force=True), "out"),
    Work(
        "repack with shards",
        lambda folder: ozx.repack(folder / "cells.ozx", folder / "out.ozx", force=True, shards="y=64,x=64"),
        "out.ozx",
    ),
    Work("repack to a directory", lambda folder: ozx.repack(folder / "cells.ozx", folder / "out", force=True), "out"),
    Work("recover", lambda folder: ozx.recover(folder / "broken.ozx", folder / "out.ozx", force=True), "out.ozx"),
    Work(
        "extract",
        lambda folder: ozx.extract(folder / "cells.ozx", folder / "out.ozx", region="y=0:32", force=True),
        "out.ozx",
    ),
    Work("edit", lambda folder: ozx.edit(folder / "out.ozx", pixel_size={"y": 0.5}), "out.ozx", ("out.ozx.partial",)),
    Work("OzxStore, new", lambda folder: put_values(folder / "out.ozx", "w"), "out.ozx", ("out.ozx.partial",)),
    Work("OzxStore, added to", lambda folder: put_values(folder / "out.ozx", "a"), "out.ozx", ("out.ozx.partial",)),
]


# What removing a file or a tree calls: where that fails, a leftover stays.
CLEANING = ("unlink", "rmdir", "open", "scandir", "fstat")
NEED_A_FILE = ("edit", "OzxStore, added to")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The files that are read: the same for all, and never changed."""
    folder = tmp_path_factory.mktemp("sources")
    make_image(folder / "image", CHUNKS | LARGE)
    ozx.pack(folder / "image", folder / "cells.ozx")
    (folder / "broken.ozx").write_bytes((folder / "cells.ozx").read_bytes()[:-60])
    ozx.pack(make_image(folder / "other"), folder / "other.ozx")
    return folder


def state(path: Path):
    """What has the name `path`."""
    if path.is_dir():
        return tree(path)
    return path.read_bytes() if path.exists() else None


def start_anew(sources: Path, folder: Path, work: Work, *, old: bool) -> None:
    """Make the folder that `work` works in, with or without something to be replaced."""
    shutil.copytree(sources, folder, symlinks=True)
    if old and work.out == "out":
        shutil.copytree(folder / "other", folder / "out")
    elif old:
        shutil.copyfile(folder / ("cells.ozx" if work.name == "edit" else "other.ozx"), folder / work.out)


def leftovers(folder: Path, sources: Path, work: Work) -> list[str]:
    return [name for name in os.listdir(folder) if name not in {*os.listdir(sources), work.out, *work.keeps}]


def check_faults(tmp_path: Path, sources: Path, work: Work, *, old: bool) -> dict[str, int]:
    """Do the work again and again, each time with the next call failing; return how often which call failed."""
    start_anew(sources, tmp_path / "right", work, old=old)
    before = state(tmp_path / "right" / work.out)
    work.run(tmp_path / "right")
    after = state(tmp_path / "right" / work.out)
    given = {name: state(sources / name) for name in os.listdir(sources)}
    fired: dict[str, int] = {}
    while True:
        folder, deadly = tmp_path / "work", sum(fired.values())
        start_anew(sources, folder, work, old=old)
        atomic._swept.clear()
        error = None
        with injected(Faults(deadly)) as faults:
            try:
                work.run(folder)
            except OSError as caught:
                error = caught
        where = f"call {deadly}, {faults.fired}: {error!r}"
        found = state(folder / work.out)
        assert found == (after if error is None else before) or (work.is_followed and found == after), where
        assert error is None or isinstance(error, (InjectedError, ResourceError)), where
        assert {name: state(folder / name) for name in given} == given, where
        if work.name == "edit" and faults.fired != "unlink":
            assert not state(folder / "out.ozx.partial"), where
        left = leftovers(folder, sources, work)
        assert not left or faults.fired in CLEANING, (where, left)
        if left:  # what could not be removed is removed by whoever writes here next
            atomic._swept.clear()
            ozx.pack(folder / "other", folder / "next.ozx")
            assert leftovers(folder, sources, work) == ["next.ozx"], where
        shutil.rmtree(folder)
        if faults.fired is None:
            assert error is None
            return fired
        fired[faults.fired] = fired.get(faults.fired, 0) + 1


FAST = ("recover",)
CASES = [
    pytest.param(
        work, old, id=f"{work.name}, {'replacing' if old else 'new'}", marks=[] if work.name in FAST else pytest.mark.ci
    )
    for work in WORKS
    for old in (True, False)
    if old or work.name not in NEED_A_FILE
]


@pytest.mark.parametrize(("work", "old"), CASES)
def test_every_call_fails_once(tmp_path, sources, work, old):
    fired = check_faults(tmp_path, sources, work, old=old)
    assert {"open", "fsync"} <= fired.keys() or {"open", "syncfs"} <= fired.keys(), fired
    assert sum(fired.values()) > 20, fired


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_call_fails_once_in_either_of_two_processes(tmp_path, sources, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "_ENOUGH_FOR_TWO", 2)
    monkeypatch.setattr(fast_unpacking, "_batch_size", lambda order: 1)
    work = next(work for work in WORKS if work.name == "unpack")
    # A forked child has one thread, whatever ran here before: only then there is a second process.
    assert run_in_child(lambda: check_faults(tmp_path, sources, work, old=True)) == 0
