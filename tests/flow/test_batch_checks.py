"""Before the first file of a batch: no two sources become the same file, and there is room for all."""

import errno
import os
from types import SimpleNamespace

import pytest
from commands import command
from hierarchies import make_image
from links import make_link

from ozx.errors import ResourceError, UsageError
from ozx.flow.batch_checks import check_distinct, check_room
from ozx.operations.pack import pack_many

ozx = command()


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["a", "b", "a"], ["a.ozx", "b.ozx", "a.ozx"], "^a is given twice$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/a.ozx"], "^x/a and y/a would both become d/a.ozx$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/../d/a.ozx"], "would both become"),
    ],
)
def test_two_sources_for_one_file(sources, targets, message):
    with pytest.raises(UsageError, match=message) as caught:
        check_distinct(sources, targets, verb="Pack")
    assert caught.value.hint in ("Name each source once.", "Pack them into different folders.")


@pytest.mark.parametrize(
    ("first", "second"), [("Cells.ozx", "cells.ozx"), ("caf\u00e9.ozx", "cafe\u0301.ozx"), ("D/a.ozx", "d/A.ozx")]
)
def test_names_that_some_systems_treat_as_one(first, second):
    targets = [f"out/{first}", f"out/{second}"]
    check_distinct(["x", "y"], targets, verb="Pack", folds_names=False)
    message = f"^x and y would become {targets[0]} and {targets[1]}, which this system may treat as one file$"
    with pytest.raises(UsageError, match=message) as caught:
        check_distinct(["x", "y"], targets, verb="Pack", folds_names=True)
    assert caught.value.hint == "Pack them into different folders."


@pytest.mark.parametrize("present", [["A"], ["A", "a"]])
def test_existing_files_show_whether_names_differ_by_case(tmp_path, present):
    for name in present:
        (tmp_path / name).write_bytes(b"")
    targets = [str(tmp_path / name) for name in "Aa"]
    if (tmp_path / "a").exists() and len(list(tmp_path.iterdir())) == 1:  # as usual on Windows and macOS
        with pytest.raises(UsageError, match="one file"):
            check_distinct(["x", "y"], targets, verb="Pack", folds_names=False)
    else:
        check_distinct(["x", "y"], targets, verb="Pack", folds_names=True)


def test_existing_files_that_are_one_are_refused_on_every_system(tmp_path):
    (tmp_path / "A").write_bytes(b"")
    if not (tmp_path / "a").exists():
        os.link(tmp_path / "A", tmp_path / "a")
    with pytest.raises(UsageError, match="one file"):
        check_distinct(["x", "y"], [str(tmp_path / "A"), str(tmp_path / "a")], verb="Pack", folds_names=False)


def test_a_link_leads_to_the_folder_of_another_output(tmp_path):
    (tmp_path / "d").mkdir()
    make_link(tmp_path / "link", "d")
    with pytest.raises(UsageError, match="would both become"):
        check_distinct(["x", "y"], [str(tmp_path / name / "a.ozx") for name in ("d", "link")], verb="Pack")


def disk(monkeypatch, free, used):
    real = os.statvfs
    facts = SimpleNamespace(f_bavail=free, f_bfree=0, f_blocks=used, f_frsize=1)
    monkeypatch.setattr(os, "statvfs", lambda path: real(path) and facts)


@pytest.mark.posix("needs statvfs")
def test_a_batch_without_room_does_not_begin(tmp_path, monkeypatch):
    images = [make_image(tmp_path / f"{name}.ome.zarr") for name in "abc"]
    size = sum(path.stat().st_size for image in images for path in image.rglob("*") if path.is_file())
    disk(monkeypatch, free=size - 1, used=10 * size)
    with pytest.raises(
        ResourceError, match=f"no room for 3 files: about {size:,} bytes are needed, {size - 1:,} are free"
    ) as caught:
        pack_many(images, out_dir=tmp_path / "out")
    assert (caught.value.errno, caught.value.code) == (errno.ENOSPC, "full-disk")
    assert os.listdir(tmp_path / "out") == []
    disk(monkeypatch, free=size, used=10 * size)
    assert len(pack_many(images, out_dir=tmp_path / "out", sync=False).results) == 3
    disk(monkeypatch, free=0, used=10 * size)  # what is there already needs no room
    assert {result.status for result in pack_many(images, out_dir=tmp_path / "out", resume=True).results} == {"skipped"}


@pytest.mark.posix("needs statvfs")
def test_what_is_missing_is_reported_later(tmp_path, monkeypatch):
    disk(monkeypatch, free=0, used=10)
    check_room([(str(tmp_path / "missing"), str(tmp_path / "missing.ozx"))])
    check_room([("missing", "nowhere/missing.ozx")])


@pytest.mark.posix("needs statvfs")
def test_other_verbs_check_it_too(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ozx").write_bytes(bytes(1000))
    (tmp_path / "b.ozx").write_bytes(bytes(1000))
    disk(monkeypatch, free=1999, used=5000)
    code, _, err = ozx(capsys, "unpack", "a.ozx", "b.ozx", "--out-dir", "out")
    assert code == 4
    assert "no room for 2 files: about 2,000 bytes are needed, 1,999 are free" in err
