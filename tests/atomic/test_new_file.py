"""New files: whole or not at all, and nothing of others is touched."""

import contextlib
import errno
import os
import threading

import pytest
from atomic_writing import fill, names, write
from links import make_link
from stores import join_all, start_all

from ozx.atomic import new_file
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
from ozx.errors import ResourceError, UsageError


def test_an_existing_file_is_replaced_only_by_force(tmp_path):
    write(tmp_path / "a", b"one")
    with pytest.raises(UsageError, match="exists already"):
        write(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    write(tmp_path / "a", b"two", force=True)
    assert (tmp_path / "a").read_bytes() == b"two"
    assert names(tmp_path) == ["a"]


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(UsageError, match="exists already"), replacing_file(str(tmp_path / "a")):
        (tmp_path / "a").write_bytes(b"somebody else's")
    assert (tmp_path / "a").read_bytes() == b"somebody else's"
    assert names(tmp_path) == ["a"]


def test_the_race_for_the_name_is_decided_by_the_file_system(tmp_path, monkeypatch):
    monkeypatch.setattr(new_file, "check_target", lambda *_, **__: None)
    (tmp_path / "a").write_bytes(b"first")
    with pytest.raises(UsageError, match="exists already"):
        write(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_without_hard_links_a_rename_serves(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    write(tmp_path / "a", b"one")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError(errno.ENOSPC, "full")])
def test_after_an_error_the_old_file_stays_and_nothing_else(tmp_path, error):
    write(tmp_path / "a", b"old")
    with (
        pytest.raises((ValueError, KeyboardInterrupt, OSError)),
        replacing_file(str(tmp_path / "a"), force=True) as new,
    ):
        os.write(new.descriptor, b"half")
        raise error
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("use", [replacing_file, replacing_directory])
class TestSystemErrors:
    """They name what the caller asked for: a temporary name would help nobody to find it."""

    def raised_in(self, use, path, error):
        with pytest.raises(type(error)) as caught, use(str(path)) as new:
            error.filename = error.filename and error.filename.replace("TEMPORARY", new.path)
            raise error
        return caught.value.filename

    def test_a_full_disk(self, tmp_path, use):
        assert self.raised_in(use, tmp_path / "a", OSError(errno.ENOSPC, "full")) == str(tmp_path / "a")

    def test_the_temporary_name(self, tmp_path, use):
        error = OSError(errno.EIO, "bad", os.path.join("TEMPORARY", "0", "c"))
        assert self.raised_in(use, tmp_path / "a", error) == str(tmp_path / "a" / "0" / "c")

    def test_another_file(self, tmp_path, use):
        assert self.raised_in(use, tmp_path / "a", OSError(errno.EIO, "bad", "source.zarr/0")) == "source.zarr/0"

    def test_errors_of_our_own(self, tmp_path, use):
        assert self.raised_in(use, tmp_path / "a", ResourceError("bad")) is None

    def test_a_target_that_appears_is_named_as_it_was_given(self, tmp_path, use, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match=r"^a: the file exists already"), use("a"):
            (tmp_path / "a").write_bytes(b"other")
            os.chdir("/")
        assert names(tmp_path) == ["a"]

    def test_a_folder_that_cannot_be_written_to(self, tmp_path, use, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(errno.EACCES, "refused", path)

        monkeypatch.setattr(os, "open", refuse)
        monkeypatch.setattr(os, "mkdir", refuse)
        with pytest.raises(PermissionError) as caught, use(str(tmp_path / "a")):
            pass
        assert caught.value.filename == str(tmp_path / "a")


@pytest.mark.posix("the network file systems of POSIX")
def test_what_a_server_could_not_write_is_heard_of_before_the_file_has_its_name(tmp_path, monkeypatch):
    # Network file systems say so when a file is synced or else when it is closed, each time it is.
    write(tmp_path / "a", b"old")
    close = os.close

    def fail(descriptor):
        close(descriptor)
        raise OSError(errno.EDQUOT, "no room on the server")

    with (
        pytest.raises(OSError, match="no room on the server"),
        replacing_file(str(tmp_path / "a"), force=True, sync=False),
    ):
        monkeypatch.setattr(os, "close", fail)
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.posix("the network file systems of POSIX")
def test_closing_what_is_synced_says_nothing(tmp_path, monkeypatch):
    with replacing_file(str(tmp_path / "a")):
        close = os.close
        monkeypatch.setattr(os, "close", lambda descriptor: (close(descriptor), os.close(-1)))
    monkeypatch.undo()
    assert names(tmp_path) == ["a"]


def test_names_of_255_bytes_can_be_written(tmp_path):
    write(tmp_path / ("n" * 255), b"long")
    fill(tmp_path / ("d" * 255))
    assert [len(name) for name in names(tmp_path)] == [255, 255]


def test_two_threads_write_to_one_name(tmp_path):
    barrier = threading.Barrier(2)

    def run(data):
        with replacing_file(str(tmp_path / "a"), force=True) as new:
            barrier.wait()
            os.write(new.descriptor, data)

    join_all(start_all(run, (b"one", b"two")))
    assert (tmp_path / "a").read_bytes() in (b"one", b"two")
    assert names(tmp_path) == ["a"]


@pytest.mark.usefixtures("has_exchange")
@pytest.mark.parametrize("is_refused", [True, False])
def test_the_replaced_file_is_looked_at_last(tmp_path, is_refused):
    (tmp_path / "a").write_bytes(b"old")
    seen = []

    def check_old(path):
        with open(path, "rb") as file:
            seen.append(file.read())
        if is_refused:
            raise UsageError("expected another file")

    expected = pytest.raises(UsageError) if is_refused else contextlib.nullcontext()
    with expected, replacing_file(str(tmp_path / "a"), force=True, check_old=check_old) as new:
        os.write(new.descriptor, b"new")
    assert seen == [b"old"]
    assert (tmp_path / "a").read_bytes() == (b"old" if is_refused else b"new")
    assert names(tmp_path) == ["a"]


def test_what_replaced_the_new_file_before_it_is_taken_back_stays(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def check_old(path):
        (tmp_path / "b").write_bytes(b"newest")
        os.replace(tmp_path / "b", tmp_path / "a")
        raise UsageError("expected another file")

    with pytest.raises(UsageError), replacing_file(str(tmp_path / "a"), force=True, check_old=check_old) as new:
        os.write(new.descriptor, b"new")
    assert (tmp_path / "a").read_bytes() == b"newest"
    assert names(tmp_path) == ["a"]


def test_side_files_that_are_removed_are_named_as_the_target_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a.sha256"):
        (tmp_path / name).write_bytes(b"old")
    with replacing_file("a", force=True) as new:
        os.chdir("/")
    assert new.swept == ["a.sha256"]
    assert names(tmp_path) == ["a"]


@pytest.mark.posix("Windows resolves .. before links")
def test_two_dots_after_a_link_lead_to_the_folder_of_its_target(tmp_path, monkeypatch):
    (tmp_path / "deep" / "folder").mkdir(parents=True)
    make_link(tmp_path / "link", tmp_path / "deep" / "folder")
    monkeypatch.chdir(tmp_path)
    with replacing_file("link/../a"):
        pass
    assert names(tmp_path / "deep") == ["a", "folder"]
