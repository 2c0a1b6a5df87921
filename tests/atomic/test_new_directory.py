"""New directories: whole or not at all, with renameat2 and without."""

import os

import pytest
from atomic_writing import fill, names
from children import run_in_child
from hierarchies import tree

from ozx.atomic import new_directory, renaming
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.tree_record import TreeRecord
from ozx.errors import ResourceError, UsageError


def make_old(path):
    path.mkdir()
    (path / "old").write_text("old", encoding="ascii")


@pytest.mark.usefixtures("has_exchange")
def test_an_existing_directory_is_exchanged_in_one_step_or_two(tmp_path):
    make_old(tmp_path / "d")
    with pytest.raises(UsageError, match="exists already"):
        fill(tmp_path / "d")
    fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_a_directory_called_old_that_is_not_ours_is_not_touched(tmp_path):
    make_old(tmp_path / "d")
    (tmp_path / "d.old").mkdir()
    with pytest.raises(UsageError, match=r"d\.old exists, but"):
        fill(tmp_path / "d", replace_folder=True)
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d", "d.old"]


@pytest.mark.posix("needs fork")
@pytest.mark.parametrize(("name", "number"), [("rename", 1), ("rename", 2), ("rename", 3), ("unlink", 1)])
def test_an_exchange_cut_off_at_any_step_is_finished_by_the_next_run(tmp_path, name, number):
    make_old(tmp_path / "d")
    made = make_new(tmp_path)
    original, calls = getattr(os, name), []

    def die(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == number:
            os._exit(9)
        return original(*arguments, **keywords)

    def work():
        setattr(os, name, die)
        renaming._swap(made, str(tmp_path / "d"))

    assert run_in_child(work) == 9
    renaming.finish_swap(str(tmp_path / "d"))
    assert names(tmp_path / "d") in (["old"], ["new"])
    # After the second step the old directory keeps the name it has: it may hold what came last.
    assert set(names(tmp_path)) <= {"d", "made", "d.old"}


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
@pytest.mark.parametrize(("interrupted", "left"), [(1, "old"), (2, "old"), (3, "new"), (4, "new"), (5, "new")])
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
    assert names(tmp_path) == (["d", "d.old"] if interrupted in (3, 4) else ["d"])


def make_deep(path):
    make_old(path)
    (path / "0").mkdir()
    (path / "0" / "chunk").write_bytes(b"chunk")


CHANGES = {
    "file added": (lambda path: (path / "0" / "late").write_bytes(b"late"), "0/late is new"),
    "file rewritten": (lambda path: (path / "0" / "chunk").write_bytes(b"other"), "0/chunk changed"),
    "folder added": (lambda path: (path / "1").mkdir(), "1/ is new"),
}


@pytest.mark.posix("folders are exchanged in two steps there, and .old must be free")
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_while_its_successor_was_made_is_kept_and_named(tmp_path, change, has_exchange):
    (act, told), path = CHANGES[change], tmp_path / "d"
    make_deep(path)
    if has_exchange:
        (tmp_path / "d.old").mkdir()
    replacing = replacing_directory(str(path), replace_folder=True)
    with pytest.raises(ResourceError, match="changed during the replacement") as caught, replacing:
        act(path)
        expected = tree(path)
    kept = tmp_path / ("d.old-2" if has_exchange else "d.old")
    assert told in str(caught.value)
    assert str(kept) in str(caught.value)
    assert tree(kept) == expected
    assert names(path) == []


def test_what_changed_since_it_was_read_is_kept_too(tmp_path):
    path = tmp_path / "d"
    make_deep(path)
    recorded = TreeRecord.of(str(path))
    (path / "late").write_bytes(b"late")
    with (
        pytest.raises(ResourceError, match="late is new"),
        replacing_directory(str(path), replace_folder=True, recorded=recorded),
    ):
        pass
    assert names(tmp_path / "d.old") == ["0", "late", "old"]


@pytest.mark.posix("needs descriptors of folders")
def test_what_comes_into_a_replaced_directory_while_it_is_removed_is_kept(tmp_path, monkeypatch):
    """Another program stands in the directory: it writes there whatever its name is."""
    path = tmp_path / "d"
    make_deep(path)
    inside, original = os.open(path / "0", os.O_RDONLY), new_directory.remove_recorded

    def late(record):
        os.close(os.open("late", os.O_CREAT | os.O_WRONLY, dir_fd=inside))
        return original(record)

    monkeypatch.setattr(new_directory, "remove_recorded", late)
    with pytest.raises(ResourceError, match="0/late"):
        fill(path, replace_folder=True)
    os.close(inside)
    assert tree(tmp_path / "d.old") == {"0/late": b""}
    assert names(tmp_path) == ["d", "d.old"]


@pytest.mark.posix("needs fork")
def test_a_replaced_directory_that_was_not_compared_is_shown_by_the_next_run(tmp_path, monkeypatch):
    path = tmp_path / "d"
    make_deep(path)

    def work():
        monkeypatch.setattr(TreeRecord, "differences", lambda *_: os._exit(9))
        fill(path, replace_folder=True)

    assert run_in_child(work) == 9
    assert names(path) == ["new"]
    with replacing_directory(str(tmp_path / "other")) as new:
        pass
    assert new.swept == [str(tmp_path / "d.old")]
    assert tree(tmp_path / "d.old") == {"0/chunk": b"chunk", "old": b"old"}
    assert names(tmp_path) == ["d", "d.old", "other"]
