"""Damage inside shards: the chunks that a checksum proves come back, the others are named."""

import gzip
import itertools
import json
import os

import numpy as np
import pytest
import zarr
from packed import pack_tree
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, ZstdCodec
from zarr.storage import ZipStore

from ozx.archive.reader import ArchiveReader
from ozx.flow.repair.shards import prove_chunk
from ozx.operations.recover import recover
from ozx.zarr.layout import parse_layout

PIXELS = np.random.default_rng(1).integers(0, 9, (32, 32)).astype("uint16")
CHECKSUMS = {
    "crc32c": [BytesCodec(), BloscCodec(typesize=2), Crc32cCodec()],
    "gzip": [BytesCodec(), GzipCodec()],
    "zstd": [BytesCodec(), ZstdCodec(checksum=True)],
}
UNPROVEN = {"blosc": [BytesCodec(), BloscCodec(typesize=2)], "zstd": [BytesCodec(), ZstdCodec()], "raw": [BytesCodec()]}
KEY = "0/c/0/1"


def make(folder, codecs, *, location="end", nested=False, index=None, chunks=(4, 4)):
    """Return an archive of an array of 32 x 32 pixels in shards of 16 x 16."""
    root = zarr.create_group(folder / "a.zarr", attributes={"ome": {"version": "0.5"}})
    index = index or [BytesCodec(), Crc32cCodec()]
    if nested:
        codecs = [ShardingCodec(chunk_shape=(4, 4), codecs=codecs, index_codecs=index, index_location=location)]
        chunks = (8, 8)
    sharding = ShardingCodec(chunk_shape=chunks, codecs=codecs, index_codecs=index, index_location=location)
    pixels = root.create_array(
        "0", shape=PIXELS.shape, chunks=(16, 16), dtype="uint16", serializer=sharding, compressors=None, filters=None
    )
    pixels[:] = PIXELS
    return pack_tree(folder / "a.zarr", folder / "a.ozx")


def span(path):
    reader = ArchiveReader(os.fspath(path))
    index = reader.find(KEY)
    return reader.data_offset(index), int(reader.columns.uncompressed_sizes[index])


def inner_spans(path, count=16, *, location="end"):
    """Return offset in the file and length of each inner chunk of the shard, in C order."""
    data, (start, size) = path.read_bytes(), span(path)
    at = start if location == "start" else start + size - 16 * count - 4
    index = np.frombuffer(data[at : at + 16 * count], "<u8").reshape(-1, 2).tolist()
    return [(start + offset, length) for offset, length in index]


def flip(path, *places):
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 0x10
    path.write_bytes(bytes(data))


def read(path):
    with ZipStore(path, mode="r") as store:
        return zarr.open_group(store, mode="r")["0"][...]


def lost_pixels(result):
    gone = np.zeros(PIXELS.shape, bool)
    for chunk in result.lost_chunks:
        gone[tuple(itertools.starmap(slice, chunk.region))] = True
    return gone


