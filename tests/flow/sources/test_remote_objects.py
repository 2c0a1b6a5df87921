"""Keys found by metadata, on a server that cannot list them."""

import json

import pytest
from hierarchies import FIXTURES, make_image, tree
from servers import serving_folder

from ozx.errors import FormatError
from ozx.flow.sources import remote_objects
from ozx.flow.sources.remote_objects import find_keys
from ozx.places.remote.folder import RemoteFolder

pytest.importorskip("obstore", reason="the extra remote is not installed")


def keys_of(found):
    return sorted(found.marks)


def test_numbered_series_are_counted_to_their_end(tmp_path, monkeypatch):
    monkeypatch.setattr(remote_objects, "_SERIES_AT_A_TIME", 2)
    group = {"zarr_format": 3, "node_type": "group"}
    attributes = {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}
    (tmp_path / "zarr.json").write_text(json.dumps({**group, "attributes": attributes}))
    for number in range(5):
        make_image(tmp_path / str(number))
    with serving_folder(tmp_path) as server:
        assert keys_of(find_keys(RemoteFolder(server.url))) == sorted(tree(tmp_path))


def test_an_unknown_chunk_grid_is_said(tmp_path):
    root = make_image(tmp_path / "a.ome.zarr")
    document = json.loads((root / "0" / "zarr.json").read_text())
    document["chunk_grid"] = {"name": "example.grid", "configuration": {}}
    (root / "0" / "zarr.json").write_text(json.dumps(document))
    with serving_folder(root) as server:
        found = find_keys(RemoteFolder(server.url))
    assert keys_of(found) == ["0/zarr.json", "zarr.json"]
    assert "/0 has a chunk grid that ozx does not support" in found.notes[0]


def test_more_chunks_than_can_be_asked_for(monkeypatch):
    monkeypatch.setattr(remote_objects, "_MOST_CHUNKS", 10)
    with serving_folder(FIXTURES / "image.ome.zarr") as server, pytest.raises(FormatError, match="at most 10 chunks"):
        find_keys(RemoteFolder(server.url))


def test_no_hierarchy(tmp_path):
    with (
        serving_folder(tmp_path) as server,
        pytest.raises(FormatError, match=r"neither zarr.json nor \.zgroup") as caught,
    ):
        find_keys(RemoteFolder(server.url))
    assert caught.value.rule == "rfc9/root"
