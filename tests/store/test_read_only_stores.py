"""A source and a directory as zarr stores."""

import warnings
from itertools import product

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

import ozx
from ozx.errors import FormatError, UsageError
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.sources.location import Place
from ozx.images.image import GroupNodes
from ozx.store.opening import opened_hierarchy
from ozx.store.read_only_stores import SourceStore, open_source_group

IMAGE, LEGACY = FIXTURES / "image.ome.zarr", FIXTURES / "legacy.ome.zarr"
PROTOTYPE = default_buffer_prototype()


async def every(keys):
    return sorted([key async for key in keys])


@pytest.mark.parametrize("root", [IMAGE, LEGACY], ids=["v3", "v2"])
def test_it_shows_what_a_local_store_shows(root):
    with open_repaired(Place.parse(root)) as source, warnings.catch_warnings(action="ignore"):
        found = open_source_group(source, source.zarr_format)
        expected = zarr.open_group(root, mode="r")
        arrays = dict(expected.members(max_depth=None))
        assert sorted(dict(found.members(max_depth=None))) == sorted(arrays)
        for path, node in arrays.items():
            if isinstance(node, zarr.Array):
                np.testing.assert_array_equal(found[path][...], node[...])


async def test_keys_and_ranges(tmp_path):
    packed = ozx.pack(IMAGE, tmp_path / "a.ozx").path
    local = LocalStore(IMAGE, read_only=True)
    requests = [None, RangeByteRequest(3, 9), OffsetByteRequest(20), SuffixByteRequest(7)]
    with open_repaired(Place.parse(packed)) as source:
        store = SourceStore(source)
        assert await every(store.list()) == await every(local.list())
        assert await every(store.list_prefix("labels/")) == await every(local.list_prefix("labels/"))
        for folder in ("", "labels", "0/c"):
            assert await every(store.list_dir(folder)) == await every(local.list_dir(folder))
        for key, request in product(["zarr.json", "labels/zarr.json", "nothing"], requests):
            found, expected = [await one.get(key, PROTOTYPE, request) for one in (store, local)]
            assert (found is None) == (expected is None)
            if found is not None:
                assert found.to_bytes() == expected.to_bytes()
        assert (await store.get_partial_values(PROTOTYPE, [("nothing", None)])) == [None]
        assert await store.exists("zarr.json")
        assert not await store.exists("nothing")


async def test_it_only_reads():
    with open_repaired(Place.parse(IMAGE)) as source:
        store = SourceStore(source)
        assert store == SourceStore(source)
        for write in (store.set("a", PROTOTYPE.buffer.from_bytes(b"")), store.delete("zarr.json")):
            with pytest.raises(UsageError, match="read-only"):
                await write


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
    with opened_hierarchy(Place.parse(root)) as group:
        assert "g" in group
        with pytest.raises(FormatError, match="expected metadata of at most 33,554,432 bytes"):
            GroupNodes(group).find("a")
        with pytest.raises(FormatError, match="expected metadata of at most"):
            group.store.get_sync(f"a/{name.name}")
