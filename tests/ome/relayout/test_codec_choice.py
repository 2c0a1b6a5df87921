"""How large chunks become, the documents of arrays that are compressed otherwise, and the options for it."""

import pytest
from cases.archive_builder import array_document

from ozx.errors import UnsupportedError, UsageError
from ozx.ome.relayout.codec_choice import CodecChoice, choose_chunks, parse_codec_choice, transcoded_document
from ozx.ome.relayout.shard_choice import ShardArray
from ozx.zarr.layout import parse_layout

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def document(codecs=(BYTES,), *, shape=(100, 90), chunks=(32, 30), data_type="uint16", names=("y", "x")):
    fields = {"data_type": data_type, "attributes": {"kept": True}, "dimension_names": list(names)}
    return array_document(shape, chunks, codecs, **fields)


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


def cut(lengths, *documents):
    arrays = {str(number): ShardArray(parse_layout(each, "")) for number, each in enumerate(documents)}
    return choose_chunks(arrays, lengths)


def test_chunks_of_2_gib_are_refused():
    large = document(shape=(1 << 20, 1 << 20))
    assert cut({"y": 1 << 15, "x": (1 << 15) - 1}, large)["0"] == (1 << 15, (1 << 15) - 1)
    with pytest.raises(UsageError, match="less than 2 GiB; 32768×32768 pixels are 2,147,483,648 bytes"):
        cut({"y": 1 << 15, "x": 1 << 15}, large)
    kept = document(shape=(1 << 20, 1 << 20), chunks=(1 << 15, 1 << 15))
    assert cut({"y": 1 << 15}, kept)["0"] == (1 << 15, 1 << 15)


def test_a_chain_that_makes_no_bytes_is_not_touched():
    with pytest.raises(UnsupportedError, match=r"found example\.foo"):
        transcoded_document(document(["example.foo"]), codec=CodecChoice("none"))
