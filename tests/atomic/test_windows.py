"""Rules of Windows, played on other systems: names, long paths, and files that other programs hold open."""

import os

import pytest

from ozx.atomic import windows
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
from ozx.atomic.renaming import rename_file
from ozx.atomic.windows import long_path, output_fault, rename, usable_path, windows_fault
from ozx.errors import ResourceError

REFUSED = r"CON con.ozx nul.tar.gz x.ozx. a.ozx:stream a:b C:\d\AUX\a.ozx a|b \\.\NUL \\?\C:\con.ozx \\host\x\y. C:\ /"
ACCEPTED = r"a.ozx ..\a.ozx ./a.ozx C:/a \\host\share\a.ozx \\?\C:\a.ozx .a cone.ozx \\?\UNC\host\share\a.ozx out\ "


@pytest.fixture
def held(monkeypatch):
    """Let other programs hold the paths in this set open, until it is emptied."""
    paths = set()
    monkeypatch.setattr(windows, "IS_WINDOWS", True)
    monkeypatch.setattr(windows, "is_held", lambda path: os.path.basename(path) in paths)
    monkeypatch.setattr(windows, "_PAUSES", (0, 0))
    return paths


@pytest.mark.parametrize("path", [*REFUSED.split(), "y.ozx ", "a\n"])
def test_an_output_that_windows_would_write_elsewhere_is_refused(path):
    assert output_fault(path) is not None


@pytest.mark.parametrize("path", [*ACCEPTED.split(), r"C:\d e\a.ozx"])
def test_every_other_output_is_accepted(path):
    assert output_fault(path) is None


def test_a_key_with_a_backslash_is_no_file_on_windows():
    assert windows_fault(r"0\..\..\evil") is not None


@pytest.mark.parametrize("path", [r"\\?\C:\d\a.ozx", r"\\?\UNC\server\share\a.ozx"])
def test_the_prefix_of_long_paths_is_given_once(path):
    assert long_path(path, windows=True) == path
    plain = path.replace("\\\\?\\UNC\\", "\\\\").replace("\\\\?\\", "")
    assert long_path(plain, windows=True) == path


def test_only_a_path_that_would_be_too_long_gets_the_prefix():
    folder = "C:\\" + "d" * 200
    assert usable_path(r"C:\d/a.ozx", windows=True) == r"C:\d/a.ozx"
    assert usable_path(folder + "/a.ozx", windows=True) == rf"\\?\{folder}\a.ozx"
    assert usable_path(folder, windows=False) == folder


def test_a_held_file_is_found_before_anything_is_written(tmp_path, held):
    path = tmp_path / "a.ozx"
    path.write_bytes(b"old")
    held.add("a.ozx")
    with (
        pytest.raises(ResourceError, match="another program has it open") as caught,
        replacing_file(str(path), force=True),
    ):
        pytest.fail("the work began")
    assert "napari" in caught.value.hint
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.ozx"]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_held_file_in_a_replaced_directory_leaves_nothing_behind(tmp_path, held, is_late):
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "zarr.json").write_text("{}")
    held.update([] if is_late else ["zarr.json"])
    with pytest.raises(ResourceError, match=r"zarr\.json.*open"), replacing_directory(str(path), force=True):
        assert is_late
        held.add("zarr.json")
    assert os.listdir(tmp_path) == ["a.zarr"]
    held.clear()
    with replacing_directory(str(path), force=True):
        pass
    assert os.listdir(tmp_path) == ["a.zarr"]
    assert os.listdir(path) == []


def test_a_file_that_a_virus_scanner_holds_for_a_moment_is_renamed(tmp_path, monkeypatch, held):
    refusals = [PermissionError(13, "Access denied")] * 2

    def refusing(old, new):
        if refusals:
            raise refusals.pop()
        os.replace(old, new)

    (tmp_path / "a").write_bytes(b"new")
    rename(str(tmp_path / "a"), str(tmp_path / "b"), refusing)
    assert (tmp_path / "b").read_bytes() == b"new"


def test_a_file_that_stays_open_is_named_instead_of_a_refused_access(tmp_path, held):
    def refusing(old, new):
        held.add("b")
        raise PermissionError(13, "Access denied", old)

    for name in "ab":
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ResourceError, match="b: another program has it open"):
        rename(str(tmp_path / "a"), str(tmp_path / "b"), refusing)


def test_a_file_that_only_ozx_reads_is_replaced(tmp_path):
    from ozx.places.byte_source import FileSource  # noqa: PLC0415 (a room above)

    old, new = tmp_path / "a.ozx", tmp_path / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    source = FileSource(str(old))
    assert source.read_at(0, 3) == b"old"
    rename_file(str(new), str(old), force=True)
    assert old.read_bytes() == b"new"
    source.close()
    assert os.listdir(tmp_path) == ["a.ozx"]


def test_names_are_as_long_as_windows_counts_them():
    assert windows_fault("é" * 255) is None
    assert windows_fault("🔬" * 128) == f"{'🔬' * 128!r} is longer than 255 characters"
