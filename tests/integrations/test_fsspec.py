"""fsspec and zarr's own FsspecStore read .ozx files by ozx:// URLs."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import fsspec
import numpy as np
import pytest
import zarr
from children import run_in_child
from hierarchies import FIXTURES, tree
from packed import pack_tree

import ozx
from ozx.codecs.bounded_arrays import BoundedPipeline
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.integrations.fsspec import OzxFileSystem
from ozx.places.place import Place

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def packed(tmp_path):
    return pack_tree(IMAGE, tmp_path / "cells.ozx")


@pytest.fixture
def url(packed):
    return f"ozx://{packed.as_posix()}"


@pytest.fixture
def files():
    return fsspec.filesystem("ozx")


def test_the_protocol_is_found_by_its_entry_point():
    code = "import fsspec; print(fsspec.get_filesystem_class('ozx').__module__)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "ozx.integrations.fsspec"


@pytest.mark.parametrize("mode", ["r", "r+", "a"])
def test_zarr_opens_a_group_by_url_and_reads_every_pixel(url, mode):
    group = zarr.open_group(url, mode=mode)
    assert sorted(name for name, _ in group.members()) == ["0", "1", "2", "labels"]
    for path in ("0", "1", "2", "labels/cells/0"):
        np.testing.assert_array_equal(group[path][...], zarr.open_array(IMAGE / path, mode="r")[...])


@pytest.mark.parametrize("node", ["", "/labels/cells"])
def test_the_codec_pipeline_reads_by_url(url, node, monkeypatch):
    async def refuse(*_, **__):
        raise AssertionError("the request fell back")

    monkeypatch.setattr(BoundedPipeline, "read", refuse)
    with zarr.config.set({"codec_pipeline.path": zarr.config.get("codec_pipeline.path")}):
        ozx.use_pipeline()
        array = zarr.open_group(f"{url}{node}", mode="r")["0"]
        whole = zarr.open_array(f"{url}{node}/0", mode="r")[...]
        again = pickle.loads(pickle.dumps(array))
    expected = zarr.open_array(f"{IMAGE}{node}/0", mode="r")[...]
    for found in (array[...], whole, again[...]):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(array[..., 3:99, 5], expected[..., 3:99, 5])


def test_zarr_reads_inner_chunks_of_shards_by_range(tmp_path, monkeypatch):
    pack_tree(FIXTURES / "sharded.ome.zarr", tmp_path / "s.ozx")
    array = zarr.open_array(f"ozx://{tmp_path.as_posix()}/s.ozx/0", mode="r")
    asked = []
    read = OzxFileSystem.cat_file
    monkeypatch.setattr(
        OzxFileSystem, "cat_file", lambda self, *args, **more: asked.append(data := read(self, *args, **more)) or data
    )
    found = array[0, 0, 0, :32, :32]
    np.testing.assert_array_equal(
        found, zarr.open_array(FIXTURES / "sharded.ome.zarr" / "0", mode="r")[0, 0, 0, :32, :32]
    )
    shard = (FIXTURES / "sharded.ome.zarr" / "0/c/0/0/0/0/0").stat().st_size
    assert sum(map(len, asked)) < shard / 2


def test_a_missing_file_is_a_missing_group(tmp_path):
    with pytest.raises(FileNotFoundError):
        zarr.open_group(f"ozx://{tmp_path.as_posix()}/none.ozx", mode="r")


def test_writing_is_refused_with_the_way_out(url):
    group = zarr.open_group(url)
    with pytest.raises(UnsupportedError, match="is read-only") as caught:
        group.attrs["a"] = 1
    assert "OzxStore" in caught.value.hint
    for write in (
        lambda: zarr.open_group(url, mode="w"),
        lambda: fsspec.open(f"{url}/new", "wb").open(),
        lambda: fsspec.filesystem("ozx").pipe_file(f"{url}/new", b""),
    ):
        with pytest.raises(UnsupportedError, match="is read-only"):
            write()


def test_every_entry_is_found_with_its_bytes(files, packed, url):
    values = tree(IMAGE)
    root = packed.as_posix()
    assert files.find(url) == sorted(f"{root}/{key}" for key in values)
    assert files.cat(files.find(url)) == {f"{root}/{key}": value for key, value in values.items()}
    assert files.du(url) == sum(map(len, values.values()))


def test_info_says_what_is_there(files, packed, url):
    root = packed.as_posix()
    entry = files.info(f"{url}/zarr.json")
    assert {key: entry[key] for key in ("name", "size", "type")} == {
        "name": f"{root}/zarr.json",
        "size": len(tree(IMAGE)["zarr.json"]),
        "type": "file",
    }
    for folder in (url, f"{url}/", f"{url}/labels", f"{url}/labels/cells/0/c/"):
        assert files.info(folder)["type"] == "directory"
        assert files.isdir(folder)
        assert not files.isfile(folder)
    assert files.isfile(f"{url}/0/zarr.json")
    assert files.exists(url)
    for missing in (f"{url}/no", f"{url}/0/zarr.json/x", f"{url}/0/z", url[:-1], "ozx:///", "ozx:///no/cells.ozx"):
        assert not files.exists(missing)
        with pytest.raises(FileNotFoundError):
            files.info(missing)


def test_ls_lists_one_folder(files, packed, url):
    root = packed.as_posix()
    assert files.ls(url, detail=False) == [f"{root}/{name}" for name in ("0", "1", "2", "labels", "zarr.json")]
    assert files.ls(f"{url}/labels/cells/0/") == [
        {"name": f"{root}/labels/cells/0/c", "size": 0, "type": "directory"},
        files.info(f"{url}/labels/cells/0/zarr.json"),
    ]
    assert files.ls(f"{url}/zarr.json", detail=False) == [f"{root}/zarr.json"]
    with pytest.raises(FileNotFoundError):
        files.ls(f"{url}/no")
    for read in (files.cat_file, files.open):
        with pytest.raises(IsADirectoryError):
            read(f"{url}/0")


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (0, 4), (4, None), (None, 4), (-4, None), (-8, -4), (None, -4), (9, 3), (0, 10**9)]
)
def test_a_range_is_a_slice(files, url, start, end):
    assert files.cat_file(f"{url}/zarr.json", start, end) == tree(IMAGE)["zarr.json"][start:end]
    assert files.cat_ranges([f"{url}/zarr.json"], [start], [end]) == [tree(IMAGE)["zarr.json"][start:end]]


def test_an_open_file_seeks_and_reads(url, tmp_path):
    value = tree(IMAGE)["zarr.json"]
    with fsspec.open(f"{url}/zarr.json") as file:
        assert file.size == len(value)
        assert file.read(5) == value[:5]
        assert file.seek(-7, os.SEEK_END) == len(value) - 7
        assert file.read() == value[-7:]
        file.seek(100)
        again = pickle.loads(pickle.dumps(file))
        assert again.read(20) == file.read(20) == value[100:120]
    with fsspec.open(f"{url}/zarr.json", "rt", encoding="utf-8") as file:
        assert json.load(file)["node_type"] == "group"
    fsspec.filesystem("ozx").get(f"{url}/labels", str(tmp_path / "out"), recursive=True)
    assert tree(tmp_path / "out") == tree(IMAGE / "labels")


def test_other_filesystems_stand_on_it(url, tmp_path):
    mapper = fsspec.get_mapper(url)
    assert dict(mapper) == tree(IMAGE)
    folder = fsspec.filesystem(
        "dir", path=f"{fsspec.filesystem('ozx')._strip_protocol(url)}/labels", target_protocol="ozx"
    )
    assert folder.cat("zarr.json") == tree(IMAGE)["labels/zarr.json"]
    cached = fsspec.open(f"filecache::{url}/zarr.json", filecache={"cache_storage": str(tmp_path / "cache")})
    with cached as file:
        assert file.read() == tree(IMAGE)["zarr.json"]


def test_paths_are_absolute_and_relative_ones_are_below_the_working_directory(packed, monkeypatch):
    monkeypatch.chdir(packed.parent)
    strip = OzxFileSystem._strip_protocol
    for path in (f"ozx://{packed.as_posix()}/", "cells.ozx", "./cells.ozx/", Path("cells.ozx"), packed):
        assert strip(path) == packed.as_posix()
    assert OzxFileSystem().cat_file("cells.ozx/zarr.json") == tree(IMAGE)["zarr.json"]
    with pytest.raises(UsageError, match="absolute"):
        strip("ozx://cells.ozx")
    assert strip(["ozx:///a.ozx/", "ozx:///b.ozx"]) == [strip("ozx:///a.ozx"), strip("/b.ozx")]
    assert OzxFileSystem().unstrip_protocol("/a.ozx/0") == "ozx:///a.ozx/0"


def test_urls_are_percent_encoded_as_those_of_ozx_open(packed, files):
    odd = packed.with_name("50% of my cells #1.ozx")
    packed.rename(odd)
    url = Place(str(odd), "labels/cells").uri
    assert files.unstrip_protocol(f"{odd}/labels/cells") == url
    assert zarr.open_group(url, mode="r")["0"].shape == (256, 256)
    assert files.unstrip_protocol(files.ls(url, detail=False)[0]) == f"{url}/0"


def test_windows_paths(monkeypatch):
    monkeypatch.setattr(os, "sep", "\\")
    strip = OzxFileSystem._strip_protocol
    for path in ("ozx:///C:/data/a.ozx/0", "C:\\data\\a.ozx\\0"):
        assert strip(path) == "C:/data/a.ozx/0"
    assert OzxFileSystem().unstrip_protocol("C:/data/a.ozx/0") == "ozx:///C:/data/a.ozx/0"


def test_a_folder_named_like_an_archive_is_walked_through(files, packed, tmp_path):
    folder = tmp_path / "run.ozx"
    folder.mkdir()
    packed.rename(folder / "CELLS.OZX")
    assert files.exists(f"ozx://{folder.as_posix()}/CELLS.OZX/zarr.json")
    assert not files.exists(f"ozx://{folder.as_posix()}/zarr.json")


def test_a_file_written_anew_is_seen_anew(packed, url):
    old = zarr.open_group(url, mode="r")
    assert old["0"].shape == (2, 256, 256)
    replacement = pack_tree(FIXTURES / "sharded.ome.zarr", packed.with_suffix(".new"))
    replacement.replace(packed)
    assert zarr.open_group(url, mode="r")["0"].shape == (3, 2, 5, 72, 88)
    # What was opened before would give bytes of another file.
    with pytest.raises(FormatError) as caught:
        old["0"][...]
    assert caught.value.rule == "zip/changed"


@pytest.mark.parametrize("below", [None, "", "/0/c"])
def test_a_file_written_anew_is_seen_after_invalidate_cache(packed, url, files, below):
    assert len(files.find(url)) == len(tree(IMAGE))
    pack_tree(FIXTURES / "sharded.ome.zarr", packed.with_suffix(".new")).replace(packed)
    files.invalidate_cache("ozx:///another.ozx/0")
    with pytest.raises(FormatError):
        files.cat_file(f"{url}/zarr.json")
    files.invalidate_cache(None if below is None else url + below)
    assert len(files.find(url)) == len(tree(FIXTURES / "sharded.ome.zarr"))


def test_a_file_overwritten_in_place_is_refused_also_by_a_copy_in_another_place(packed, url, files):
    files.cat_file(f"{url}/zarr.json")
    assert pickle.loads(pickle.dumps(files)).cat_file(f"{url}/zarr.json") == tree(IMAGE)["zarr.json"]
    copy = pickle.loads(pickle.dumps(files))
    data = bytearray(packed.read_bytes())
    data[-1] ^= 1
    packed.write_bytes(data)
    os.utime(packed, ns=(1, 1))
    for each in (files, copy):
        with pytest.raises(FormatError) as caught:
            each.cat_file(f"{url}/zarr.json")
        assert caught.value.rule == "zip/changed"


@pytest.mark.posix("fork is a POSIX call")
def test_it_survives_fork(files, url):
    files.cat_file(f"{url}/zarr.json")

    def read():
        assert files.cat(f"{url}/zarr.json") == tree(IMAGE)["zarr.json"]

    assert run_in_child(read) == 0


def test_a_file_that_is_no_archive_is_an_error_of_ours(files, tmp_path):
    (tmp_path / "x.ozx").write_bytes(b"no archive at all")
    with pytest.raises(FormatError) as caught:
        files.info(f"ozx://{tmp_path.as_posix()}/x.ozx")
    assert caught.value.rule == "zip/not-a-zip"
    with pytest.raises(FormatError):
        zarr.open_group(f"ozx://{tmp_path.as_posix()}/x.ozx", mode="r")
