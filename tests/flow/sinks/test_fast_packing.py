"""Files that change while they are packed, with the POSIX calls and without them, are refused."""

import os

import pytest
from cases.archive_builder import group, write_tree

import ozx
from ozx.errors import FormatError
from ozx.flow.sources.directory import read_file
from ozx.operations import pack
from ozx.zarr.json_reading import LongDocuments


@pytest.fixture(params=["posix", "portable"])
def _calls(request, monkeypatch):
    for name in ("preadv", "readv", "pwrite") if request.param == "portable" else ():
        monkeypatch.delattr(os, name, raising=False)


def make(folder, size):
    """Make a hierarchy with a value of some size; return its folder and the path of the value."""
    root = write_tree(folder / "h", {"zarr.json": group(), "0": os.urandom(size)})
    return root, root / "0"


def touch_while_reading(monkeypatch, path, change):
    """Call `change` between the two looks at the file."""
    original, looks = os.fstat, []

    def fstat(descriptor):
        status = original(descriptor)
        if os.path.exists(path) and os.path.samestat(status, os.stat(path)):
            looks.append(status)
            if len(looks) == 1:
                change()
        return status

    monkeypatch.setattr(os, "fstat", fstat)


@pytest.mark.usefixtures("_calls")
@pytest.mark.parametrize("size", [100, 3 << 20])
@pytest.mark.parametrize("grow", [b"more", b""])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, size, grow):
    root, victim = make(tmp_path, size)

    def change():
        with open(victim, "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(grow)
            if not grow:
                file.truncate(size // 2)
        os.utime(victim, ns=(1, 1))

    touch_while_reading(monkeypatch, victim, change)
    with pytest.raises(FormatError, match="changed while it was read") as caught:
        ozx.pack(root, sync=False)
    assert caught.value.rule == "zip/changed"
    assert os.listdir(tmp_path) == ["h"]


@pytest.mark.posix("needs mkfifo")
@pytest.mark.usefixtures("_calls")
def test_a_pipe_that_takes_a_files_place_does_not_hang(tmp_path, monkeypatch):
    root, victim = make(tmp_path, 10)
    original = pack.list_directory

    def list_then_replace(*given, **more):
        found = original(*given, **more)
        victim.unlink()
        os.mkfifo(victim)
        return found

    monkeypatch.setattr(pack, "list_directory", list_then_replace)
    with pytest.raises((FormatError, OSError)):
        ozx.pack(root, sync=False)


def test_reading_a_whole_file_notices_changes(tmp_path, monkeypatch):
    path = tmp_path / "zarr.json"
    path.write_bytes(b"{}")
    touch_while_reading(monkeypatch, path, lambda: path.write_bytes(b"[1]"))
    with pytest.raises(FormatError, match="changed while it was read"):
        read_file(str(path), "zarr.json", LongDocuments())
