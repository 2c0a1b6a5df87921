"""A remote directory as a store, while another program changes its objects: no read mixes two versions of an object."""

import asyncio
import pickle

import numpy as np
import pytest
import zarr
from servers import serving_folder
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

import ozx
from ozx.errors import FormatError
from ozx.places.remote.folder import RemoteFolder
from ozx.store import current_objects
from ozx.store.current_objects import CurrentObjects
from ozx.store.read_only_stores import SourceStore

pytest.importorskip("obstore", reason="the extra remote is not installed")

KEY = "0/c/0/0"
PARTS = (RangeByteRequest(0, 4), SuffixByteRequest(4), OffsetByteRequest(96))


@pytest.fixture
def server(tmp_path):
    put(tmp_path / "a.zarr", b"A" * 100)
    with serving_folder(tmp_path) as server:
        yield server


@pytest.fixture
def store(server):
    folder = RemoteFolder(f"{server.url}/a.zarr", {"retry_config": {"max_retries": 0}})
    return SourceStore(CurrentObjects(folder))


def put(folder, value, key=KEY):
    path = folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value)


def read(store, byte_range=None, key=KEY):
    value = asyncio.run(store.get(key, default_buffer_prototype(), byte_range))
    return None if value is None else value.to_bytes()


@pytest.mark.parametrize("second", PARTS)
@pytest.mark.parametrize("first", PARTS)
def test_parts_of_two_versions(server, store, first, second):
    assert read(store, first) == read(store, second) == b"A" * 4
    for size in (100, 200):
        put(server.root / "a.zarr", b"B" * size)
        with pytest.raises(FormatError, match=f"a.zarr/{KEY}: the file changed while it was read") as caught:
            read(store, second)
        assert caught.value.rule == "zip/changed"
    put(server.root / "a.zarr", b"A" * 100)
    assert read(store, second) == b"A" * 4


@pytest.mark.parametrize("part", PARTS)
def test_an_object_that_vanishes(server, store, part):
    assert read(store, part) == b"A" * 4
    (server.root / "a.zarr" / KEY).unlink()
    with pytest.raises(FormatError, match="100 bytes before, 0 now"):
        read(store, part)


@pytest.mark.parametrize("part", PARTS)
def test_two_first_reads_at_the_same_time(server, store, part, monkeypatch):
    """Between the request of a read and its end, another read finds the other version."""
    fetch = RemoteFolder.fetch

    def fetch_late(self, *arguments):
        result = fetch(self, *arguments)
        monkeypatch.setattr(RemoteFolder, "fetch", fetch)
        store._source._known(KEY, result[0]._replace(identity="other"))
        return result

    if isinstance(part, RangeByteRequest):
        monkeypatch.setattr(RemoteFolder, "fetch", fetch_late)
    else:
        find = RemoteFolder.find

        def find_late(self, key):
            found = find(self, key)
            store._source._known(KEY, found._replace(identity="other"))
            return found

        monkeypatch.setattr(RemoteFolder, "find", find_late)
    with pytest.raises(FormatError, match="changed"):
        read(store, part)


def test_no_request_is_added(server, store):
    for part, expected in (
        (RangeByteRequest(0, 4), ["GET"]),
        (RangeByteRequest(4, 8), ["GET"]),
        (SuffixByteRequest(4), ["GET"]),  # the length is known from the first read
        (OffsetByteRequest(96), ["GET"]),
        (None, ["GET"]),
    ):
        read(store, part)
        assert [method for method, _ in server.take_requests()] == expected
    read(pickle.loads(pickle.dumps(store)), SuffixByteRequest(4))
    assert [method for method, _ in server.take_requests()] == ["HEAD", "GET"]


@pytest.mark.parametrize("part", [None, *PARTS])
def test_a_key_that_appears(server, store, part):
    assert read(store, part, "0/c/0/1") is None
    put(server.root / "a.zarr", b"N" * 100, "0/c/0/1")
    assert read(store, part, "0/c/0/1") == b"N" * (100 if part is None else 4)


def test_another_copy_reads_the_new_version(server, store):
    assert read(store, RangeByteRequest(0, 4)) == b"A" * 4
    put(server.root / "a.zarr", b"B" * 200)
    assert read(pickle.loads(pickle.dumps(store)), RangeByteRequest(0, 4)) == b"B" * 4


def test_a_shard_that_is_replaced_between_its_index_and_its_chunks(tmp_path, monkeypatch):
    for name, seed in (("old", 1), ("new", 2)):
        group = zarr.open_group(tmp_path / f"{name}.ome.zarr", mode="w")
        array = group.create_array("0", shape=(64, 64), shards=(64, 64), chunks=(32, 32), dtype="uint16")
        array[:] = np.random.default_rng(seed).integers(0, 1 << (4 * seed), (64, 64), "uint16")
    shard = (tmp_path / "new.ome.zarr" / "0/c/0/0").read_bytes()
    fetch = RemoteFolder.fetch

    def replace_after_the_index(self, key, *arguments):
        result = fetch(self, key, *arguments)
        if key == "0/c/0/0":
            put(tmp_path / "old.ome.zarr", shard)
        return result

    with serving_folder(tmp_path) as server:
        opened = ozx.open(f"{server.url}/old.ome.zarr")["0"]
        assert opened[:4, :4].shape == (4, 4)
        opened = ozx.open(f"{server.url}/old.ome.zarr")["0"]
        monkeypatch.setattr(RemoteFolder, "fetch", replace_after_the_index)
        with pytest.raises(FormatError, match="0/c/0/0: the file changed while it was read"):
            opened[:4, :4]
        again = ozx.open(f"{server.url}/old.ome.zarr")["0"]
        np.testing.assert_array_equal(again[:], zarr.open_array(tmp_path / "new.ome.zarr" / "0", mode="r")[:])


def test_the_mark_that_was_not_used_for_the_longest_time_is_forgotten(server, store, monkeypatch):
    monkeypatch.setattr(current_objects, "_MOST", 2)
    keys = ["0/c/1/0", "0/c/1/1", "0/c/1/2"]
    for key in keys:
        put(server.root / "a.zarr", b"A" * 100, key)
    for key in (*keys[:2], keys[0], keys[2]):
        read(store, RangeByteRequest(0, 4), key)
    server.take_requests()
    for key, expected in ((keys[0], ["GET"]), (keys[2], ["GET"]), (keys[1], ["HEAD", "GET"])):
        read(store, SuffixByteRequest(4), key)
        assert [method for method, _ in server.take_requests()] == expected


def test_a_node_costs_one_request(tmp_path):
    group = zarr.open_group(tmp_path / "a.ome.zarr", mode="w")
    group.create_group("labels")
    group.create_array("0", shape=(4, 4), dtype="uint8")
    with serving_folder(tmp_path) as server:
        opened = ozx.open(f"{server.url}/a.ome.zarr")
        server.take_requests()
        for name, kind in (("0", zarr.Array), ("labels", zarr.Group)):
            assert isinstance(opened[name], kind)
            assert len(server.take_requests()) == 1
        with pytest.raises(KeyError, match="none"):
            opened["none"]
        assert len(server.take_requests()) == 1
