"""Whose leftovers a run may remove: those of its own computer, by name, boot identifier and time."""

import ctypes
import errno
import os
import struct
import sys
import time
import typing

import pytest
from atomic_writing import names, write
from posix_only import fcntl
from sweeping import forget_swept_folders

from ozx.atomic import host, locks
from ozx.atomic.host import is_of_this_host, this_host
from ozx.atomic.temporary import leftover_at, remove_leftover

OWN_HOST, _, OWN_BOOT = this_host().rpartition("-")
DAY = 86_400


def leave(folder, name, age=0.0):
    path = folder / f".{name}.ozx.99999999.{this_host() if name == 'own' else name}.ozx-tmp"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(
    ("name", "boot", "age", "expected"),
    [
        (OWN_HOST, OWN_BOOT, 0, True),
        ("container", OWN_BOOT, 0, True),  # the same kernel, under another name
        ("node8", "12345678", 100 * DAY, False),
        (OWN_HOST, "12345678", 0, False),  # another computer of the same name
        (OWN_HOST, "12345678", 10 * DAY, True),  # before the last start
    ],
)
def test_which_computer_wrote_it(tmp_path, monkeypatch, name, boot, age, expected):
    monkeypatch.setattr(host, "_boot_time", lambda: time.time() - DAY)
    path = leave(tmp_path, "any-00000000", age)
    assert is_of_this_host(name, boot, str(path)) is expected


def test_a_system_without_boot_identifiers_goes_by_the_name(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "this_host", lambda: "mac-00000000")
    path = str(leave(tmp_path, "any-00000000"))
    assert is_of_this_host("mac", "00000000", path)
    assert not is_of_this_host("other", "00000000", path)


@pytest.mark.parametrize(
    "name", ["", "...", "node7.cluster.example.org", "ein-sehr-langer-name-eines-rechners", "näme"]
)
def test_any_name_of_a_computer_fits_into_a_name_of_a_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr(host.platform, "node", lambda: name)
    this_host.cache_clear()
    try:
        path = tmp_path / f".{'n' * 90}.99999999-9999.{this_host()}.ozx-tmp"
        path.touch()
        assert len(path.name) <= 143
        assert leftover_at(str(path)).is_of_this_host
    finally:
        this_host.cache_clear()


class Mac:
    """The C library of macOS, as far as `sysctlbyname` goes."""

    values: typing.ClassVar = {
        b"kern.bootsessionuuid": b"0A1B2C3D-0000-4000-8000-000000000000\0",
        b"kern.boottime": struct.pack("@lix", 1_700_000_000, 5),
    }

    def sysctlbyname(self, name, value, size, new, new_size):
        found = self.values.get(name)
        if found is None:
            return -1
        ctypes.memmove(value, found, len(found))
        size._obj.value = len(found)
        return 0


@pytest.mark.posix("plays macOS")
def test_a_mac_is_known_by_its_start_whatever_the_network_calls_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Mac())
    monkeypatch.setattr(host.platform, "node", lambda: "zoes-mac.local")
    for function in (this_host, host._boot_time):
        monkeypatch.setattr(host, function.__name__, function.__wrapped__)
    assert host.this_host() == "zoes-mac-0a1b2c3d"
    assert host._boot_time() == 1_700_000_000
    path = str(leave(tmp_path, "any-00000000"))
    assert is_of_this_host("dhcp-17", "0a1b2c3d", path)
    assert not is_of_this_host("dhcp-17", "12345678", path)
    assert not is_of_this_host("zoes-mac", "12345678", path)  # younger than the start
    monkeypatch.setattr(Mac, "values", {})
    assert host.this_host() == "zoes-mac-00000000"
    assert host._boot_time() == 0


@pytest.mark.posix("needs flock")
def test_leftovers_of_others_are_listed_when_they_are_old(tmp_path):
    own, young, old = (
        leave(tmp_path, "own"),
        leave(tmp_path, "node8-12345678"),
        leave(tmp_path, "node9-12345678", 2 * DAY),
    )
    assert write(tmp_path / "a", b"a").swept == [str(own), str(old)]
    assert names(tmp_path) == sorted([young.name, old.name, "a"])


@pytest.mark.posix("needs flock")
def test_with_locks_of_one_node_the_file_of_a_running_process_elsewhere_stays(tmp_path, monkeypatch):
    # NFS with local_lock: the other node's process lives and has its lock, which nothing here can see.
    monkeypatch.setattr(locks.fcntl, "flock", lambda descriptor, operation: None)
    path = leave(tmp_path, "node8-12345678", 2 * DAY)
    write(tmp_path / "a", b"a")
    assert path.exists()


@pytest.mark.posix("needs flock")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EBADF, errno.EIO])
@pytest.mark.parametrize(("age", "process", "is_swept"), [(2, 99999999, True), (0.5, 99999999, False), (2, 0, False)])
def test_where_locks_fail_only_what_a_dead_process_left_a_day_ago_is_removed(
    tmp_path, monkeypatch, code, age, process, is_swept
):
    def fail(descriptor, operation):
        raise OSError(code, "flock fails")

    path = tmp_path / f".own.ozx.{process or os.getpid()}.{this_host()}.ozx-tmp"
    path.touch()
    os.utime(path, (time.time() - age * DAY,) * 2)
    monkeypatch.setattr(locks.fcntl, "flock", fail)
    assert write(tmp_path / "a", b"a").swept == ([str(path)] if is_swept else [])
    assert path.exists() != is_swept


@pytest.mark.posix("needs flock")
def test_where_only_exclusive_locks_fail_the_shared_lock_decides(tmp_path, monkeypatch):
    # NFS refuses an exclusive lock of a file that is open for reading; another computer sees the lock of the writer.
    original = fcntl.flock
    path = leave(tmp_path, "own", 2 * DAY)

    def fail(descriptor, operation):
        if operation & fcntl.LOCK_EX:
            raise OSError(errno.EBADF, "Bad file descriptor")
        original(descriptor, operation)

    with path.open("rb") as file:
        original(file, fcntl.LOCK_EX)
        monkeypatch.setattr(locks.fcntl, "flock", fail)
        assert write(tmp_path / "a", b"a").swept == []
        assert not remove_leftover(leftover_at(str(path)))


@pytest.mark.posix("needs flock")
@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EACCES])
def test_a_held_lock_is_told_by_two_errors(tmp_path, monkeypatch, code):
    def fail(descriptor, operation):
        raise OSError(code, "it is held")

    monkeypatch.setattr(locks.fcntl, "flock", fail)
    with leave(tmp_path, "own", 2 * DAY).open("rb") as file:
        assert locks.lock_file(file.fileno()) is False
        assert not locks.is_free(file.fileno())
    assert not remove_leftover(leftover_at(file.name))


@pytest.mark.posix("needs flock")
def test_what_another_process_has_locked_stays_whatever_its_name(tmp_path):
    path = leave(tmp_path, "node8-12345678")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not remove_leftover(leftover_at(str(path)))
    assert remove_leftover(leftover_at(str(path)))
    assert names(tmp_path) == []
    forget_swept_folders()
