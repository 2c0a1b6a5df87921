"""Chunks moved between shards: judged by zarr-python and tensorstore, and by the hashes of the encoded chunks."""

import json

import numpy as np
import pytest
from resharding import directory_source, resharded, stored_chunks, write_array
from zarr.codecs import BytesCodec, ShardingCodec

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks import reshard
from ozx.zarr.layout import parse_layout, relayout_document

RANDOM = np.random.default_rng(9)


def pixels(*shape, dtype="<u2"):
    return RANDOM.integers(1, 60_000, shape).astype(dtype)


LITTLE = BytesCodec(endian="little")


def test_a_chunk_without_bytes_stops_everything(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    (tmp_path / "a/0/c/1/0").write_bytes(b"")
    for shards in ((8, 8), None):
        with pytest.raises(FormatError, match=r"0/c/1/0: expected an encoded chunk; the value is empty"):
            list(resharded(directory_source(tmp_path / "a"), shards)[1])


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
@pytest.mark.parametrize("shards", [(8, 8), (4, 4), None], ids=str)
def test_hostile_shards_are_refused(tmp_path, case, shards):
    change, message = HOSTILE[case]
    write_array(tmp_path / "a", pixels(8, 8), (2, 2), shards=(4, 4))
    damage(tmp_path / "a/0/c/0/1", change)
    with pytest.raises(FormatError, match=f"0/c/0/1: .*{message}"):
        list(resharded(directory_source(tmp_path / "a"), shards)[1])


def test_an_index_of_an_inner_shard_is_checked_too(tmp_path):
    inner = ShardingCodec(chunk_shape=(2, 2), codecs=[LITTLE])
    outer = ShardingCodec(chunk_shape=(4, 4), codecs=[inner], index_location="start")
    write_array(tmp_path / "a", pixels(8, 8), (8, 8), serializer=outer)
    damage(tmp_path / "a/0/c/0/0", lambda data: data.__setitem__(-10, data[-10] ^ 1))
    with pytest.raises(FormatError, match=r"0/c/0/0, inner shard \(\d, \d\): .*CRC-32C"):
        list(resharded(directory_source(tmp_path / "a"), (4, 4))[1])


def test_shards_whose_index_no_memory_should_hold_are_refused(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    path = tmp_path / "a/0/zarr.json"
    document = relayout_document(json.loads(path.read_text()), (1 << 13, 1 << 16))
    path.write_text(json.dumps(document))
    with pytest.raises(
        UnsupportedError, match="0: expected shards of at most 4,194,304 inner chunks; shards of 8192×65536 pixels"
    ):
        resharded(directory_source(tmp_path / "a"), None)


def test_layouts_of_other_chunks_and_shards_too_large_are_refused(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    source = directory_source(tmp_path / "a")
    document, layout, stored = stored_chunks(source)
    other = parse_layout(relayout_document({**document, "shape": [9, 9]}, (8, 8)), "0")
    with pytest.raises(UsageError, match="expected two layouts with equal array and chunk shapes"):
        reshard.iter_resharded(stored, layout, other, "0")
    with pytest.raises(UnsupportedError, match="inner chunks"):
        resharded(source, (1 << 20, 1 << 20))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UnsupportedError, match="at most 100 bytes"):
        patch.setattr(reshard, "LARGEST_SHARD", 100)
        list(resharded(source, (8, 8))[1])
