"""`ozx.open`: which files, nodes and directories become groups."""

import json
import os
import pickle
import shutil
import zipfile

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES, make_image, tree
from open_files import closed_files_only  # noqa: F401
from packed import pack_tree, write_archive, zip_values
from range_server import serving

import ozx
from ozx.errors import FormatError, ResourceError, UnsupportedError, UsageError
from ozx.quoting import quote
from ozx.store.opening import open_store, opened_hierarchy


@pytest.fixture
def packed(image, tmp_path):
    return pack_tree(image, tmp_path / "my cells.ozx")


def test_a_directory_is_packed_first(image):
    with pytest.raises(FormatError, match="found a directory") as caught:
        ozx.open(image)
    assert "ozx pack" in caught.value.hint


def test_the_stream_of_a_missing_file_is_recovered(tmp_path):
    (tmp_path / "live.ozx.partial").write_bytes(b"frames")
    with pytest.raises(ResourceError, match="no such file") as caught:
        ozx.open(tmp_path / "live.ozx")
    assert "ozx recover" in caught.value.hint


def test_a_node_written_like_a_folder_is_answered_with_its_name(packed):
    with pytest.raises(ResourceError) as caught:
        ozx.inspect(packed / "labels/cells")
    assert quote(f"{packed}|zip:labels/cells/") in caught.value.hint


def test_the_root(packed, image):
    group = ozx.open(packed)
    expected = zarr.open_group(image, mode="r")
    assert group.attrs.asdict() == expected.attrs.asdict()
    np.testing.assert_array_equal(group["0"][:], expected["0"][:])
    assert group.read_only


@pytest.mark.parametrize("form", ["ozx{uri}/labels/cells", "{path}|zip:labels/cells/", "file{uri}|zip:labels/cells"])
def test_a_node_by_its_uri(packed, image, form):
    group = ozx.open(form.format(path=packed, uri=packed.as_uri().removeprefix("file")))
    assert group.path == "labels/cells"
    np.testing.assert_array_equal(group["0"][:], zarr.open_group(image, mode="r")["labels/cells/0"][:])


def test_nothing_is_opened_before_it_is_asked_for(tmp_path):
    store, node = open_store(str(tmp_path / "none.ozx|zip:0/"))
    assert node == "0"
    with pytest.raises(OSError, match="no such file"):
        store.get_sync("zarr.json")


@pytest.mark.parametrize("mode", ["w", "x", "a"])
def test_a_store_that_is_closed_without_a_change_writes_nothing(tmp_path, packed, mode):
    with ozx.OzxStore(tmp_path / "new.ozx", mode):
        pass
    assert os.listdir(tmp_path) == [packed.name] if packed.parent == tmp_path else os.listdir(tmp_path) == []
    if mode != "x":
        before = packed.read_bytes()
        ozx.OzxStore(packed, mode).close()
        assert packed.read_bytes() == before


@pytest.mark.parametrize("url", ["ozx:///data/a%00.ozx", "file:///data/a%00.ozx", "s3://bucket/a%00.ozx"])
def test_a_url_with_nul_is_refused_for_reading_and_writing(url, image):
    for call in (lambda: ozx.open(url), lambda: ozx.pack(image, url)):
        with pytest.raises(UsageError, match="NUL character"):
            call()


@pytest.mark.posix("a reader lets others rename there")
@pytest.mark.usefixtures("closed_files_only")
def test_a_group_closes_its_file_at_the_end_of_a_block(packed, tmp_path):
    path = shutil.copyfile(packed, tmp_path / "a.ozx")
    with ozx.open(path) as group:
        assert isinstance(group, zarr.Group)
        pixels = group["0"][...]
        with pytest.raises(PermissionError):
            os.rename(path, tmp_path / "b.ozx")
    assert (group["0"][...] == pixels).all()  # a later access opens the file again
    group.close()
    os.rename(path, tmp_path / "b.ozx")


def test_an_array_is_no_group(packed):
    with pytest.raises(UsageError, match="labels/cells/0 is an array") as caught:
        ozx.open(f"{packed}|zip:labels/cells/0/")
    assert "group['0']" in caught.value.hint


def test_an_array_without_its_path(packed, tmp_path):
    with pytest.raises(UsageError, match="expected the path of an array") as caught:
        ozx.open_array(packed)
    assert 'ozx.open_array(path, "0")' in caught.value.hint
    with pytest.raises(ResourceError, match="no such file"):
        ozx.open_array(tmp_path / "missing.ozx")
    (tmp_path / "text.ozx").write_text("no archive")
    with pytest.raises(FormatError, match="expected a ZIP file"):
        ozx.open_array(tmp_path / "text.ozx")


