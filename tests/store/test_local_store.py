"""Directories read by zarr: metadata beyond its limit, and keys that are not there."""

import pytest
import zarr

from ozx.errors import FormatError
from ozx.store.image_view import GroupNodes
from ozx.store.opening import opened_hierarchy


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
