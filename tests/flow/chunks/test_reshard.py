"""Chunks that cannot be moved between shards: what is damaged is named, and shards that are too large are refused."""

import json

import numpy as np
import pytest
import zarr
from cases.archive_builder import sharding
from zarr.codecs import BytesCodec, ShardingCodec

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks import reshard

LARGE = {"y": 8, "x": 8}


@pytest.fixture
def make(tmp_path):
    """A function that makes a hierarchy with an array, and returns its folder."""

    def write(shape=(8, 8), chunks=(4, 4), **options):
        root = zarr.create_group(tmp_path / "a", attributes={"ome": {"version": "0.5"}})
        options |= {"dtype": "<u2", "compressors": None, "fill_value": 0, "dimension_names": ["y", "x"]}
        array = root.create_array("0", shape=shape, chunks=chunks, **options)
        array[:8, :8] = np.random.default_rng(9).integers(1, 60_000, (8, 8))
        return tmp_path / "a"

    return write


def check_refused(root, error, message, **plan):
    with pytest.raises(error, match=message):
        ozx.repack(root, root.with_suffix(".ozx"), sync=False, **plan)
    assert not root.with_suffix(".ozx").exists()


def test_a_chunk_without_bytes_stops_everything(make):
    root = make()
    (root / "0/c/1/0").write_bytes(b"")
    check_refused(root, FormatError, r"0/c/1/0: expected an encoded chunk; the value is empty", shards=LARGE)


def damage(path, change):
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


HOSTILE = {
    "empty": (lambda data: data.clear(), "with an index of 68 bytes"),
    "cut": (lambda data: data.__delitem__(slice(40, None)), "with an index of 68 bytes"),
    "flipped": (lambda data: data.__setitem__(-10, data[-10] ^ 1), "CRC-32C"),
    "shifted": (lambda data: data.__delitem__(slice(0, 8)), r"expected inner chunk \(1, 1\) within"),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("plan", [{"shards": LARGE}, {"shards": "none"}, {"chunk_checksums": "add"}], ids=str)
def test_hostile_shards_are_refused(make, case, plan):
    change, message = HOSTILE[case]
    root = make(chunks=(2, 2), shards=(4, 4))
    damage(root / "0/c/0/1", change)
    check_refused(root, FormatError, f"0/c/0/1: .*{message}", **plan)


def test_an_index_of_an_inner_shard_is_checked_too(make):
    inner = ShardingCodec(chunk_shape=(2, 2), codecs=[BytesCodec(endian="little")])
    outer = ShardingCodec(chunk_shape=(4, 4), codecs=[inner], index_location="start")
    root = make(chunks=(8, 8), serializer=outer)
    damage(root / "0/c/0/0", lambda data: data.__setitem__(-10, data[-10] ^ 1))
    check_refused(root, FormatError, r"0/c/0/0, inner shard \(\d, \d\): .*CRC-32C", shards={"y": 4, "x": 4})


def test_shards_whose_index_no_memory_should_hold_are_refused(make):
    root = make(shape=(1 << 21, 1 << 21))
    check_refused(root, UsageError, "shards of at most 2,147,483,648 bytes", shards={"y": 1 << 13, "x": 1 << 14})
    path = root / "0/zarr.json"
    document = json.loads(path.read_text()) | {"codecs": [sharding([4, 4])]}
    document["chunk_grid"]["configuration"]["chunk_shape"] = [1 << 13, 1 << 16]
    path.write_text(json.dumps(document))
    message = "0: expected shards of at most 4,194,304 inner chunks; shards of 8192×65536 pixels"
    check_refused(root, UnsupportedError, message, shards="none")


def test_shards_of_too_many_bytes_are_refused(make, monkeypatch):
    monkeypatch.setattr(reshard, "LARGEST_SHARD", 100)
    check_refused(make(), UnsupportedError, "at most 100 bytes", shards=LARGE)
