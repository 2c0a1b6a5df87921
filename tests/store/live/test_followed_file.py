"""Which file is followed, what becomes of it, and bytes that are not those that were written."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from growing import PIXELS, growing

import ozx
from ozx.crc32 import crc32
from ozx.errors import FormatError, UnsupportedError
from ozx.store.live import followed_file, index
from ozx.store.live.followed_file import find_followed


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "a.ozx")


@pytest.mark.posix("needs file locks")
def test_an_abandoned_file_beside_a_finished_one(out):
    with growing(out) as append:
        append(2)
        for ending in (".partial", ".partial.index"):
            shutil.copyfile(f"{out}{ending}", f"{out}{ending}.copy")
    for ending in (".partial", ".partial.index"):
        os.replace(f"{out}{ending}.copy", f"{out}{ending}")
    name_inode(out)
    with pytest.warns(ozx.PartialFileWarning, match="ended unfinished"):
        assert ozx.open(out, live=True).state == "unfinished"
    ozx.write_image(out, PIXELS, axes="tcyx")
    assert find_followed(out) is None
    with pytest.warns(ozx.PartialFileWarning, match="ended unfinished"):
        assert ozx.open(f"{out}.partial", live=True).state == "unfinished"
    later = os.stat(out).st_mtime_ns + 1_000_000_000  # a stream that replaced the file, until it was killed
    os.utime(f"{out}.partial", ns=(later, later))
    with pytest.warns(ozx.PartialFileWarning, match="ended unfinished"):
        assert ozx.open(out, live=True).state == "unfinished"


def name_inode(out):
    """Let a copied index name the copied file."""
    index = Path(f"{out}.partial.index")
    first, _, rest = index.read_bytes().partition(b"\n")
    record = first[9:].split(b",")
    record[2] = b"%d" % os.stat(f"{out}.partial").st_ino
    data = b",".join(record)
    index.write_bytes(b"%08x %b\n%b" % (crc32(data), data, rest))


@pytest.mark.posix("needs file locks")
def test_changed_bytes_are_refused(out):
    with growing(out) as append:
        append(2)
        found = find_followed(out)
        key, value = next(iter(found.index.values.items()))
        whole = found.read(key, 0, value.size)
        with open(f"{out}.partial", "r+b") as file:
            file.seek(value.offset + value.header_length)
            file.write(bytes([whole[0] ^ 1]))
        assert found.read(key, 1, value.size)[:5] == whole[1:6]  # it was checked before
        with pytest.raises(FormatError, match="are not the bytes that its writer wrote"):
            find_followed(out).read(key, 0, 1)
        with open(f"{out}.partial", "r+b") as file:
            file.truncate(value.offset + value.header_length + 5)
        with pytest.raises(FormatError, match="are not the bytes that its writer wrote"):
            find_followed(out).read(key, 0, 1)


@pytest.mark.posix("needs file locks")
def test_after_an_error_no_line_of_the_index_follows(out, monkeypatch):
    """A missing line would let readers take a value for an empty one."""
    write, failed = os.write, []

    def fail_once(descriptor, data):
        if not failed and b'"value"' in bytes(data):
            failed.append(data)
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with growing(out) as append:
        append(2)
        before = Path(f"{out}.partial.index").read_bytes()
        monkeypatch.setattr(os, "write", fail_once)
        append(4)
        assert failed
        assert Path(f"{out}.partial.index").read_bytes() == before
        np.testing.assert_array_equal(ozx.open(out, live=True)["0"][...], PIXELS[:2])
        append.stream.close()
    assert os.listdir(os.path.dirname(out)) == ["a.ozx"]


def test_systems_without_locks_have_no_index(out, monkeypatch):
    for module in (followed_file, index):
        monkeypatch.setattr(module, "has_locks", lambda: False)
    with growing(out) as append:
        append(2)
        assert not os.path.exists(f"{out}.partial.index")
        with pytest.raises(UnsupportedError, match="this system has no file locks"):
            find_followed(out)
        append.stream.close()
    assert find_followed(out) is None