@pytest.mark.parametrize("codec", CHECKSUMS)
@pytest.mark.parametrize("location", ["end", "start"])
def test_chunks_that_are_proven_come_back(tmp_path, codec, location):
    path = make(tmp_path, CHECKSUMS[codec], location=location)
    spans = inner_spans(path, location=location)
    flip(path, spans[5][0] + spans[5][1] // 2, spans[6][0] + spans[6][1] // 2)
    result = recover(path, tmp_path / "out.ozx", sync=False)
    assert not result.complete
    assert (result.lost, result.lost_chunks_count) == ((), 2)
    assert [(chunk.key, chunk.chunk, chunk.region, chunk.is_kept) for chunk in result.lost_chunks] == [
        (KEY, (1, 5), ((4, 8), (20, 24)), False),
        (KEY, (1, 6), ((4, 8), (24, 28)), False),
    ]
    found, gone = read(tmp_path / "out.ozx"), lost_pixels(result)
    np.testing.assert_array_equal(found[~gone], PIXELS[~gone])
    assert not found[gone].any()
    (loss,) = result.arrays
    assert (loss.path, loss.found, loss.missing, loss.chunks) == ("0", 62, 2, 64)
    assert loss.sentence == "2 of 64 chunks of 0 are missing, within axis 0=4:8, axis 1=20:28"
    assert loss.region == ((4, 8), (20, 28))
    before, after = path.read_bytes(), (tmp_path / "out.ozx").read_bytes()
    assert all(before[at : at + size] in after for n, (at, size) in enumerate(spans) if n not in (5, 6))


def test_shards_in_shards(tmp_path):
    path = make(tmp_path, CHECKSUMS["crc32c"], nested=True)
    outer = inner_spans(path, 4)
    flip(path, outer[0][0] + 20, outer[3][0] + outer[3][1] - 3)  # a chunk, and the index of an inner shard
    result = recover(path, tmp_path / "out.ozx", sync=False)
    found, gone = read(tmp_path / "out.ozx"), lost_pixels(result)
    assert gone.sum() == 4 * 4 + 8 * 8
    np.testing.assert_array_equal(found[~gone], PIXELS[~gone])
    assert not found[gone].any()
    assert sorted(chunk.reason for chunk in result.lost_chunks) == [
        "its checksum does not match",
        "the index of its shard is damaged",
    ]


@pytest.mark.parametrize("codec", UNPROVEN)
def test_what_nothing_proves_is_lost_or_kept(tmp_path, codec):
    path = make(tmp_path, UNPROVEN[codec])
    spans = inner_spans(path)
    flip(path, spans[5][0] + spans[5][1] - 2)
    result = recover(path, tmp_path / "out.ozx", sync=False)
    assert [entry.name for entry in result.lost] == [KEY]
    assert result.lost_chunks_count == 0
    assert "keep_unproven=True keeps them" in result.notes[0]
    document = ArchiveReader(os.fspath(path))
    before = document.read(document.find("0/zarr.json"))
    result = recover(path, tmp_path / "kept.ozx", keep_unproven=True, sync=False)
    assert not result.complete
    assert result.lost == ()
    assert {chunk.is_kept for chunk in result.lost_chunks} == {True}
    assert len(result.lost_chunks) == 16
    kept = ArchiveReader(os.fspath(tmp_path / "kept.ozx"))
    data, (start, size) = path.read_bytes(), span(path)
    assert kept.read(kept.find(KEY)) == data[start : start + size]
    assert kept.read(kept.find("0/zarr.json")) == before, "no checksum is added"


@pytest.mark.parametrize("keep_unproven", [False, True])
def test_a_damaged_index_loses_the_shard(tmp_path, keep_unproven):
    path = make(tmp_path, CHECKSUMS["crc32c"])
    start, size = span(path)
    flip(path, start + size - 100)
    result = recover(path, tmp_path / "out.ozx", keep_unproven=keep_unproven, sync=False)
    assert [entry.name for entry in result.lost] == [KEY]
    assert result.arrays[0].missing == 16  # the chunks of the shard


def test_an_index_without_a_checksum_proves_no_place(tmp_path):
    path = make(tmp_path, CHECKSUMS["crc32c"], index=[BytesCodec()])
    start, _ = span(path)
    flip(path, start + 30)
    assert [entry.name for entry in recover(path, tmp_path / "out.ozx", sync=False).lost] == [KEY]
    result = recover(path, tmp_path / "kept.ozx", keep_unproven=True, sync=False)
    assert result.lost == ()
    assert result.lost_chunks_count == 1


def test_the_bytes_of_another_shard_are_not_taken_for_this_one(tmp_path):
    """Two shards of which the bytes are exchanged: all of each is proven, and both headers give another CRC-32."""
    path = make(tmp_path, [BytesCodec(), Crc32cCodec()])
    reader, data = ArchiveReader(os.fspath(path)), bytearray(path.read_bytes())
    first, second = (reader.data_offset(reader.find(key)) for key in (KEY, "0/c/1/0"))
    size = span(path)[1]
    data[first : first + size], data[second : second + size] = data[second : second + size], data[first : first + size]
    path.write_bytes(bytes(data))
    result = recover(path, tmp_path / "out.ozx", sync=False)
    assert {entry.name for entry in result.lost} == {KEY, "0/c/1/0"}
    assert result.lost_chunks == ()


def test_without_a_directory_the_keys_are_unconfirmed(tmp_path):
    path = make(tmp_path, CHECKSUMS["crc32c"])
    spans, end = inner_spans(path), ArchiveReader(os.fspath(path)).end.directory_offset
    flip(path, spans[2][0] + 3)
    path.write_bytes(path.read_bytes()[:end])
    result = recover(path, tmp_path / "out.ozx", sync=False)
    assert result.unconfirmed == result.entries
    assert [chunk.chunk for chunk in result.lost_chunks] == [(0, 6)]


@pytest.mark.parametrize("codec", ["gzip", "crc32c"])
def test_a_single_chunk_that_is_proven_by_its_own_checksum(tmp_path, codec):
    """Damage what the checksum of gzip does not cover, or the CRC-32 in the one header that is left."""
    root = zarr.create_group(tmp_path / "a.zarr", attributes={"ome": {"version": "0.5"}})
    compressors = GzipCodec() if codec == "gzip" else Crc32cCodec()
    root.create_array("0", shape=(4, 4), chunks=(4, 4), dtype="uint16", compressors=compressors)[:] = PIXELS[:4, :4]
    path = pack_tree(tmp_path / "a.zarr", tmp_path / "a.ozx")
    reader = ArchiveReader(os.fspath(path))
    start = reader.data_offset(reader.find("0/c/0/0"))
    if codec == "gzip":
        flip(path, start + 4)  # the time
    else:
        flip(path, int(reader.columns.header_offsets[reader.find("0/c/0/0")]) + 14)
        path.write_bytes(path.read_bytes()[: reader.end.directory_offset])
    result = recover(path, tmp_path / "out.ozx", sync=False)
    assert result.lost == ()
    assert not result.complete
    np.testing.assert_array_equal(read(tmp_path / "out.ozx"), PIXELS[:4, :4])


def test_a_gzip_chunk_that_inflates_beyond_its_size_is_not_proven(tmp_path):
    make(tmp_path, CHECKSUMS["gzip"])
    layout = parse_layout(json.loads((tmp_path / "a.zarr" / "0" / "zarr.json").read_bytes()), "0")
    assert prove_chunk(gzip.compress(bytes(32)), layout) == "content"
    assert prove_chunk(gzip.compress(bytes(33)), layout) == "wrong"
