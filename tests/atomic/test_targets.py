"""Which names may be written to: those of regular files, of hierarchies, and of nothing."""

import os
import sys
from contextlib import nullcontext

import pytest
from atomic_writing import fill, names, write
from links import make_device, make_link, make_socket

from ozx.atomic import renaming, targets
from ozx.atomic.new_directory import replacing_directory
from ozx.errors import UsageError


def make_pipe(path):
    os.mkfifo(path)


def make_link_to_pipe(path):
    os.mkfifo(path.with_name("pipe"))
    make_link(path, "pipe")


SPECIAL = [make_pipe, make_socket, make_device, make_link_to_pipe]
SPECIAL += [lambda path: make_link(path, "/dev/null"), lambda path: make_link(path, path.name)]
KINDS = ["pipe", "socket", "device", "link to a pipe", "link to a device", "link to itself"]


@pytest.mark.posix("there are no such files here")
@pytest.mark.parametrize("make", SPECIAL, ids=KINDS)
@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("use", [write, fill])
def test_only_files_and_folders_are_replaced(tmp_path, make, force, use):
    make(tmp_path / "a")
    before, others = os.lstat(tmp_path / "a"), names(tmp_path)
    with pytest.raises(UsageError) as caught:
        use(tmp_path / "a", b"new", force=force) if use is write else use(tmp_path / "a", force=force)
    if use is write:
        assert "force=True" not in (caught.value.hint or "")
    assert os.path.samestat(os.lstat(tmp_path / "a"), before)
    assert names(tmp_path) == others


@pytest.mark.posix("there are no such files here")
@pytest.mark.usefixtures("has_exchange")
@pytest.mark.parametrize("make", [make_pipe, lambda path: path.mkdir()])
def test_what_comes_at_the_last_moment_is_not_replaced(tmp_path, make):
    (tmp_path / "new").write_bytes(b"new")
    make(tmp_path / "a")
    before = os.lstat(tmp_path / "a")
    with pytest.raises(UsageError, match=r"/a: expected .*; it is "):
        renaming.rename_file(str(tmp_path / "new"), str(tmp_path / "a"), force=True)
    assert os.path.samestat(os.lstat(tmp_path / "a"), before)
    assert (tmp_path / "new").read_bytes() == b"new"


class TestFolders:
    @pytest.mark.parametrize("name", ["zarr.json", ".zgroup", ".zarray", ".zattrs"])
    def test_a_hierarchy_is_replaced(self, tmp_path, name):
        (tmp_path / "d" / "0").mkdir(parents=True)
        (tmp_path / "d" / name).write_bytes(b"{}")
        with pytest.raises(UsageError, match="the directory exists already") as caught:
            fill(tmp_path / "d")
        assert caught.value.path == str(tmp_path / "d")
        fill(tmp_path / "d", force=True)
        assert names(tmp_path / "d") == ["new"]

    @pytest.mark.parametrize("name", ["thesis.tex", ".hidden", "zarr.json.txt", "ZARR", "cells.ome.zarr"])
    def test_another_folder_is_not(self, tmp_path, name):
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / name).write_bytes(b"years of work")
        for force, message in ((True, f"found {name}"), (False, "is not a Zarr hierarchy")):
            with pytest.raises(UsageError, match=message) as caught:
                fill(tmp_path / "d", force=force)
            assert "replace_folder=True" in caught.value.hint
            assert force or "force=True" not in caught.value.hint
        assert names(tmp_path / "d") == [name]
        assert names(tmp_path) == ["d"]

    def test_a_folder_called_as_metadata_is_no_metadata(self, tmp_path):
        (tmp_path / "d" / "zarr.json").mkdir(parents=True)
        with pytest.raises(UsageError, match=r"found zarr\.json"):
            fill(tmp_path / "d", force=True)

    def test_what_is_in_the_way_is_named_and_counted(self, tmp_path):
        (tmp_path / "d").mkdir()
        for number in range(9):
            (tmp_path / "d" / f"{number}.tif").write_bytes(b"")
        with pytest.raises(UsageError, match=r"found 0\.tif, 1\.tif, 2\.tif and 6 more"):
            fill(tmp_path / "d", force=True)

    def test_a_file_that_comes_into_the_folder_meanwhile_keeps_it(self, tmp_path):
        (tmp_path / "d").mkdir()
        with (
            pytest.raises(UsageError, match=r"found thesis\.tex"),
            replacing_directory(str(tmp_path / "d"), force=True),
        ):
            (tmp_path / "d" / "thesis.tex").write_bytes(b"years of work")
        assert names(tmp_path / "d") == ["thesis.tex"]
        assert names(tmp_path) == ["d"]

    @pytest.mark.usefixtures("has_exchange")
    def test_a_link_to_a_folder_is_replaced_and_nothing_is_left_of_it(self, tmp_path):
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "zarr.json").write_bytes(b"{}")
        make_link(tmp_path / "d", "there")
        fill(tmp_path / "d", force=True)
        assert names(tmp_path) == ["d", "there"]
        assert not (tmp_path / "d").is_symlink()
        assert names(tmp_path / "there") == ["zarr.json"]


