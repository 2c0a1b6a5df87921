"""``NAME.partial``: one writer at a time, nothing of a dead one is lost."""

import contextlib
import errno
import os
import threading
from pathlib import Path

import pytest
from links import make_link
from open_files import closed_files_only  # noqa: F401
from stores import join_all, put, start_all

from ozx import OzxStore, ResourceError, UsageError
from ozx.atomic import locks
from ozx.errors import PartialFileWarning
from ozx.store import partial_file
from ozx.store.partial_file import PartialFile


@pytest.fixture
def target(tmp_path):
    return str(tmp_path / "a.ozx")


def test_a_second_writer_is_refused_until_the_first_one_is_done(target):
    first = PartialFile(target)
    for _ in range(2):
        with pytest.raises(ResourceError, match="another program is writing") as caught:
            PartialFile(target)
        assert caught.value.path == target
        assert f"{target}.partial" in caught.value.hint
    first.remove()
    PartialFile(target).remove()
    assert os.listdir(os.path.dirname(target)) == []


def test_without_locks_the_file_system_decides_between_two_writers(target, closed_files_only, monkeypatch):  # noqa: F811
    """Both find no file; only one creates it."""
    barrier, original = threading.Barrier(2), os.open

    def open_together(path, *rest):
        if os.fspath(path).endswith(".partial"):
            with contextlib.suppress(threading.BrokenBarrierError):
                barrier.wait(5)
            barrier.abort()
        return original(path, *rest)

    monkeypatch.setattr(os, "open", open_together)
    results = []

    def create():
        try:
            results.append(PartialFile(target))
        except ResourceError as error:
            results.append(error)

    join_all(start_all(lambda _: create(), range(2)))
    (refused,) = (each for each in results if isinstance(each, ResourceError))
    (first,) = (each for each in results if each is not refused)
    assert "another program is writing" in str(refused)
    first.remove()


def test_what_a_dead_writer_left_is_kept_under_other_names(target):
    for number in range(3):
        partial = PartialFile(target)
        assert partial.left_behind == (f"{target}.partial.{number}" if number else None)
        os.write(partial.descriptor, b"%d" % number)
        partial.close()
    for number, name in enumerate(["a.ozx.partial.1", "a.ozx.partial.2", "a.ozx.partial"]):
        assert Path(target).with_name(name).read_bytes() == b"%d" % number


@pytest.mark.posix("needs file locks")
def test_an_empty_file_that_was_left_is_used(target):
    PartialFile(target).close()
    partial = PartialFile(target)
    assert partial.left_behind is None
    partial.remove()


def test_the_store_tells_what_an_earlier_writer_left(target):
    with pytest.raises(KeyError), OzxStore(target, mode="w", sync=False) as store:
        put(store, "0/c/0", b"first")
        raise KeyError
    store = OzxStore(target, mode="w", sync=False, keep_partial=False)
    with pytest.warns(PartialFileWarning, match=r"did not finish.*a\.ozx\.partial\.1"):
        put(store, "0/c/0", b"second")
    store._write.abort()
    assert Path(f"{target}.partial.1").read_bytes().endswith(b"first")
    assert not os.path.exists(target + ".partial")


def test_a_directory_or_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is a directory"):
        PartialFile(str(tmp_path))
    with pytest.raises(ResourceError, match="does not exist"):
        PartialFile(str(tmp_path / "no" / "a.ozx"))


@pytest.mark.posix("there are no such files here")
@pytest.mark.parametrize("end", ["victim", "empty", "nothing", "/dev/null"])
def test_a_link_with_the_partial_name_is_never_followed(target, tmp_path, end):
    (tmp_path / "victim").write_bytes(b"years of work")
    (tmp_path / "empty").write_bytes(b"")
    make_link(f"{target}.partial", end)
    with pytest.raises(UsageError, match="found a link") as caught:
        PartialFile(target)
    assert caught.value.hint == f"Remove {target}.partial."
    assert os.readlink(f"{target}.partial") == end
    assert (tmp_path / "victim").read_bytes() == b"years of work"
    assert (tmp_path / "empty").read_bytes() == b""
    assert not (tmp_path / "nothing").exists()


