"""New directories: whole or not at all, with renameat2 and without."""

import errno
import os
import shutil

import pytest
from atomic_writing import fill, names
from children import run_in_child

from ozx.atomic import renaming
from ozx.atomic.new_directory import replacing_directory
from ozx.errors import UsageError


@pytest.fixture
def no_renameat2(monkeypatch):
    """A system, or file system, without renameat2."""
    monkeypatch.setattr(renaming, "_renameat2", lambda *_: False)


@pytest.mark.parametrize("sync", [True, False])
def test_a_directory_appears_when_it_is_complete(tmp_path, sync):
    fill(tmp_path / "d", sync=sync)
    assert names(tmp_path) == ["d"]
    assert names(tmp_path / "d") == ["new"]


@pytest.mark.usefixtures("no_renameat2")
def test_a_directory_appears_without_renameat2(tmp_path):
    fill(tmp_path / "d")
    assert names(tmp_path) == ["d"]


def make_old(path):
    path.mkdir()
    (path / "old").write_text("old", encoding="ascii")


def test_an_existing_directory_is_exchanged_in_one_step(tmp_path):
    make_old(tmp_path / "d")
    with pytest.raises(UsageError, match="exists already"):
        fill(tmp_path / "d")
    fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_an_existing_directory_is_exchanged_in_two_steps(tmp_path):
    make_old(tmp_path / "d")
    fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_a_directory_called_old_that_is_not_ours_is_not_touched(tmp_path):
    make_old(tmp_path / "d")
    (tmp_path / "d.old").mkdir()
    with pytest.raises(UsageError, match=r"d\.old is in the way"):
        fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d", "d.old"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("killed_at", ["os.rename:1", "os.rename:2", "shutil.rmtree:1", "os.unlink:1"])
def test_an_exchange_cut_off_at_any_step_is_finished_by_the_next_run(tmp_path, killed_at):
    make_old(tmp_path / "d")
    made = make_new(tmp_path)
    where, _, count = killed_at.partition(":")
    module, _, name = where.partition(".")
    target = {"os": os, "shutil": shutil}[module]
    original, calls = getattr(target, name), []

    def die(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == int(count):
            os._exit(9)
        return original(*arguments, **keywords)

    def work():
        setattr(target, name, die)
        renaming._swap(made, str(tmp_path / "d"))

    assert run_in_child(work) == 9
    renaming.finish_swap(str(tmp_path / "d"))
    assert names(tmp_path / "d") in (["old"], ["new"])
    assert set(names(tmp_path)) <= {"d", "made"}


@pytest.mark.usefixtures("no_renameat2")
@pytest.mark.parametrize("failing", [1, 2])
def test_after_an_error_in_an_exchange_the_old_directory_is_there(tmp_path, monkeypatch, failing):
    make_old(tmp_path / "d")
    rename, calls = os.rename, []

    def fail(*names):
        calls.append(names)
        if len(calls) == failing:
            raise OSError(errno.EIO, "the disk is gone")
        rename(*names)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d"]


def make_new(folder):
    made = folder / "made"
    made.mkdir()
    (made / "new").write_text("new", encoding="ascii")
    return str(made)


def test_a_file_is_not_replaced_by_a_directory(tmp_path):
    (tmp_path / "d").write_bytes(b"file")
    with pytest.raises(UsageError, match="found a file"):
        fill(tmp_path / "d", replace_folder=True)
    assert (tmp_path / "d").read_bytes() == b"file"


def test_after_an_error_the_old_directory_stays(tmp_path):
    make_old(tmp_path / "d")
    with pytest.raises(KeyboardInterrupt), replacing_directory(str(tmp_path / "d"), replace_folder=True):
        raise KeyboardInterrupt
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
@pytest.mark.parametrize(("interrupted", "left"), [(1, "old"), (2, "new")])
def test_an_interrupt_comes_after_a_step_of_an_exchange_too(tmp_path, monkeypatch, interrupted, left):
    make_old(tmp_path / "d")
    rename, calls = os.rename, []

    def interrupt(*names):
        rename(*names)
        calls.append(names)
        if len(calls) == interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == [left]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_an_old_directory_that_cannot_be_removed_is_in_the_way_of_the_next_exchange_only(tmp_path, monkeypatch):
    make_old(tmp_path / "d")
    rmtree = shutil.rmtree

    def remove_others(path, **options):
        if not str(path).endswith(".old"):
            rmtree(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", remove_others)
        fill(tmp_path / "d", replace_folder=True)
        with pytest.raises(UsageError, match="exists already"):
            fill(tmp_path / "d")
        with pytest.raises(UsageError, match=r"d\.old is in the way"):
            fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["new"]
    fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path) == ["d"]
