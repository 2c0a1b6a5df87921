"""Removal of a recorded tree: only what was recorded goes, whatever comes between any two calls."""

import json
import os
import shutil

import pytest
from children import run_in_child
from hierarchies import tree
from links import make_link

from ozx.atomic import tree_removal
from ozx.atomic.tree_record import TreeRecord
from ozx.atomic.tree_removal import MARKER, finish_removal, has_mark, read_marker, remove_recorded, write_marker

NAMES = ("zarr.json", "0/zarr.json", "0/c/0", "0/c/1", "labels/x")


BY_DESCRIPTORS = pytest.param(True, id="by descriptors", marks=pytest.mark.posix("needs descriptors of folders"))


@pytest.fixture(params=[BY_DESCRIPTORS, pytest.param(False, id="by paths")])
def has_dir_fd(request, monkeypatch):
    """With the calls that take a folder's descriptor, and without, as on Windows."""
    monkeypatch.setattr(tree_removal, "_HAS_DIR_FD", request.param)


@pytest.fixture
def root(tmp_path):
    return make(tmp_path / "h")


def make(root):
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


def record(root):
    found = TreeRecord.of(str(root))
    found.settle()
    return found


@pytest.mark.usefixtures("has_dir_fd")
def test_a_tree_as_recorded_is_removed(root):
    os.link(root / "0/c/0", root / "0/c/second name")  # removing one name changes the other's change time
    make_link(root / "0" / "link", "c/0")
    assert remove_recorded(record(root)) == []
    assert not root.exists()


@pytest.mark.usefixtures("has_dir_fd")
def test_what_came_or_changed_since_stays_with_its_folders(root):
    before = record(root)
    (root / "0/c/1").write_bytes(b"changed")
    (root / "0/new").write_bytes(b"new")
    (root / "labels" / "empty").mkdir()
    assert remove_recorded(before) == ["0/", "0/new", "0/c/", "0/c/1", "labels/", "labels/empty/"]
    assert tree(root) == {"0/c/1": b"changed", "0/new": b"new"}


@pytest.mark.usefixtures("has_dir_fd")
@pytest.mark.parametrize("is_link", [True, False])
def test_a_folder_that_another_took_the_place_of_is_not_entered(tmp_path, root, is_link):
    before, other = record(root), tmp_path / "other"
    (root / "0" / "c").rename(other)
    if is_link:
        make_link(root / "0" / "c", other)
    else:
        shutil.copytree(other, root / "0" / "c")
    remove_recorded(before)
    assert tree(other) == {"0": b"0/c/0", "1": b"0/c/1"}
    assert is_link or tree(root / "0" / "c") == tree(other)


def replace(path):
    path.with_name("new").write_bytes(b"another")
    path.with_name("new").replace(path)


def rewrite(path):
    if path.exists():
        path.write_bytes(b"another")


ACTIONS = {"replaces": replace, "rewrites": rewrite}
CALLS = ("stat", "rename", "link", "unlink")


@pytest.mark.ci
@pytest.mark.usefixtures("has_dir_fd")
@pytest.mark.parametrize("action", ACTIONS)
def test_what_another_program_writes_between_two_calls_is_still_there(tmp_path, monkeypatch, action):
    number = 0
    while True:
        root = make(tmp_path / str(number))
        before, calls = record(root), []
        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, interfering(getattr(os, name), calls, number, root / "0/c/1", ACTIONS[action]))
            left = remove_recorded(before)
        if calls.count("acted") == 0:
            break
        found = tree(root)
        assert "written" not in calls or found.pop("0/c/1") == b"another", (number, left)
        assert found == {}
        number += 1
    assert number > 10


def interfering(function, calls, number, path, act):
    def call(*arguments, **options):
        if calls.count("call") == number and "acted" not in calls:
            calls.append("acted")
            if path.parent.is_dir():
                act(path)
                calls.extend(["written"] * path.exists())
        calls.append("call")
        return function(*arguments, **options)

    return call


