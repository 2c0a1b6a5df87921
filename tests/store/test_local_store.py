"""Directories read by zarr: metadata beyond its limit, and keys that are not there."""

import pytest
import zarr
from packed import pack_tree

from ozx.errors import FormatError
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import list_directory
from ozx.hierarchy.json import reading as document_limits
from ozx.store.image_view import GroupNodes, lacks_node
from ozx.store.local_store import DirectoryStore
from ozx.store.opening import open_store, opened_hierarchy
from ozx.store.source_store import SourceStore


@pytest.fixture
def tree(tmp_path):
    for zarr_format in (2, 3):
        root = zarr.create_group(str(tmp_path / f"v{zarr_format}"), zarr_format=zarr_format)
        root.create_array("a", shape=(1,), dtype="u1")
        root.create_group("g")
    return tmp_path


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_metadata_of_absurd_length_is_not_read(tree, zarr_format, monkeypatch):
    root = tree / f"v{zarr_format}"
    name = root / "a" / ("zarr.json" if zarr_format == 3 else ".zarray")
    with open(name, "r+b") as file:
        file.truncate(1 << 40)
    with opened_hierarchy(root) as group:
        assert "g" in group
        with pytest.raises(FormatError, match="expected metadata of at most 33,554,432 bytes"):
            GroupNodes(group).find("a")
        with pytest.raises(FormatError, match="expected metadata of at most"):
            group.store.get_sync(f"a/{name.name}")


def test_nor_is_that_of_the_root(tree, monkeypatch):
    monkeypatch.setattr(document_limits, "LONGEST_DOCUMENT", 10)
    with pytest.raises(FormatError, match="at most 10 bytes"), opened_hierarchy(tree / "v3"):
        pass


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["directory", "source", "zarr's"])
def test_nodes_that_are_not_there(tree, kind, zarr_format):
    root = tree / f"v{zarr_format}"
    store = {
        "directory": lambda: DirectoryStore(root),
        "source": lambda: SourceStore(DirectorySource(list_directory(str(root)))),
        "zarr's": lambda: zarr.storage.LocalStore(root),
    }[kind]()
    assert [lacks_node(store, path, zarr_format) for path in ("a", "g")] == [False, False]
    assert lacks_node(store, "b", zarr_format) == (kind != "zarr's")


def test_nodes_that_are_not_in_an_archive(tree, tmp_path):
    store, _ = open_store(pack_tree(tree / "v3", tmp_path / "a.ozx"))
    assert [lacks_node(store, path, 3) for path in ("a", "g", "b")] == [False, False, True]