@pytest.mark.posix("there are no such files here")
def test_a_link_that_comes_at_the_last_moment_is_not_followed(target, tmp_path, monkeypatch):
    (tmp_path / "empty").write_bytes(b"")
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    make_link(f"{target}.partial", "empty")
    with pytest.raises(OSError, match="symbolic links"):
        PartialFile(target)


@pytest.mark.posix("there are no such files here")
def test_a_pipe_with_the_partial_name_is_not_opened(target):
    os.mkfifo(f"{target}.partial")
    with pytest.raises(UsageError, match="found something else"):
        PartialFile(target)


@pytest.mark.posix("there are no such permissions here")
def test_what_replaces_a_private_file_is_private_until_it_is_that_file(target):
    Path(target).touch()
    os.chmod(target, 0o640)
    partial = PartialFile(target)
    assert os.stat(partial.path).st_mode & 0o777 == 0o600
    partial.publish(force=True, sync=False)
    assert os.stat(target).st_mode & 0o777 == 0o640


@pytest.mark.posix("lengths are counted in bytes")
@pytest.mark.parametrize("name", ["n" * 255, "\u7d30" * 85, "\u7d30" * 84 + "ab"])
def test_a_name_that_is_too_long_for_its_ending_is_shortened(tmp_path, name):
    target = str(tmp_path / name)
    other = PartialFile(target[:-1] + "z")
    for left_behind in (False, True):
        partial = PartialFile(target)
        assert (partial.left_behind is not None) is left_behind
        os.write(partial.descriptor, b"x")
        partial.close()
    PartialFile(target).publish(force=True, sync=False)
    other.publish(force=True, sync=False)
    assert os.path.exists(target)
    assert os.path.exists(target[:-1] + "z")


@pytest.mark.posix("what is open is not moved there")
def test_what_has_the_partial_name_by_now_is_neither_published_nor_removed(target):
    partials = [PartialFile(target), PartialFile(target + "2")]
    for partial in partials:
        os.unlink(partial.path)
        Path(partial.path).write_bytes(b"another writer's")
    with pytest.raises(ResourceError, match="moved or removed"):
        partials[0].publish(force=True, sync=False)
    partials[1].remove()
    for partial in partials:
        partial.close()
        assert Path(partial.path).read_bytes() == b"another writer's"
    assert not os.path.exists(target)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EIO])
@pytest.mark.posix("Windows refuses to move what is open")
def test_without_locks_the_creation_decides_which_writer_came_first(target, monkeypatch, code):
    def fail(descriptor, operation):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks.fcntl, "flock", fail)
    first = PartialFile(target)
    with pytest.raises(ResourceError, match="has no locks") as caught:
        PartialFile(target)
    assert f"ozx recover {first.path} OUT.ozx" in caught.value.hint
    os.write(first.descriptor, b"first")
    first.publish(force=True, sync=False)
    assert Path(target).read_bytes() == b"first"
    PartialFile(target).remove()  # the name is free again


@pytest.mark.posix("Windows refuses to move what is open")
@pytest.mark.parametrize("step", ["check_target", "close_written"])
def test_what_comes_after_the_sync_is_not_published(target, request, monkeypatch, step):
    if step == "close_written":  # where only closed files are renamed
        request.getfixturevalue("closed_files_only")
    partial, original = PartialFile(target), getattr(partial_file, step)
    os.write(partial.descriptor, b"ours")

    def replace_too(*arguments, **options):
        original(*arguments, **options)
        os.rename(partial.path, f"{target}.moved")
        Path(partial.path).write_bytes(b"another writer's")

    with monkeypatch.context() as patched, pytest.raises(ResourceError, match="moved or removed"):
        patched.setattr(partial_file, step, replace_too)
        partial.publish(force=True, sync=True)
    partial.close()
    assert not os.path.exists(target)
