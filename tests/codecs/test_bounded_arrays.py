"""Arrays whose chunks do not decode beyond their size: every place a compressor may stand in, Zarr v2 and v3."""

import gzip
import json
import pickle
import warnings

import google_crc32c
import msgpack
import numcodecs
import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

from ozx.codecs.bounded import OversizeError, UndecodableChunkError
from ozx.codecs.bounded_arrays import bound_array
from ozx.codecs.bounded_filters import bounded_filters

PIXELS = np.arange(64 * 64, dtype="u2").reshape(64, 64)
BOMB = bytes(4 << 20)


def numcodecs_codec(name, **configuration):
    return {"name": f"numcodecs.{name}", "configuration": configuration}


V3 = {
    "no compressor": {"compressors": None},
    "gzip": {"compressors": GzipCodec()},
    "zstd": {"compressors": ZstdCodec()},
    "blosc": {"compressors": BloscCodec()},
    "gzip, crc32c": {"compressors": [GzipCodec(), Crc32cCodec()]},
    "crc32c, gzip": {"compressors": [Crc32cCodec(), GzipCodec()]},
    "gzip, zstd": {"compressors": [GzipCodec(), ZstdCodec()]},
    "transpose": {"filters": [TransposeCodec(order=(1, 0))], "compressors": ZstdCodec()},
    "shards": {"compressors": ZstdCodec(), "shards": (32, 32)},
    "shards, gzip, crc32c": {"compressors": [GzipCodec(), Crc32cCodec()], "shards": (32, 32)},
    "numcodecs.lz4": {"compressors": numcodecs_codec("lz4", acceleration=1)},
    "numcodecs.zlib": {"compressors": numcodecs_codec("zlib", level=1)},
    "numcodecs.bz2": {"compressors": numcodecs_codec("bz2", level=1)},
    "numcodecs.lzma": {"compressors": numcodecs_codec("lzma", format=1, check=-1, preset=0, filters=None)},
    "numcodecs.shuffle": {"compressors": [numcodecs_codec("shuffle", elementsize=2), ZstdCodec()]},
    "numcodecs.delta": {"filters": [numcodecs_codec("delta", dtype="<u2")], "compressors": ZstdCodec()},
}
V2 = {
    "no compressor": {"compressors": None},
    "zlib": {"compressors": numcodecs.Zlib()},
    "bz2": {"compressors": numcodecs.BZ2()},
    "lzma": {"compressors": numcodecs.LZMA()},
    "lz4": {"compressors": numcodecs.LZ4()},
    "blosc": {"compressors": numcodecs.Blosc()},
    "delta": {"filters": [numcodecs.Delta("<u2", astype="<i4")], "compressors": numcodecs.GZip()},
    "shuffle, checksum": {"filters": [numcodecs.Shuffle(2), numcodecs.CRC32()], "compressors": numcodecs.Zstd()},
    "compressor as a filter": {"filters": [numcodecs.GZip(), numcodecs.Zstd()], "compressors": numcodecs.LZ4()},
    "scale": {"filters": [numcodecs.FixedScaleOffset(0, 1, "<u2", "<u4")], "compressors": numcodecs.BZ2()},
}


def write(store, zarr_format, options, **more):
    chunks = (16, 16)
    with warnings.catch_warnings(action="ignore"):
        array = zarr.create_array(
            store, name="0", shape=PIXELS.shape, chunks=chunks, dtype="u2", zarr_format=zarr_format, **options, **more
        )
        array[...] = PIXELS
        return zarr.open_array(store, path="0", mode="r", zarr_format=zarr_format)


@pytest.mark.parametrize(
    ("zarr_format", "options"),
    [*((3, each) for each in V3.values()), *((2, each) for each in V2.values())],
    ids=[*(f"v3 {name}" for name in V3), *(f"v2 {name}" for name in V2)],
)
def test_what_is_sound_is_read_as_before(zarr_format, options):
    array = bound_array(write({}, zarr_format, options))
    assert np.array_equal(array[...], PIXELS)
    assert np.array_equal(array[3:40:5, 60:], PIXELS[3:40:5, 60:])
    assert int(array[5, 7]) == PIXELS[5, 7]


def key_of(array):
    return array.metadata.encode_chunk_key((0, 0))


def bomb_for(array):
    """What decodes to 4 MiB by the codecs of an array, for its first chunk."""
    data = BOMB
    if array.metadata.zarr_format == 2:
        for codec in (*(array.metadata.filters or ()), array.metadata.compressor):
            if codec is not None and codec.codec_id not in ("delta", "shuffle", "fixedscaleoffset"):
                data = bytes(np.ascontiguousarray(codec.encode(data)).view("u1").data)
        return data
    for codec in array.metadata.codecs[1:]:
        name = codec.to_dict()["name"].removeprefix("numcodecs.")
        if name == "crc32c":
            data += checksum(data)
        elif name in ("gzip", "zstd", "blosc", "lz4", "zlib", "bz2", "lzma"):
            data = bytes(numcodecs.get_codec({"id": name}).encode(data))
    return data


def checksum(data):
    return google_crc32c.value(data).to_bytes(4, "little")


def compressed(table):
    return {name: options for name, options in table.items() if name != "no compressor" and "shards" not in name}


