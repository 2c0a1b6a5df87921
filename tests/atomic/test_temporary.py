"""What killed processes leave, and what it is told from."""

import os
import subprocess
import sys
import time

import pytest
from atomic_writing import names, write
from links import make_link
from sweeping import forget_swept_folders

from ozx.atomic import temporary
from ozx.atomic.host import this_host
from ozx.atomic.new_file import replacing_file
from ozx.atomic.temporary import create_directory, create_file

KILLED = """
import os, signal, sys
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
with replacing_file(sys.argv[1]) as new, replacing_directory(sys.argv[2]) as directory:
    os.write(new.descriptor, b"half")
    open(os.path.join(directory.path, "half"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.posix("needs SIGKILL")
def test_leftovers_of_a_killed_process_are_swept_and_those_of_live_ones_are_not(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "f"), str(tmp_path / "d")], check=False)
    assert killed.returncode == -9
    assert len(names(tmp_path)) == 2
    foreign = tmp_path / ".notes.txt.ozx-tmp"
    foreign.write_text("has no process id in its name", encoding="ascii")
    with replacing_file(str(tmp_path / "alive")) as alive:
        assert len(alive.swept) == 2
        forget_swept_folders()
        swept = write(tmp_path / "b", b"b").swept
        assert swept == []
        assert os.path.exists(alive.path)
    assert names(tmp_path) == [".notes.txt.ozx-tmp", "alive", "b"]


@pytest.mark.posix("an open file stays on Windows")
def test_a_file_that_a_living_process_has_just_created_is_not_swept(tmp_path):
    new = tmp_path / f".a.{os.getpid()}.{this_host()}.ozx-tmp"
    new.touch()
    assert write(tmp_path / "b", b"b").swept == []
    forget_swept_folders()
    os.utime(new, (0, time.time() - 60))  # its number belongs to another process now
    assert write(tmp_path / "c", b"c").swept == [str(new)]


@pytest.mark.parametrize("end", ["folder", "file", "nothing"])
def test_a_link_that_was_left_is_swept_and_what_it_leads_to_is_not(tmp_path, end):
    # What a run left that replaced a link to a folder, and was killed before it was done.
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"kept")
    left = tmp_path / f".d.99999999.{this_host()}.ozx-tmp"
    make_link(left, end)
    assert write(tmp_path / "a", b"a").swept == [str(left)]
    assert names(tmp_path) == ["a", "file", "folder"]


def test_links_in_a_tree_that_was_left_go_and_what_they_lead_to_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"kept")
    left = tmp_path / f".d.99999999.{this_host()}.ozx-tmp"
    left.mkdir()
    make_link(left / "link", "../folder")
    assert write(tmp_path / "a", b"a").swept == [str(left)]
    assert names(tmp_path) == ["a", "folder"]
    assert names(tmp_path / "folder") == ["file"]


@pytest.mark.posix("there are no such files here")
def test_a_pipe_is_no_leftover(tmp_path):
    os.mkfifo(tmp_path / f".d.99999999.{this_host()}.ozx-tmp")
    assert write(tmp_path / "a", b"a").swept == []
    assert names(tmp_path) == [f".d.99999999.{this_host()}.ozx-tmp", "a"]


@pytest.mark.posix("needs SIGKILL")
@pytest.mark.parametrize("name", ["n" * 255, "\u7d30" * 85, "two\nlines"])
def test_what_is_left_of_any_name_is_swept(tmp_path, name):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / name), str(tmp_path / name[:-1])], check=False
    )
    assert killed.returncode == -9
    assert len(write(tmp_path / "b", b"b").swept) == 2
    assert names(tmp_path) == ["b"]


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path):
    (tmp_path / "victim").write_bytes(b"old")
    make_link(tmp_path / f".a.{os.getpid()}.{this_host()}.ozx-tmp", "victim")
    temporary._swept.add(str(tmp_path))
    write(tmp_path / "a", b"new")
    assert (tmp_path / "victim").read_bytes() == b"old"
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.posix("without locks, the next run sweeps it")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])  # of SIGINT, and of SIGTERM in the command line
@pytest.mark.parametrize(("create", "call"), [(create_file, "open"), (create_directory, "mkdir")])
def test_an_interrupt_just_after_the_creation_leaves_nothing(tmp_path, monkeypatch, create, call, error):
    make = getattr(os, call)

    def interrupted(*arguments):
        made = make(*arguments)
        monkeypatch.undo()
        if made is not None:
            os.close(made)
        raise error

    monkeypatch.setattr(os, call, interrupted)
    with pytest.raises(error):
        create(str(tmp_path / "a"))
    assert names(tmp_path) == []


@pytest.mark.posix("an open file stays on Windows")
@pytest.mark.posix("there are no locks here")
def test_a_directory_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """Two threads unpack into a new folder: one sweeps it while the other has made its directory, but not locked it."""
    opened, sweeps = os.open, []

    def open_swept(path, *given, **more):
        if not sweeps and os.path.isdir(path):
            sweeps.append(path)
            os.rmdir(path)
        return opened(path, *given, **more)

    monkeypatch.setattr(os, "open", open_swept)
    made, lock = create_directory(str(tmp_path / "a"))
    assert len(sweeps) == 1
    assert names(tmp_path) == [os.path.basename(made)]
    os.close(lock)


def test_an_interrupt_before_the_creation_leaves_the_file_of_another_thread(tmp_path, monkeypatch):
    with replacing_file(str(tmp_path / "a")) as new:

        def interrupted(*arguments):
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            create_file(str(tmp_path / "a"))
        assert os.path.exists(new.path)


class TestWithoutLocks:
    """Windows: which process wrote a file is asked of the system, and nothing young is removed."""

    @pytest.fixture
    def alive(self, monkeypatch):
        """The processes that run, with their starts; the computer has no locks."""
        starts = {}
        monkeypatch.setattr(temporary, "has_locks", lambda: False)
        monkeypatch.setattr(temporary, "is_alive", lambda number, since=0: starts.get(number, since + 1) <= since)
        return starts

    @pytest.fixture
    def left(self, tmp_path):
        return tmp_path / f".a.4711.{this_host()}.ozx-tmp"

    @pytest.mark.parametrize(("age", "is_swept"), [(0, False), (599, False), (601, True), (90_000, True)])
    def test_what_changed_within_ten_minutes_stays(self, tmp_path, alive, monkeypatch, left, age, is_swept):
        assert alive == {}
        left.touch()
        now = left.stat().st_mtime
        monkeypatch.setattr(temporary.time, "time", lambda: now + age)
        assert temporary.sweep(str(tmp_path)) == ([str(left)] if is_swept else [])

    @pytest.mark.parametrize(("start", "is_swept"), [(0, False), (90_000, True)])
    def test_what_a_living_process_wrote_stays(self, tmp_path, alive, left, start, is_swept):
        left.touch()
        then = time.time() - 90_000
        os.utime(left, (then, then))
        alive[4711] = then + start - 1  # a process that started later is another one of the same number
        assert temporary.sweep(str(tmp_path)) == ([str(left)] if is_swept else [])

    def test_the_deepest_change_in_a_directory_counts(self, tmp_path, alive, left):
        assert alive == {}
        (left / "0" / "c").mkdir(parents=True)
        (left / "0" / "c" / "0").touch()
        then = time.time() - 90_000
        os.utime(left, (then, then))
        os.utime(left / "0", (then, then))
        assert temporary.sweep(str(tmp_path)) == []
        assert left.is_dir()

    @pytest.mark.parametrize("age", [0, 601])
    def test_a_replaced_directory_of_a_dead_process_gets_a_visible_name(self, tmp_path, alive, monkeypatch, age):
        assert alive == {}
        hidden = tmp_path / f".a.zarr.4711.{this_host()}.ozx-old"
        hidden.mkdir()
        now = hidden.stat().st_mtime
        monkeypatch.setattr(temporary.time, "time", lambda: now + age)
        assert temporary.sweep(str(tmp_path)) == ([str(tmp_path / "a.zarr.old")] if age else [])
        assert names(tmp_path) == ["a.zarr.old" if age else hidden.name]

    def test_the_files_of_a_living_process_are_not_looked_at(self, tmp_path, alive, left, monkeypatch):
        (left / "0").mkdir(parents=True)
        alive[4711] = 0
        monkeypatch.setattr(os, "walk", None)
        assert temporary.sweep(str(tmp_path)) == []
