"""Records of a tree: every difference is found and named."""

import os
import time

import pytest

from ozx.atomic.tree_record import TreeRecord


@pytest.fixture
def root(tmp_path):
    """A small tree whose files are as old as their names say."""
    for name in ("zarr.json", "0/c/0", "0/c/1", "0/c/10", "labels/x"):
        path = tmp_path / "h" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path / "h"


def replace(path):
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


def rewrite_in_secret(path):
    """Write other bytes of the same number and put the time back: only the change time tells."""
    status = path.stat()
    time.sleep(0.02)
    path.write_bytes(b"x" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_folder(path):
    path.rename(path.with_name("aside"))
    path.mkdir()
    for file in path.with_name("aside").iterdir():
        file.rename(path / file.name)
    path.with_name("aside").rmdir()


CHANGES = {
    "nothing": (lambda root: None, []),
    "new file": (lambda root: (root / "0/c/2").write_bytes(b""), ["0/c/2 is new"]),
    "new folder": (lambda root: (root / "0/d").mkdir(), ["0/d/ is new"]),
    "file gone": (lambda root: (root / "0/c/1").unlink(), ["0/c/1 is gone"]),
    "longer": (lambda root: (root / "0/c/1").write_bytes(b"longer than that"), ["0/c/1 changed"]),
    "another file of the same bytes": (lambda root: replace(root / "0/c/1"), ["0/c/1 changed"]),
    "folder gone": (lambda root: ((root / "labels/x").unlink(), (root / "labels").rmdir()), ["labels/ is gone"]),
    "file for a folder": (
        lambda root: ((root / "labels/x").unlink(), (root / "labels").rmdir(), (root / "labels").write_bytes(b"")),
        ["labels is new", "labels/ is gone"],
    ),
    "another folder": (lambda root: replace_folder(root / "0/c"), ["0/c/ was replaced by another folder"]),
}


@pytest.mark.parametrize("case", CHANGES)
def test_every_difference_is_named(root, case):
    change, expected = CHANGES[case]
    before = TreeRecord.of(str(root))
    before.settle()
    change(root)
    assert before.differences(TreeRecord.of(str(root))) == expected


@pytest.mark.posix("files have no change time there")
def test_bytes_changed_in_secret_are_told(root):
    before = TreeRecord.of(str(root))
    before.settle()
    rewrite_in_secret(root / "0/c/1")
    assert before.differences(TreeRecord.of(str(root))) == ["0/c/1 changed"]


def test_another_root_is_told(root):
    before = TreeRecord.of(str(root))
    replace_folder(root)
    assert f"{root} was replaced by another folder" in before.differences(TreeRecord.of(str(root)))


@pytest.mark.parametrize(("age", "waits"), [(0.0, True), (60.0, False)])
def test_a_new_file_makes_the_record_wait_for_the_next_tick_of_the_clock(root, monkeypatch, age, waits):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    record = TreeRecord.of(str(root))
    now = record.newest / 1e9 + age
    monkeypatch.setattr(time, "time", lambda: now)
    record.settle()
    assert bool(slept) == waits


def test_what_vanishes_while_it_is_looked_at_is_not_recorded(root, monkeypatch):
    scandir = os.scandir

    def vanishing(path):
        found = scandir(path)
        if str(path).endswith(f"0{os.sep}"):
            (root / "labels" / "x").unlink()
            (root / "labels").rmdir()
        return found

    monkeypatch.setattr(os, "scandir", vanishing)
    assert "labels/" not in TreeRecord.of(str(root)).folders
    with pytest.raises(FileNotFoundError):
        TreeRecord.of(str(root / "nowhere"))
