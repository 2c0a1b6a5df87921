"""What is replaced hands on its mode, owner, group and access control list; what is new has what the system gives."""

import os
import stat
import struct
import tempfile
from pathlib import Path

import pytest
from atomic_writing import fill, write
from children import run_in_child

from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
from ozx.errors import ResourceError

pytestmark = pytest.mark.posix("there are no such permissions here")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
ACCESS = "system.posix_acl_access"
USER = 12_345


@pytest.fixture(autouse=True)
def _usual_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("wanted", [0o700, 0o750, 0o777, 0o2775])
def test_the_root_of_a_replaced_folder_keeps_its_mode(tmp_path, wanted):
    fill(tmp_path / "d")
    (tmp_path / "d").chmod(wanted)
    with replacing_directory(str(tmp_path / "d"), replace_folder=True) as new:
        assert stat.S_IMODE(os.stat(new.path).st_mode) & 0o777 == 0o700
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == wanted


@as_root
def test_root_keeps_owner_and_group(tmp_path):
    for make, path in ((lambda: write(tmp_path / "a", b"x", force=True), "a"), (lambda: fill(tmp_path / "d"), "d")):
        make()
        os.chown(tmp_path / path, USER, USER + 1)
        (tmp_path / path).chmod(0o4750 if path == "a" else 0o750)
    write(tmp_path / "a", b"new", force=True)
    fill(tmp_path / "d", replace_folder=True)
    for path, wanted in (("a", 0o4750), ("d", 0o750)):
        status = (tmp_path / path).stat()
        assert (status.st_uid, status.st_gid, mode(tmp_path / path)) == (USER, USER + 1, wanted)


@as_root
@pytest.mark.parametrize(
    ("groups", "group", "wanted"),
    [([USER + 1], USER + 1, 0o660), ([], USER, 0o600)],
    ids=["a member of the group", "no member"],
)
def test_a_user_who_may_not_keep_owner_or_group_gives_another_group_nothing(groups, group, wanted):
    def work():
        os.setgroups(groups)
        os.setegid(USER)
        os.seteuid(USER)
        with replacing_file(str(path), force=True):
            pass

    with tempfile.TemporaryDirectory() as name:  # those of pytest are for their owner only
        os.chmod(name, 0o777)
        path = Path(name, "a")
        write(path, b"old")
        os.chown(path, 0, USER + 1)
        path.chmod(0o4660)
        assert run_in_child(work) == 0
        status = path.stat()
        assert (status.st_uid, status.st_gid, mode(path)) == (USER, group, wanted)


@as_root
@pytest.mark.parametrize("inner", ["0", "0/c/1"])
def test_a_folder_in_it_that_may_not_be_written_to_is_refused_before_anything_is_made(inner):
    def work():
        os.setgroups([])
        os.setegid(USER)
        os.seteuid(USER)
        with pytest.raises(ResourceError, match=f"d/{inner} is not writable, so its old contents cannot be removed"):
            fill(path, replace_folder=True)

    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        path = Path(name, "d")
        os.makedirs(path / "0" / "c" / "1")
        (path / inner / "value").write_bytes(b"1")
        for folder in (path, path / "0", path / "0/c", path / "0/c/1"):
            os.chown(folder, USER, USER)
        (path / inner).chmod(0o555)
        assert run_in_child(work) == 0
        assert (os.listdir(name), sorted(os.listdir(path / inner))) == (
            ["d"],
            [*(["c"] if inner == "0" else []), "value"],
        )


def test_what_could_not_be_removed_is_named(tmp_path, monkeypatch):
    path = tmp_path / "d"
    fill(path)

    def fail(_):
        raise PermissionError(13, "Permission denied", "0")

    monkeypatch.setattr("ozx.atomic.new_directory.remove_recorded", fail)
    with pytest.raises(ResourceError) as caught:
        fill(path, replace_folder=True)
    assert str(caught.value) == (
        f"{path}: the replaced directory could not be removed (Permission denied); it is kept as {path}.old"
    )
    assert caught.value.hint.startswith("The new directory is complete.")
    assert sorted(os.listdir(tmp_path)) == ["d", "d.old"]


def control_list(mask):
    """Return what system.posix_acl_access holds: another user may write, the group may only read."""
    entries = [(1, 6, -1), (2, 6, USER), (4, 4, -1), (16, mask, -1), (32, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def set_list(path, name=ACCESS):
    try:
        os.setxattr(path, name, control_list(6))
    except (AttributeError, OSError):
        pytest.skip("no access control lists here")


def test_an_access_control_list_is_kept(tmp_path):
    write(tmp_path / "a", b"old")
    set_list(tmp_path / "a")
    write(tmp_path / "a", b"new", force=True)
    assert os.getxattr(tmp_path / "a", ACCESS) == control_list(6)
    assert mode(tmp_path / "a") == 0o660


def test_the_list_of_the_folder_opens_nothing_that_was_closed(tmp_path):
    write(tmp_path / "a", b"old")
    (tmp_path / "a").chmod(0o660)
    set_list(tmp_path, "system.posix_acl_default")
    write(tmp_path / "a", b"new", force=True)
    assert ACCESS not in os.listxattr(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o660


def test_what_describes_the_old_content_is_not_copied(tmp_path):
    write(tmp_path / "a", b"old")
    try:
        os.setxattr(tmp_path / "a", "user.checksum", b"of the old content")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    write(tmp_path / "a", b"new", force=True)
    assert os.listxattr(tmp_path / "a") == []
