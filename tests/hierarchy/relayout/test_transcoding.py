"""Documents of arrays that are cut or compressed otherwise, and the options that ask for it."""

import pytest
from cases.archive_builder import array_document, sharding

from ozx.errors import UnsupportedError, UsageError
from ozx.hierarchy.relayout.shard_choice import (
    CodecChoice,
    ShardArray,
    choose_chunks,
    needs_transcoding,
    parse_chunk_lengths,
    parse_codec_choice,
    transcoded_document,
)
from ozx.hierarchy.zarr.layout import parse_layout

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [1, 0]}}


def document(codecs=(BYTES,), *, shape=(100, 90), chunks=(32, 30), data_type="uint16", names=("y", "x")):
    fields = {"data_type": data_type, "attributes": {"kept": True}, "dimension_names": list(names)}
    return array_document(shape, chunks, codecs, **fields)


def names(transcoded):
    return [codec["name"] for codec in transcoded["codecs"]]


@pytest.mark.parametrize(
    ("text", "name", "configuration"),
    [
        ("zstd", "zstd", {"level": 3, "checksum": False}),
        ("zstd:-5", "zstd", {"level": -5, "checksum": False}),
        ("gzip", "gzip", {"level": 6}),
        (" gzip:0 ", "gzip", {"level": 0}),
        ("blosc-lz4", "blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}),
        ("blosc-zstd:1", "blosc", {"cname": "zstd", "clevel": 1, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}),
        ("blosc-zlib:9", "blosc", {"cname": "zlib", "clevel": 9, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}),
    ],
)  # fmt: skip
def test_spellings_of_codecs(text, name, configuration):
    assert parse_codec_choice(text).codecs(2) == [{"name": name, "configuration": configuration}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lzma", "none, zstd, gzip, blosc-lz4, blosc-lz4hc, blosc-blosclz, blosc-zstd, blosc-zlib"),
        ("blosc", "blosc-lz4"),
        ("blosc-snappy", "blosc-lz4"),
        ("zstd:", "got 'zstd:'"),
        ("zstd:fast", "got 'zstd:fast'"),
        ("", "got ''"),
        (3, "got 3"),
        ("none:1", "no level after"),
        ("zstd:23", "a level of zstd from -131072 to 22; got 23"),
        ("gzip:10", "a level of gzip from 0 to 9; got 10"),
        ("gzip:-1", "from 0 to 9"),
        ("blosc-lz4:10", "a level of blosc-lz4 from 0 to 9; got 10"),
    ],
)
def test_codecs_that_are_not_understood(text, message):
    with pytest.raises(UsageError) as failed:
        parse_codec_choice(text)
    assert message in str(failed.value)


def test_lengths_of_chunks():
    assert parse_chunk_lengths("y=64,x=32") == {"y": 64, "x": 32}
    with pytest.raises(UsageError, match="as in y=512,x=512; got '64'"):
        parse_chunk_lengths("64")
    with pytest.raises(UsageError, match="as in y=512,x=512; got 512"):
        parse_chunk_lengths(512)


def choose(lengths, *documents):
    arrays = {str(number): ShardArray(parse_layout(each, "")) for number, each in enumerate(documents)}
    return choose_chunks(arrays, lengths)


def test_chunks_are_no_longer_than_their_arrays():
    image = document(shape=(3, 100, 90), chunks=(1, 32, 30), names=("c", "y", "x"))
    label = document(shape=(100, 90))
    assert choose({"c": 2, "y": 512, "x": 64}, image, label) == {"0": (2, 100, 64), "1": (100, 64)}
    assert choose({"y": 512}, document(shape=(0, 90))) == {"0": (1, 30)}
    assert choose({"y": 8}, document(), document(shape=(), chunks=(), names=()))["1"] == ()
    with pytest.raises(UsageError, match="unknown axis 'z'"):
        choose({"z": 8}, image, label)


def test_chunks_of_2_gib_are_refused():
    large = document(shape=(1 << 20, 1 << 20))
    assert choose({"y": 1 << 15, "x": (1 << 15) - 1}, large)["0"] == (1 << 15, (1 << 15) - 1)
    with pytest.raises(UsageError, match="less than 2 GiB; 32768×32768 pixels are 2,147,483,648 bytes"):
        choose({"y": 1 << 15, "x": 1 << 15}, large)
    kept = document(shape=(1 << 20, 1 << 20), chunks=(1 << 15, 1 << 15))
    assert choose({"y": 1 << 15}, kept)["0"] == (1 << 15, 1 << 15)


@pytest.mark.parametrize(
    ("codecs", "expected"),
    [
        ([BYTES], ["bytes", "zstd"]),
        (["bytes", "crc32c"], ["bytes", "zstd", "crc32c"]),
        ([BYTES, {"name": "blosc"}], ["bytes", "zstd"]),
        ([TRANSPOSE, BYTES, {"name": "gzip"}, "crc32c"], ["transpose", "bytes", "zstd", "crc32c"]),
        (["vlen-utf8", {"name": "gzip"}], ["vlen-utf8", "zstd"]),
        ([{"name": "numcodecs.delta"}, TRANSPOSE, BYTES], ["transpose", "bytes", "zstd"]),
        ([{"name": "numcodecs.zfpy"}], ["bytes", "zstd"]),
        ([BYTES, {"name": "numcodecs.bz2"}, {"name": "example", "must_understand": False}], ["bytes", "zstd"]),
        ([sharding([8, 10], [BYTES, {"name": "gzip"}])], ["bytes", "zstd"]),
        ([sharding([8, 10], [BYTES, {"name": "gzip"}]), "crc32c"], ["bytes", "zstd"]),
    ],
)
def test_a_codec_takes_the_place_of_those_there_are(codecs, expected):
    transcoded = transcoded_document(document(codecs), codec=CodecChoice("zstd", 3))
    assert names(transcoded) == expected
    assert transcoded["attributes"] == {"kept": True}
    assert names(transcoded_document(document(codecs), codec=CodecChoice("none"))) == [
        name for name in expected if name != "zstd"
    ]


def test_the_byte_order_stays():
    big = {"name": "bytes", "configuration": {"endian": "big"}}
    assert transcoded_document(document([big]), codec=CodecChoice("none"))["codecs"] == [big]
    lossy = {"name": "numcodecs.zfpy"}
    assert transcoded_document(document([lossy]), codec=CodecChoice("none"))["codecs"] == [BYTES]
    assert transcoded_document(document([lossy], data_type="uint8"), codec=CodecChoice("none"))["codecs"] == [
        {"name": "bytes"}
    ]


def test_a_chain_that_makes_no_bytes_is_not_touched():
    with pytest.raises(UnsupportedError, match=r"found example\.foo"):
        transcoded_document(document(["example.foo"]), codec=CodecChoice("none"))


def test_shards_go_around_what_is_cut():
    layout = parse_layout(
        transcoded_document(document(), chunks=(10, 10), codec=CodecChoice("zstd"), shards=(50, 90)), ""
    )
    assert (layout.chunks, layout.shards) == ((10, 10), (50, 90))
    with pytest.raises(UsageError, match="multiple of the chunk 10×10"):
        transcoded_document(document(), chunks=(10, 10), shards=(32, 30))


def test_what_needs_transcoding():
    before = document(["bytes", ZSTD], data_type="uint8")
    assert not needs_transcoding(
        before, transcoded_document(before, chunks=(32, 30), codec=parse_codec_choice("zstd:3"))
    )
    assert needs_transcoding(before, transcoded_document(before, codec=parse_codec_choice("zstd:4")))
    assert needs_transcoding(before, transcoded_document(before, chunks=(32, 15)))
