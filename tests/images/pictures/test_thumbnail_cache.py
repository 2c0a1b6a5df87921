"""Names in the cache are those that GLib, and with it the file managers, look for."""

import ctypes
import ctypes.util
import os
import stat

import pytest
from links import make_link

from ozx.operations.thumbnail import CACHE_FOLDERS, cache_path, cache_texts, file_uri, make_cache_folder


def glib():
    name = ctypes.util.find_library("glib-2.0")
    if name is None:
        pytest.skip("GLib is not installed")
    library = ctypes.CDLL(name)
    library.g_filename_to_uri.restype = ctypes.c_void_p
    library.g_filename_to_uri.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
    return library


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/my cells.ozx", "file:///data/my%20cells.ozx"),
        ("/data/a#b?c.ozx", "file:///data/a%23b%3Fc.ozx"),
        ("/data/Zellkörper é.ozx", "file:///data/Zellk%C3%B6rper%20%C3%A9.ozx"),
        ("/data/100%.ozx", "file:///data/100%25.ozx"),
        ("/data/[1]{2};|^`.ozx", "file:///data/%5B1%5D%7B2%7D%3B%7C%5E%60.ozx"),
        ("/data/!$&'()*+,-./:=@_~", "file:///data/!$&'()*+,-./:=@_~"),
        ("/data/../b.ozx", "file:///b.ozx"),
        (b"/data/\xff.ozx".decode("utf-8", "surrogateescape"), "file:///data/%FF.ozx"),
    ],
)
@pytest.mark.posix("paths of POSIX")
def test_uris(path, uri):
    assert file_uri(path) == uri


@pytest.mark.posix("paths of POSIX")
def test_every_byte_of_a_name_is_written_as_glib_writes_it():
    library = glib()
    name = b"/" + bytes(number for number in range(1, 256) if number != ord("/")) + b"x"
    expected = ctypes.string_at(library.g_filename_to_uri(name, None, None)).decode()
    assert file_uri(os.fsdecode(name)) == expected


def test_a_relative_name_is_that_of_a_file_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert file_uri("a.ozx") == file_uri(str(tmp_path / "a.ozx"))


def test_a_link_keeps_its_own_name(tmp_path):
    (tmp_path / "a.ozx").touch()
    make_link(tmp_path / "b.ozx", tmp_path / "a.ozx")
    assert file_uri(str(tmp_path / "b.ozx")).endswith("/b.ozx")


@pytest.mark.parametrize(("size", "folder"), CACHE_FOLDERS.items())
def test_folders(tmp_path, size, folder):
    path = cache_path("file:///a", size, {"XDG_CACHE_HOME": str(tmp_path)})
    assert os.path.dirname(path) == str(tmp_path / "thumbnails" / folder)


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_a_cache_home_that_is_not_absolute_is_ignored(home):
    environment = {} if home is None else {"XDG_CACHE_HOME": home}
    expected = os.path.join(os.path.expanduser("~"), ".cache", "thumbnails", "large")
    assert os.path.dirname(cache_path("file:///a", 256, environment)) == expected


def test_texts(tmp_path):
    path = tmp_path / "a.ozx"
    path.write_bytes(b"12345")
    os.utime(path, ns=(0, 1_700_000_000_999_999_999))
    assert cache_texts("file:///a.ozx", path.stat()) == {
        "Thumb::URI": "file:///a.ozx",
        "Thumb::MTime": "1700000000",
        "Thumb::Size": "5",
        "Software": "ozx",
    }


@pytest.mark.posix("modes of POSIX")
def test_new_folders_are_private_and_old_ones_stay_as_they_are(tmp_path):
    (tmp_path / "home").mkdir(mode=0o755)
    path = tmp_path / "home" / ".cache" / "thumbnails" / "large" / "x.png"
    for _ in range(2):
        make_cache_folder(str(path))
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:4]]
    assert modes == [0o700, 0o700, 0o700, 0o755]