def test_a_bare_array_is_no_group(tmp_path):
    image = FIXTURES / "image.ome.zarr"
    path = write_archive(tmp_path / "a.ozx", tree(image / "0"))
    with pytest.raises(UsageError, match="the root is an array") as caught:
        ozx.open(path)
    assert "ozx.open_array(path)" in caught.value.hint
    np.testing.assert_array_equal(ozx.open_array(path)[:], zarr.open_array(image / "0", mode="r")[:])


@pytest.mark.parametrize("is_enabled", [False, True])
def test_what_needs_one_chunk_shape_refuses_another_grid_by_name(tmp_path, is_enabled):
    """zarr-python 3.2 and newer read rectilinear grids if a setting allows it; nothing ends as a fault of ozx."""
    root = make_image(tmp_path / "a.ome.zarr")
    path = root / "0" / "zarr.json"
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[32, 2]], [[32, 2]]]}}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chunk_grid": grid}))
    ozx.pack(root, tmp_path / "a.ozx", sync=False)
    with zarr.config.set({"array.rectilinear_chunks": is_enabled}):
        for call in (
            lambda: ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif"),
            lambda: ozx.thumbnail(tmp_path / "a.ozx", tmp_path / "a.png"),
            lambda: ozx.repack(tmp_path / "a.ozx", tmp_path / "b.ozx", shards="auto"),
            lambda: ozx.repack(tmp_path / "a.ozx", tmp_path / "b.ozx", codec="zstd"),
            lambda: ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region="y=0:4"),
        ):
            with pytest.raises(UnsupportedError, match="chunk grid 'rectilinear'"):
                call()
    assert sorted(os.listdir(tmp_path)) == ["a.ome.zarr", "a.ozx"]
    ozx.repack(tmp_path / "a.ozx", tmp_path / "b.ozx", sync=False)
    assert ozx.inspect(tmp_path / "b.ozx").kind == "image"


@pytest.mark.parametrize(
    ("node", "hint"),
    [
        ("labels/cell", "Did you mean labels/cells"),
        ("labels/cells/zarr.json", "labels/cells"),
        ("9", "Existing nodes: 0 and 1"),
    ],
)
def test_a_missing_node(packed, node, hint):
    with pytest.raises(UsageError, match=f"has no node '{node}'") as caught:
        ozx.open(f"{packed}|zip:{node}")
    assert hint in caught.value.hint


def test_zarr_v2_in_a_zip_file(tmp_path):
    legacy = FIXTURES / "legacy.ome.zarr"
    path = zip_values(tmp_path / "a.zip", tree(legacy))
    for name in (path, f"{path}|zip:0/"):
        with pytest.raises(UnsupportedError, match=r"Zarr v2 \(OME-Zarr 0\.4\)") as caught:
            ozx.open(name)
        assert "repack" in caught.value.hint
    # What the hint says works.
    group = zarr.open_group(ozx.OzxStore(path), mode="r", zarr_format=2)
    np.testing.assert_array_equal(group["0"][:], zarr.open_group(legacy, mode="r")["0"][:])


def test_no_hierarchy_at_the_root(tmp_path, image):
    path = zip_values(tmp_path / "a.zip", {f"cells/{key}": value for key, value in tree(image).items()})
    with pytest.raises(FormatError, match=r"no zarr\.json at the root") as caught:
        ozx.open(path)
    assert caught.value.rule == "rfc9/root"
    assert f"{path}|zip:cells/" in caught.value.hint
    assert ozx.open(f"{path}|zip:cells/").attrs["ome"]["version"] == "0.5"
    with pytest.raises(FormatError, match="1 entries") as caught:
        ozx.open(zip_values(tmp_path / "b.zip", {"readme.txt": b""}))
    assert caught.value.hint is None


def test_no_archive(tmp_path):
    (tmp_path / "a.ozx").write_bytes(b"no archive at all")
    with pytest.raises(FormatError):
        ozx.open(tmp_path / "a.ozx")
    with pytest.raises(OSError, match="no such file"):
        ozx.open(tmp_path / "b.ozx")


def test_legal_metadata_that_zarr_refuses(tmp_path, image):
    values = tree(image)
    root, level = json.loads(values["zarr.json"]), json.loads(values["0/zarr.json"])
    root["extensions"] = [{"name": "example.statistics", "must_understand": False}]
    level["chunk_key_encoding"] = "default"
    values |= {"zarr.json": json.dumps(root).encode(), "0/zarr.json": json.dumps(level).encode()}
    path = write_archive(tmp_path / "a.ozx", values)
    with pytest.raises((TypeError, ValueError), match="extensions"):
        zarr.open_group(ozx.OzxStore(path), mode="r")
    group = ozx.open(path)
    np.testing.assert_array_equal(group["0"][:], zarr.open_group(image, mode="r")["0"][:])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(group))["0"][:], group["0"][:])
    stored = ozx.OzxStore(path).get_sync("zarr.json").to_bytes()
    assert stored == values["zarr.json"]


