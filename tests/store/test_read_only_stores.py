"""A source and a directory as zarr stores."""

import pytest
import zarr
from hierarchies import FIXTURES
from zarr.core.buffer import default_buffer_prototype

from ozx.errors import FormatError, UsageError
from ozx.flow.repair.hierarchy import open_repaired
from ozx.images.image import GroupNodes
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy
from ozx.store.read_only_stores import SourceStore

IMAGE, LEGACY = FIXTURES / "image.ome.zarr", FIXTURES / "legacy.ome.zarr"
PROTOTYPE = default_buffer_prototype()


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
