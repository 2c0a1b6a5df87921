"""The write protocol: whole or not at all, and nothing of others is touched."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ozx import atomic
from ozx.atomic import remove_tree, replacing_directory, replacing_file
from ozx.errors import ResourceError, UsageError


@pytest.fixture(autouse=True)
def _forget_swept_folders():
    atomic._swept.clear()


@pytest.fixture
def no_renameat2(monkeypatch):
    """A system, or file system, without renameat2."""
    monkeypatch.setattr(atomic, "_renameat2", lambda *_: False)


def write(path, data, **options):
    with replacing_file(str(path), **options) as new:
        os.write(new.descriptor, data)
        assert not os.path.exists(path) or path.read_bytes() != data
    return new


def fill(path, **options):
    with replacing_directory(str(path), **options) as new:
        Path(new.path, "new").write_text("new", encoding="ascii")
    return new


def names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_appears_when_it_is_complete(tmp_path, sync):
    write(tmp_path / "a", b"one", sync=sync)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert names(tmp_path) == ["a"]


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
    monkeypatch.setattr(atomic, "check_target", lambda *_, **__: None)
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
        assert self.raised_in(use, tmp_path / "a", OSError(errno.EIO, "bad", "TEMPORARY/0/c")) == f"{tmp_path}/a/0/c"

    @pytest.mark.parametrize("name", ["source.zarr/0", None])
    def test_what_may_be_about_another_file(self, tmp_path, use, name):
        assert self.raised_in(use, tmp_path / "a", OSError(errno.EIO, "bad", name)) == name

    def test_errors_of_our_own(self, tmp_path, use):
        assert self.raised_in(use, tmp_path / "a", ResourceError("bad")) is None

    def test_a_folder_that_cannot_be_written_to(self, tmp_path, use, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(errno.EACCES, "refused", path)

        monkeypatch.setattr(os, "open", refuse)
        monkeypatch.setattr(os, "mkdir", refuse)
        with pytest.raises(PermissionError) as caught, use(str(tmp_path / "a")):
            pass
        assert caught.value.filename == str(tmp_path / "a")


def test_a_failing_sync_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        write(tmp_path / "a", b"one")
    assert names(tmp_path) == []


def test_a_directory_is_no_file_name(tmp_path):
    with pytest.raises(UsageError, match="is a directory"):
        write(tmp_path, b"", force=True)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ResourceError, match="does not exist"):
        write(tmp_path / "nowhere" / "a", b"")


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

    threads = [threading.Thread(target=run, args=(data,)) for data in (b"one", b"two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() in (b"one", b"two")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("sync", [True, False])
def test_a_directory_appears_when_it_is_complete(tmp_path, sync):
    fill(tmp_path / "d", sync=sync)
    assert names(tmp_path) == ["d"]
    assert names(tmp_path / "d") == ["new"]


@pytest.mark.usefixtures("no_renameat2")
def test_a_directory_appears_without_renameat2(tmp_path):
    fill(tmp_path / "d")
    assert names(tmp_path) == ["d"]


def make_old(path):
    path.mkdir()
    (path / "old").write_text("old", encoding="ascii")


def test_an_existing_directory_is_exchanged_in_one_step(tmp_path):
    make_old(tmp_path / "d")
    with pytest.raises(UsageError, match="exists already"):
        fill(tmp_path / "d")
    fill(tmp_path / "d", force=True)
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_an_existing_directory_is_exchanged_in_two_steps(tmp_path):
    make_old(tmp_path / "d")
    fill(tmp_path / "d", force=True)
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


@pytest.mark.usefixtures("no_renameat2")
def test_a_directory_called_old_that_is_not_ours_is_not_touched(tmp_path):
    make_old(tmp_path / "d")
    (tmp_path / "d.old").mkdir()
    with pytest.raises(UsageError, match=r"d\.old is in the way"):
        fill(tmp_path / "d", force=True)
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d", "d.old"]


@pytest.mark.usefixtures("no_renameat2")
@pytest.mark.parametrize("killed_at", ["os.rename:1", "os.rename:2", "shutil.rmtree:1", "os.unlink:1"])
def test_an_exchange_cut_off_at_any_step_is_finished_by_the_next_run(tmp_path, monkeypatch, killed_at):
    make_old(tmp_path / "d")
    where, _, count = killed_at.partition(":")
    module, _, name = where.partition(".")
    target = {"os": os, "shutil": atomic.shutil}[module]
    original, calls = getattr(target, name), []

    class Killed(BaseException):
        pass

    def die(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == int(count):
            raise Killed
        return original(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(target, name, die)
        with pytest.raises(Killed):
            atomic._swap(make_new(tmp_path), str(tmp_path / "d"))
    atomic._finish_swap(str(tmp_path / "d"))
    assert names(tmp_path / "d") in (["old"], ["new"])
    assert set(names(tmp_path)) <= {"d", "made"}


def make_new(folder):
    made = folder / "made"
    made.mkdir()
    (made / "new").write_text("new", encoding="ascii")
    return str(made)


def test_a_file_is_not_replaced_by_a_directory(tmp_path):
    (tmp_path / "d").write_bytes(b"file")
    with pytest.raises(UsageError, match="found a file"):
        fill(tmp_path / "d", force=True)
    assert (tmp_path / "d").read_bytes() == b"file"


def test_after_an_error_the_old_directory_stays(tmp_path):
    make_old(tmp_path / "d")
    with pytest.raises(KeyboardInterrupt), replacing_directory(str(tmp_path / "d"), force=True):
        raise KeyboardInterrupt
    assert names(tmp_path / "d") == ["old"]
    assert names(tmp_path) == ["d"]


KILLED = """
import os, signal, sys
from ozx.atomic import replacing_directory, replacing_file
with replacing_file(sys.argv[1]) as new, replacing_directory(sys.argv[2]) as directory:
    os.write(new.descriptor, b"half")
    open(os.path.join(directory.path, "half"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_a_killed_process_are_swept_and_those_of_live_ones_are_not(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "f"), str(tmp_path / "d")], check=False)
    assert killed.returncode == -9
    assert len(names(tmp_path)) == 2
    foreign = tmp_path / ".notes.txt.ozx-tmp"
    foreign.write_text("has no process id in its name", encoding="ascii")
    with replacing_file(str(tmp_path / "alive")) as alive:
        assert len(alive.swept) == 2
        atomic._swept.clear()
        swept = write(tmp_path / "b", b"b").swept
        assert swept == []
        assert os.path.exists(alive.path)
    assert names(tmp_path) == [".notes.txt.ozx-tmp", "alive", "b"]


def test_a_removed_tree_is_gone(tmp_path):
    make_old(tmp_path / "d")
    remove_tree(str(tmp_path / "d"))
    assert names(tmp_path) == []


def test_a_tree_that_cannot_be_renamed_is_removed_in_place(tmp_path, monkeypatch):
    make_old(tmp_path / "d")

    def busy(*_):
        raise OSError(errno.EBUSY, "a mount point")

    monkeypatch.setattr(os, "rename", busy)
    remove_tree(str(tmp_path / "d"))
    assert names(tmp_path) == []