@pytest.mark.posix("lengths are counted in bytes")
class TestLongNames:
    @pytest.mark.usefixtures("no_renameat2")
    def test_directories_with_long_names_are_exchanged_in_two_steps(self, tmp_path):
        for name in ("細" * 85, "細" * 84 + "abc", "n" * 255):
            fill(tmp_path / name)
            fill(tmp_path / name, replace_folder=True)
        assert len(names(tmp_path)) == 3

    def test_the_marker_of_one_long_name_is_not_that_of_another(self, tmp_path):
        first, second = (tmp_path / ("n" * 210 + end) for end in "12")
        assert renaming._marker(str(first)) != renaming._marker(str(second))


class TestMarkers:
    """What says that an exchange of two directories was cut off."""

    @pytest.mark.usefixtures("no_renameat2")
    def test_a_link_in_its_place_is_not_followed(self, tmp_path):
        fill(tmp_path / "d")
        (tmp_path / "victim").write_bytes(b"old")
        marker = renaming._marker(str(tmp_path / "d"))
        with replacing_directory(str(tmp_path / "d"), replace_folder=True):
            make_link(marker, "victim")
            with pytest.raises(FileExistsError):
                renaming._swap(str(tmp_path / "nothing"), str(tmp_path / "d"))
            if os.path.lexists(marker):
                os.unlink(marker)
        assert (tmp_path / "victim").read_bytes() == b"old"

    @pytest.mark.posix("folders are exchanged in two steps there, and .old must be free")
    def test_a_directory_called_old_that_came_later_is_not_removed(self, tmp_path):
        # Killed in between, repaired by hand, and a backup made of that name.
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "zarr.json").write_bytes(b"{}")
        renaming._write_marker(renaming._marker(str(tmp_path / "d")), str(tmp_path / "d"))
        (tmp_path / "d.old").mkdir()
        (tmp_path / "d.old" / "thesis.tex").write_bytes(b"years of work")
        fill(tmp_path / "d", force=True)
        assert names(tmp_path / "d.old") == ["thesis.tex"]
        assert names(tmp_path) == ["d", "d.old"]


@pytest.mark.posix("one call refuses to replace a file there")
class TestSystems:
    """How names are exchanged, and never replaced by accident, on systems and file systems that differ."""

    def test_without_hard_links_a_file_that_came_last_is_not_replaced(self, tmp_path, monkeypatch):
        path, exists = tmp_path / "a", os.path.lexists

        def fail(*_):
            raise OSError(1, "Operation not permitted")

        def check_and_come_too_late(target, *, force):
            found = targets.check_target(target, force=force)
            path.write_bytes(b"another program's")
            return found

        monkeypatch.setattr(os, "link", fail)
        monkeypatch.setattr(renaming, "check_target", check_and_come_too_late)
        with pytest.raises(UsageError, match="exists already"):
            write(path, b"ours")
        assert path.read_bytes() == b"another program's"
        assert exists(path)
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize("fails", [False, True])
    def test_without_any_call_that_replaces_nothing_the_name_is_taken_first(self, tmp_path, monkeypatch, fails):
        """An empty file keeps the name; if the renaming fails, it goes."""
        path, replace, found = tmp_path / "a", os.replace, []

        def fail(*_):
            raise OSError(1, "Operation not permitted")

        def replace_own(old, new):
            with pytest.raises(FileExistsError):
                os.open(new, os.O_CREAT | os.O_EXCL)  # another program comes too late
            found.append(os.path.getsize(new))
            fail() if fails else replace(old, new)

        monkeypatch.setattr(os, "link", fail)
        monkeypatch.setattr(renaming, "renameat2", lambda *_: False)
        monkeypatch.setattr(os, "replace", replace_own)
        with pytest.raises(OSError, match="not permitted") if fails else nullcontext():
            write(path, b"ours")
        assert found == [0]
        assert names(tmp_path) == ([] if fails else ["a"])

    @pytest.mark.parametrize(("flag", "of_macos"), [(renaming._NOREPLACE, 4), (renaming._EXCHANGE, 2)])
    def test_macos_is_asked_with_its_own_flags(self, monkeypatch, flag, of_macos):
        asked = []

        class Library:
            def renamex_np(self, old, new, flags):
                asked.append((old, new, flags.value))
                return 0

        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(renaming.ctypes, "CDLL", lambda *_, **__: Library())
        assert renaming.renameat2("old", "new", flag)
        assert asked == [(b"old", b"new", of_macos)]
