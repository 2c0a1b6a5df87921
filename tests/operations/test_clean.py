"""Leftovers of killed runs are found below a folder, listed, and removed when they are old enough."""

import os
import time

import pytest
from links import make_link

from ozx.atomic.host import this_host
from ozx.errors import ResourceError
from ozx.operations.clean import clean

DAY = 86_400


@pytest.fixture
def folder(tmp_path):
    """A folder with an old and a young leftover, one of two files, and files that are none."""
    (tmp_path / "deep" / "cells.ome.zarr").mkdir(parents=True)
    left = tmp_path / "deep" / ".plate.ome.zarr.12.node8-12345678.ozx-tmp"
    (left / "0").mkdir(parents=True)
    for name in ("zarr.json", "0/zarr.json"):
        (left / name).write_bytes(b"12345")
    for name in (".a.ozx.1.node8-12345678.ozx-tmp", ".b.ozx.1.node8-12345678.ozx-tmp", "a.ozx", "c.ozx.partial"):
        (tmp_path / name).write_bytes(b"123")
    for path in (*left.rglob("*"), left, tmp_path / ".a.ozx.1.node8-12345678.ozx-tmp", tmp_path / "a.ozx"):
        os.utime(path, (time.time() - 8 * DAY,) * 2)
    return tmp_path


@pytest.mark.posix("needs file locks")
def test_old_ones_are_removed(folder):
    result = clean(folder, older_than=7 * DAY)
    assert [(os.path.relpath(each.path, folder), each.host, each.bytes, each.removed) for each in result.leftovers] == [
        (".a.ozx.1.node8-12345678.ozx-tmp", "node8", 3, True),
        ("deep/.plate.ome.zarr.12.node8-12345678.ozx-tmp", "node8", 10, True),
    ]
    assert sorted(os.listdir(folder)) == [".b.ozx.1.node8-12345678.ozx-tmp", "a.ozx", "c.ozx.partial", "deep"]
    assert os.listdir(folder / "deep") == ["cells.ome.zarr"]


def test_one_that_changed_while_the_question_was_open_stays(folder):
    path = folder / ".a.ozx.1.node8-12345678.ozx-tmp"

    def answer(found):
        path.write_bytes(b"12345")
        return True

    result = clean(folder, older_than=7 * DAY, may_remove=answer)
    assert [each.removed for each in result.leftovers] == [False, True]
    assert path.exists()


def test_a_refusal_removes_nothing(folder):
    result = clean(folder, older_than=0, may_remove=lambda found: False)
    assert [each.removed for each in result.leftovers] == [False] * 3
    assert (folder / ".a.ozx.1.node8-12345678.ozx-tmp").exists()


def test_links_are_not_followed(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "victim"
    elsewhere.write_bytes(b"kept")
    make_link(folder / "link", elsewhere.parent)
    make_link(folder / f".d.1.{this_host()}.ozx-tmp", elsewhere)
    (elsewhere.parent / ".e.ozx.1.node8-12345678.ozx-tmp").touch()
    clean(folder, older_than=0)
    assert sorted(os.listdir(elsewhere.parent)) == [".e.ozx.1.node8-12345678.ozx-tmp", "victim"]
    assert elsewhere.read_bytes() == b"kept"


def test_a_missing_folder(tmp_path):
    with pytest.raises(ResourceError):
        clean(tmp_path / "missing", older_than=0)
