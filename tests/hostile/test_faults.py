"""Every read, write, sync and rename of every verb that writes fails once: the right error, and nothing is lost."""

import os
import shutil
from pathlib import Path

import pytest
from children import run_in_child
from faults import Faults, InjectedError, injected
from sweeping import forget_swept_folders
from works import NEED_A_FILE, WORKS, Work, leftovers, make_sources, start_anew, state

import ozx
from ozx.errors import ResourceError
from ozx.flow import fast_unpacking

# What removing a file or a tree calls: where that fails, a leftover stays.
CLEANING = ("unlink", "rmdir", "open", "scandir", "fstat")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return make_sources(tmp_path_factory.mktemp("sources"))


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
        forget_swept_folders()
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
            forget_swept_folders()
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
    assert sum(fired.values()) > 10, fired


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_call_fails_once_in_either_of_two_processes(tmp_path, sources, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "_ENOUGH_FOR_TWO", 2)
    monkeypatch.setattr(fast_unpacking, "_batch_size", lambda order: 1)
    work = next(work for work in WORKS if work.name == "unpack")
    # A forked child has one thread, whatever ran here before: only then there is a second process.
    assert run_in_child(lambda: check_faults(tmp_path, sources, work, old=True)) == 0