@pytest.mark.parametrize(
    ("zarr_format", "options"),
    [*((3, each) for each in compressed(V3).values()), *((2, each) for each in compressed(V2).values())],
    ids=[*(f"v3 {name}" for name in compressed(V3)), *(f"v2 {name}" for name in compressed(V2))],
)
def test_a_bomb_is_refused_by_the_key_of_its_chunk(zarr_format, options):
    store = {}
    array = write(store, zarr_format, options)
    store[f"0/{key_of(array)}"] = default_buffer_prototype().buffer.from_bytes(bomb_for(array))
    with pytest.raises(UndecodableChunkError, match=r"expected at most [0-9,]+ bytes; the data") as caught:
        bound_array(array)[...]
    assert caught.value.key == f"0/{key_of(array)}"


def test_a_bomb_in_a_shard_is_refused(tmp_path):
    # Two inner chunks: the first is a bomb, the second past it is sound.
    array = write(LocalStore(tmp_path), 3, {"compressors": GzipCodec(), "shards": (32, 32)})
    shard = bytearray((tmp_path / "0/c/0/0").read_bytes())
    index = np.frombuffer(shard[-68:-4], "<u8").copy()
    bomb = gzip.compress(BOMB, 1)
    index[:2] = len(shard) - 68, len(bomb)
    (tmp_path / "0/c/0/0").write_bytes(bytes(shard[:-68]) + bomb + index.tobytes() + checksum(index.tobytes()))
    with pytest.raises(UndecodableChunkError, match=r"0/c/0/0: .*: inner chunk \[0, 0\]: expected at most 512 bytes"):
        bound_array(array)[0:2, 0:2]
    assert np.array_equal(bound_array(array)[16:, 0:16], PIXELS[16:, 0:16])


def test_a_stored_value_that_is_too_long_is_not_read(tmp_path):
    array = write(LocalStore(tmp_path), 3, {"compressors": None})
    with open(tmp_path / "0/c/0/0", "r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(UndecodableChunkError, match="it has 1,099,511,627,776"):
        bound_array(array)[0, 0]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_texts_count_what_the_chunk_counts(zarr_format):
    store = {}
    options = {"compressors": None}
    with warnings.catch_warnings(action="ignore"):
        array = zarr.create_array(
            store, name="0", shape=(4,), chunks=(4,), dtype=str, zarr_format=zarr_format, **options
        )
        array[...] = np.array(["nucleus", "", "Zellkern", "核"])
    assert bound_array(array)[...].tolist() == ["nucleus", "", "Zellkern", "核"]
    key = "0/0" if zarr_format == 2 else "0/c/0"
    store[key] = default_buffer_prototype().buffer.from_bytes(b"\xff\xff\xff\x7f" + bytes(40))
    with pytest.raises(UndecodableChunkError, match="4 values in the chunk; its header declares 2,147,483,647"):
        bound_array(array)[...]


@pytest.mark.parametrize("codec", [numcodecs.JSON(), numcodecs.MsgPack()], ids=["json2", "msgpack2"])
def test_lists_of_objects_have_the_shape_of_the_chunk(codec):
    (bounded,), _ = bounded_filters([codec], None, np.dtype("O"), 3)
    values = np.array(["a", "b", "c"], dtype=object)
    assert bounded.decode(codec.encode(values)).tolist() == ["a", "b", "c"]
    encode = msgpack.packb if codec.codec_id == "msgpack2" else lambda items: json.dumps(items).encode()
    with pytest.raises(OversizeError, match="declares the shape"):
        bounded.decode(encode(["a", "|O", [1 << 36]]))


def test_the_error_of_a_chunk_goes_to_other_processes():
    error = pickle.loads(pickle.dumps(UndecodableChunkError("0/c/1", "too much")))
    assert (error.key, error.reason) == ("0/c/1", "too much")
    assert str(error) == "0/c/1: the chunk cannot be decoded: too much"


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chain_of_compressors_has_the_limit_of_one(zarr_format):
    # Twice as much for each of twenty would be a terabyte.
    store = {}
    if zarr_format == 3:
        array = write(store, 3, {"compressors": [GzipCodec()] * 20})
    else:
        array = write(store, 2, {"filters": [numcodecs.GZip()] * 19, "compressors": numcodecs.GZip()})
    assert np.array_equal(bound_array(array)[...], PIXELS)
    bomb = default_buffer_prototype().buffer.from_bytes(gzip.compress(BOMB))
    store[f"0/{key_of(array)}"] = bomb
    with pytest.raises(UndecodableChunkError, match=r"expected at most 1,04[0-9],[0-9]+ bytes; the data"):
        bound_array(array)[...]


def test_filters_make_no_texts_of_numbers():
    wide = {"encode_dtype": "<u2", "decode_dtype": "<U100000"}
    store = {}
    array = write(store, 3, {"filters": [numcodecs_codec("delta", dtype="<u2")], "compressors": None})
    document = json.loads(store["0/zarr.json"].to_bytes())
    document["codecs"][0] = numcodecs_codec("astype", **wide)
    store["0/zarr.json"] = default_buffer_prototype().buffer.from_bytes(json.dumps(document).encode())
    with warnings.catch_warnings(action="ignore"):
        array = zarr.open_array(store, path="0", mode="r")
    with pytest.raises(UndecodableChunkError, match="items of at most 16 bytes; a filter makes items of 400,000"):
        bound_array(array)[...]
    (bounded,), _ = bounded_filters([numcodecs.AsType(**wide)], None, np.dtype("u2"), 4)
    with pytest.raises(OversizeError, match="items of at most 16 bytes"):
        bounded.decode(bytes(8))
