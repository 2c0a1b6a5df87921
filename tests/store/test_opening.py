"""`ozx.open`: which files, nodes and directories become groups."""

import json

import numpy as np
import pytest
import zarr
from cases.archive_builder import write_tree
from hierarchies import FIXTURES, tree
from open_files import closed_files_only  # noqa: F401
from packed import pack_tree, write_archive, zip_values

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy


@pytest.fixture
def packed(image, tmp_path):
    return pack_tree(image, tmp_path / "my cells.ozx")


@pytest.mark.parametrize("form", ["ozx{uri}/labels/cells", "{path}|zip:labels/cells/", "file{uri}|zip:labels/cells"])
def test_a_node_by_its_uri(packed, image, form):
    group = ozx.open(form.format(path=packed, uri=packed.as_uri().removeprefix("file")))
    assert group.path == "labels/cells"
    np.testing.assert_array_equal(group["0"][:], zarr.open_group(image, mode="r")["labels/cells/0"][:])


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


def test_an_extension_that_must_be_understood(tmp_path, image):
    values = tree(image)
    values["labels/zarr.json"] = json.dumps(json.loads(values["labels/zarr.json"]) | {"extensions": ["a.b"]}).encode()
    path = write_archive(tmp_path / "a.ozx", values)
    group = ozx.open(path)
    for call in (lambda: group["labels"], lambda: ozx.open(f"{path}|zip:labels/")):
        with pytest.raises(UnsupportedError, match=r"labels: .*'a\.b'") as caught:
            call()
        assert caught.value.path == str(path)


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
    write_tree(tmp_path, files)
    with pytest.raises(error, match=message), opened_hierarchy(Place.parse(tmp_path)):
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


def test_an_array_with_broken_metadata_is_not_called_missing(tmp_path):
    document = {"zarr_format": 3, "node_type": "array"}  # without data_type
    path = write_archive(
        tmp_path / "a.ozx",
        {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "bad/zarr.json": json.dumps(document).encode()},
    )
    with pytest.raises(FormatError, match="bad: zarr cannot open this node"):
        ozx.open_array(path, "bad")
    with pytest.raises(UsageError, match="it has no node 'nope'"):
        ozx.open_array(path, "nope")
