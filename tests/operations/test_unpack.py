"""unpack: which archives become directories, and what is never written or replaced."""

import os
import zipfile

import pytest
from hierarchies import tree
from packed import zip_values
from uris import ozx_uri

import ozx
from ozx.errors import FormatError, UsageError
from ozx.operations.unpack import default_directory, unpack


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cells.ozx", "cells.ome.zarr"),
        ("a/cells.OZX", "a/cells.ome.zarr"),
        ("cells.zip", "cells.ome.zarr"),
        ("cells.ome.zarr.zip", "cells.ome.zarr"),
        ("cells.zarr.zip", "cells.ome.zarr"),
        ("cells", "cells.ome.zarr"),
    ],
)
def test_the_default_name(path, expected):
    assert default_directory(path) == expected


def test_entries_that_only_name_folders_are_left_out_with_a_note(tmp_path):
    path = zip_values(tmp_path / "a.zip", {"a/": b"", "a/b": b"1", "empty/": b""})
    result = unpack(path)
    assert tree(result.path) == {"a/b": b"1"}
    assert any("2 entries for folders" in note for note in result.notes)


def test_what_is_in_the_way_is_named_and_not_the_archive(tmp_path):
    path = zip_values(tmp_path / "a.zip", {"new": b"1"})
    (tmp_path / "out").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"out: expected a directory to replace; found a file$"):
        unpack(path, tmp_path / "out", force=True)
    assert (tmp_path / "out").read_bytes() == b"mine"


@pytest.mark.parametrize("force", [True, False])
def test_an_empty_name_is_not_taken_for_the_root(tmp_path, monkeypatch, force):
    monkeypatch.chdir(tmp_path)
    zip_values(tmp_path / "a.zip", {"new": b"1"})
    for arguments in (("a.zip", ""), ("", "out")):
        with pytest.raises(UsageError, match="got an empty string"):
            unpack(*arguments, force=force)
    assert os.listdir(tmp_path) == ["a.zip"]


def test_a_directory_is_unpacked_already(tmp_path, image):
    with pytest.raises(UsageError, match=r"expected an \.ozx file to unpack; it is a directory") as caught:
        unpack(image, tmp_path / "out")
    assert caught.value.path == str(image)
    assert "ozx pack" in caught.value.hint
    assert os.listdir(tmp_path) == []


def bomb(path, size):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive, archive.open("0", "w") as entry:
        for _ in range(size >> 20):
            entry.write(bytes(1 << 20))
    return path


def test_a_bomb_is_refused_unless_it_is_asked_for(tmp_path):
    path = bomb(tmp_path / "a.zip", 80 << 20)
    with pytest.raises(FormatError, match="decompression bomb") as caught:
        unpack(path)
    assert caught.value.rule == "zip/bomb"
    assert "allow_bombs=True" in caught.value.hint
    assert unpack(path, allow_bombs=True).bytes == 80 << 20
    assert unpack(bomb(tmp_path / "b.zip", 60 << 20)).bytes == 60 << 20  # it deflates well, but is small


@pytest.mark.parametrize("node", ["labels", "labels/cells", "labels/cells/0"])
def test_a_node_becomes_the_root_of_a_directory(image, tmp_path, node):
    path = ozx.pack(image, tmp_path / "a.ozx", sync=False).path
    result = unpack(f"{ozx_uri(path)}/{node}", sync=False)
    expected = tree(image / node)
    assert result.path == str(tmp_path / f"{node.rpartition('/')[2]}.ome.zarr")
    assert result.source == f"{ozx_uri(path)}/{node}"
    assert tree(result.path) == expected
    assert (result.entries, result.bytes) == (len(expected), sum(map(len, expected.values())))
    assert result.notes == ()
    other = unpack(f"{path}|zip:{node}/", tmp_path / "elsewhere", sync=False)
    assert tree(other.path) == expected
    assert sorted(os.listdir(tmp_path)) == sorted(["a.ozx", os.path.basename(result.path), "elsewhere"])


def test_a_node_whose_names_repeat(tmp_path):
    group = b'{"zarr_format": 3, "node_type": "group"}'
    below = {"zarr.json": group, "a/zarr.json": group, "a/a/zarr.json": group, ".ozx-lift/x": b"1", "a/c/0": b"2"}
    values = {"zarr.json": group, "b": b"3", "a/zarr.json": group} | {
        f"a/a/{key}": value for key, value in below.items()
    }
    # An entry for a folder beside the node is nobody's business here.
    path = zip_values(tmp_path / "a.zip", values | {"empty/": b""}, deflated=True)
    result = unpack(f"{path}|zip:a/a", tmp_path / "out")
    assert (tree(result.path), result.notes) == (below, ())