def replace_before_renaming(monkeypatch, root, act=lambda: None):
    """Have ``0/c/1`` replaced right before it is renamed, and something done right after."""
    rename = os.rename

    def between(name, new, **options):
        if name == "1":
            replace(root / "0/c/1")
        rename(name, new, **options)
        if name == "1":
            act()

    monkeypatch.setattr(os, "rename", between)


@pytest.mark.posix("renames below descriptors of folders")
def test_a_name_that_was_taken_meanwhile_is_not_overwritten(root, monkeypatch):
    """Two files came one after the other: the second keeps the name, the first one its name aside."""
    before = record(root)
    replace_before_renaming(monkeypatch, root, lambda: (root / "0/c/1").write_bytes(b"the second"))
    assert remove_recorded(before) == ["0/", "0/c/", "0/c/.1.ozx-aside", "0/c/1"]
    assert tree(root) == {"0/c/.1.ozx-aside": b"another", "0/c/1": b"the second"}


@pytest.mark.posix("renames below descriptors of folders")
def test_a_file_gets_its_name_back_where_there_are_no_hard_links(root, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "no hard links here")

    before = record(root)
    replace_before_renaming(monkeypatch, root)
    monkeypatch.setattr(os, "link", refuse)
    assert remove_recorded(before) == ["0/", "0/c/", "0/c/1"]
    assert (root / "0/c/1").read_bytes() == b"another"


@pytest.mark.posix("lengths are counted in bytes")
def test_a_name_too_long_for_another_beside_it_is_removed_all_the_same(root):
    (root / ("n" * 250)).write_bytes(b"")
    assert remove_recorded(record(root)) == []
    assert not root.exists()


@pytest.mark.posix("needs fork")
@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_a_removal_that_was_killed_at_any_step_is_finished(tmp_path, call):
    copy = tmp_path / "copy"
    copy.write_bytes(b"all of it")
    for number in range(20):
        root = make(tmp_path / str(number))
        before = record(root)

        def work(root=root, before=before, number=number):
            write_marker(str(root), before.newest, str(copy))
            function, count = getattr(os, call), []

            def die(*arguments, **options):
                if len(count) == number:
                    os._exit(9)
                count.append(1)
                return function(*arguments, **options)

            setattr(os, call, die)
            remove_recorded(before, {"zarr.json"})

        code = run_in_child(work)
        if code == 0:
            break
        assert not (root / "zarr.json").exists() or number < 1
        newest, mark = read_marker(str(root))
        assert has_mark(str(copy), mark)
        (root / "late").write_bytes(b"late")
        assert finish_removal(str(root), newest, {"zarr.json"}) == ["late"]
        assert tree(root) == {"late": b"late"}
    assert number == (len(NAMES) if call == "rename" else len(NAMES) + 1)


def test_another_copy_is_not_taken_for_the_one_that_was_verified(tmp_path, root):
    copy = tmp_path / "copy"
    copy.write_bytes(b"all of it")
    write_marker(str(root), 1, str(copy))
    _, mark = read_marker(str(root))
    os.utime(copy, (1, 1))
    assert not has_mark(str(copy), mark)
    copy.unlink()
    assert not has_mark(str(copy), mark)


@pytest.mark.parametrize("text", ["", '{"newest": 1', "[]", '{"other": 1}'])
def test_a_marker_that_was_not_written_whole_says_nothing(root, text):
    (root / MARKER).write_text(text)
    assert read_marker(str(root)) is None
    assert not (root / MARKER).exists()
    assert read_marker(str(root)) is None


def test_the_marker_says_which_files_may_go(tmp_path, root):
    (tmp_path / "copy").write_bytes(b"12345")
    write_marker(str(root), 77, str(tmp_path / "copy"))
    assert json.loads((root / MARKER).read_text())["newest"] == 77
    assert finish_removal(str(root), read_marker(str(root))[0]) == list(TreeRecord.of(str(root)).iter_names())
    assert tree(root) == {name: name.encode() for name in NAMES}