def test_an_extension_that_must_be_understood(tmp_path, image):
    values = tree(image)
    values["labels/zarr.json"] = json.dumps(json.loads(values["labels/zarr.json"]) | {"extensions": ["a.b"]}).encode()
    path = write_archive(tmp_path / "a.ozx", values)
    group = ozx.open(path)
    for call in (lambda: group["labels"], lambda: ozx.open(f"{path}|zip:labels/")):
        with pytest.raises(UnsupportedError, match=r"labels: .*'a\.b'") as caught:
            call()
        assert caught.value.path == str(path)


def test_nothing_is_printed(packed, capfd):
    ozx.open(packed)
    with pytest.raises(UsageError):
        ozx.open(f"{packed}|zip:9/")
    assert capfd.readouterr() == ("", "")


def test_a_stored_zip_of_zarrs_own(tmp_path, image):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in tree(image).items():
            archive.writestr(key, value)
    assert ozx.open(tmp_path / "a.zip")["0"].shape == (2, 256, 256)


def test_a_node_behind_a_url(packed, image):
    pytest.importorskip("obstore", reason="the extra remote is not installed")
    with serving(packed.read_bytes()) as server:
        group = ozx.open(f"{server.url}|zip:labels/cells/")
        np.testing.assert_array_equal(group["0"][:], zarr.open_group(image, mode="r")["labels/cells/0"][:])
        assert len(server.take_requests()) == 1  # its last MiB is the whole of it
        with pytest.raises(UsageError, match="no node '9'") as caught:
            ozx.open(f"{server.url}?signature=secret|zip:9/")
    assert "secret" not in str(caught.value)


# Files and directories alike


@pytest.mark.parametrize("name", ["image", "legacy"])
def test_a_directory(name):
    with opened_hierarchy(FIXTURES / f"{name}.ome.zarr") as group:
        assert group.metadata.zarr_format == (2 if name == "legacy" else 3)
        assert group["0"][:].any()
        assert group.read_only


def open_files():
    """Return the paths of what this process has open."""
    links = [entry.path for entry in os.scandir("/proc/self/fd")]
    return [os.readlink(link) for link in links if os.path.lexists(link)]


@pytest.mark.posix("Linux says which files are open", on="linux")
def test_a_file_is_closed_at_the_end(packed):
    with opened_hierarchy(packed) as group:
        assert group["0"].shape == (2, 256, 256)
        assert str(packed) in open_files()
    assert str(packed) not in open_files()


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({}, FormatError, "the directory has neither zarr.json nor .zgroup"),
        ({"zarr.json": b"{"}, FormatError, "zarr.json"),
        ({"zarr.json": b"[]"}, FormatError, "zarr.json"),
        ({"zarr.json": b'{"zarr_format": 3, "node_type": "array"}'}, UsageError, "the directory contains an array"),
        ({"zarr.json": b'{"zarr_format": 3, "node_type": "group", "x": 1}'}, UnsupportedError, "x"),
        ({".zgroup": b"{"}, FormatError, "the root: zarr cannot open this node"),
        ({".zarray": b"{}"}, FormatError, "neither zarr.json nor .zgroup"),
    ],
)
def test_directories_that_are_no_hierarchy(tmp_path, files, error, message):
    for name, value in files.items():
        (tmp_path / name).write_bytes(value)
    with pytest.raises(error, match=message), opened_hierarchy(tmp_path):
        pass


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError), opened_hierarchy(tmp_path / "absent.ozx"):
        pass


def test_an_array_by_its_path(image, tmp_path):
    ozx.pack(image, tmp_path / "a.ozx")
    expected = ozx.open(tmp_path / "a.ozx")["0"]
    assert ozx.open_array(tmp_path / "a.ozx", "0") == expected
    assert ozx.open_array(f"{tmp_path / 'a.ozx'}|zip:0/") == expected


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("", "expected the path of an array"),
        ("no", "no node 'no'"),
        ("no/0", "no node"),
        ("labels", "is a group"),
        (0, "expected the path of an array in the file as a text; got 0"),
        (None, "expected the path of an array in the file as a text; got None"),
    ],
)
def test_no_array_at_a_path(image, tmp_path, node, message):
    ozx.pack(image, tmp_path / "a.ozx")
    with pytest.raises(UsageError, match=message):
        ozx.open_array(tmp_path / "a.ozx", node)
