"""The room for a batch is checked before its first file."""

import errno
import os
from types import SimpleNamespace

import pytest
from commands import command
from hierarchies import make_image

from ozx.errors import ResourceError
from ozx.flow.batch_checks import check_room
from ozx.operations.pack import pack_many

ozx = command()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
def test_other_verbs_check_it_too(capsys, here, monkeypatch):
    (here / "a.ozx").write_bytes(bytes(1000))
    (here / "b.ozx").write_bytes(bytes(1000))
    disk(monkeypatch, free=1999, used=5000)
    code, _, err = ozx(capsys, "unpack", "a.ozx", "b.ozx", "--out-dir", "out")
    assert code == 4
    assert "no room for 2 files: about 2,000 bytes are needed, 1,999 are free" in err
