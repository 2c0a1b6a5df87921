"""Waiting for the disk, file by file where the system has no call for all of them."""

import errno
import os
import sys

import pytest

from ozx.atomic import syncing
from ozx.atomic.new_file import replacing_file
from ozx.atomic.syncing import flush, sync_tree


def test_a_folder_that_cannot_be_listed_is_not_left_out(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(sys, "platform", "darwin")
    sync_tree(str(tmp_path))
    scandir = os.scandir

    def fail(path):
        if os.path.basename(path) == "a":
            raise OSError(5, "the disk is gone")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        sync_tree(str(tmp_path))


class Drive:
    """The module `fcntl` of macOS; `error` is what its file system answers."""

    F_FULLFSYNC = 51

    def __init__(self, error=None):
        self.error, self.calls = error, []

    def fcntl(self, descriptor, command):
        self.calls.append(command)
        if self.error:
            raise self.error


@pytest.mark.parametrize("error", [None, OSError(45, "Operation not supported")])
def test_macos_empties_the_memory_of_the_drive_where_it_can(tmp_path, monkeypatch, error):
    drive, synced = Drive(error), []
    monkeypatch.setattr(syncing, "fcntl", drive)
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "a").open("wb") as file:
        flush(file.fileno())
    assert drive.calls == [Drive.F_FULLFSYNC]
    assert len(synced) == (error is not None)


def test_an_error_of_the_drive_is_raised(tmp_path, monkeypatch):
    monkeypatch.setattr(syncing, "fcntl", Drive(OSError(errno.EIO, "the drive fails")))
    with (tmp_path / "a").open("wb") as file, pytest.raises(OSError, match="the drive fails"):
        flush(file.fileno())


@pytest.mark.posix("folders are not synced there")
def test_macos_empties_the_memory_of_the_drive_once_for_a_tree(tmp_path, monkeypatch):
    drive = Drive()
    for number in range(3):
        (tmp_path / "tree" / str(number)).mkdir(parents=True)
        (tmp_path / "tree" / str(number) / "a").touch()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(syncing, "fcntl", drive)
    sync_tree(str(tmp_path / "tree"))
    assert len(drive.calls) == 2  # a file, then its name


@pytest.mark.posix("there the file is closed before it gets its name")
def test_delayed_errors_are_found_on_macos_before_the_file_gets_its_name(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.EIO, "the server lost a block")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(OSError, match="the server lost a block"),
        replacing_file(str(tmp_path / "a"), sync=False) as new,
    ):
        os.write(new.descriptor, b"12 cells")
    assert not [*tmp_path.iterdir()]
