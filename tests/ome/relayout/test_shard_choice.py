"""How large shards and chunks become, the documents of arrays that are compressed otherwise, and the options for it."""

import math

import pytest
from cases.archive_builder import array_document
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import UnsupportedError, UsageError
from ozx.ome.relayout.shard_choice import (
    LARGEST_SHARD,
    MOST_ENTRIES,
    CodecChoice,
    ShardArray,
    choose_chunks,
    choose_shards,
    parse_codec_choice,
    parse_shard_policy,
    transcoded_document,
)
from ozx.zarr.array import ChunkKeys
from ozx.zarr.layout import ArrayLayout, IndexFormat, parse_layout

AUTO = "auto"


def layout(shape, chunks, names=None, *, shards=None, item_size=2):
    levels = ()
    if shards is not None:
        per_shard = tuple(whole // part for whole, part in zip(shards, chunks, strict=True))
        levels = ((per_shard, IndexFormat()),)
    names = tuple(names) if names else (None,) * len(shape)
    return ArrayLayout(shape, chunks, levels, (), ChunkKeys(), item_size, names)


def choose(shape, chunks, names=None, policy=AUTO, axes=(), **others):
    return choose_shards({"0": ShardArray(layout(shape, chunks, names, **others), axes)}, policy)["0"]


def asked(**lengths):
    return lengths


@pytest.mark.parametrize(
    ("shape", "chunks", "names", "expected"),
    [
        ((4, 3, 60, 2048, 2048), (1, 1, 1, 512, 512), "tczyx", (1, 1, 60, 2048, 2048)),
        ((4, 3, 200, 2048, 2048), (1, 1, 1, 512, 512), "tczyx", (1, 1, 50, 2048, 2048)),
        ((4, 3, 60, 2048, 2048), (1, 3, 1, 512, 512), "tczyx", (1, 3, 20, 2048, 2048)),
        ((100, 100), (32, 64), "yx", (128, 128)),
        ((100, 100), (100, 100), "yx", None),
        ((100, 100), (128, 128), "yx", None),
        ((0, 100), (32, 64), "yx", (32, 128)),
        ((100_000, 100_000), (1024, 1024), "yx", (2048, 100_352)),
        ((8, 8), (1, 1), "tc", None),
        ((), (), "", None),
        ((3, 40_000, 40_000), (3, 20_000, 20_000), "cyx", None),
    ],
)
def test_auto(shape, chunks, names, expected):
    assert choose(shape, chunks, names) == expected


def test_shards_reach_across_times_where_there_would_be_too_many():
    arrays = {
        "long": ShardArray(layout((100_000, 64, 64), (1, 32, 32), "tyx")),
        "short": ShardArray(layout((4, 64, 64), (1, 32, 32), "tyx")),
    }
    chosen = choose_shards(arrays, AUTO)
    counts = [math.prod(-(-n // m) for n, m in zip((100_000, 64, 64), chosen["long"], strict=True))]
    assert sum(counts) < MOST_ENTRIES
    assert choose_shards({"short": arrays["short"]}, AUTO) == {"short": (1, 64, 64)}


def test_what_is_sharded_stays_unless_it_is_too_large():
    assert choose((100, 100), (10, 10), shards=(20, 50)) == (20, 50)
    assert choose((1 << 20, 1 << 20), (1024, 1024), shards=(1 << 15, 1 << 16)) == (1 << 10, 1 << 18)


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 1 << 10)), min_size=1, max_size=5),
    st.sampled_from([1, 2, 4, 8, 16, None]),
)
def test_auto_keeps_its_promises(dimensions, item_size):
    shape, chunks = zip(*dimensions, strict=True)
    shards = choose(shape, chunks, "tczyx"[-len(shape) :], item_size=item_size)
    if shards is None:
        return
    assert all(shard % chunk == 0 for shard, chunk in zip(shards, chunks, strict=True))
    assert all(s - c < n or s == c for s, c, n in zip(shards, chunks, shape, strict=True))
    assert math.prod(shards) * (item_size or 1) <= 512 << 20
    assert math.prod(shards) // math.prod(chunks) <= 16_384


@pytest.mark.parametrize(
    ("lengths", "message", "hint"),
    [
        ({"y": 50}, "a multiple of the chunk's length along y, 32; got 50", "The nearest are 32 and 64."),
        ({"y": 5}, "got 5", "The nearest is 32."),
        ({"z": 5}, "unknown axis 'z'; the axes are y, x", None),
        ({"0": 32}, "unknown axis '0'; the axes are y, x", None),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(lengths, message, hint):
    with pytest.raises(UsageError) as caught:
        choose((100, 100), (32, 32), "yx", lengths)
    assert message in str(caught.value)
    assert caught.value.hint == hint


def test_shards_that_readers_would_drop_are_refused():
    with pytest.raises(UsageError, match="at most 2,147,483,648 bytes"):
        choose((1 << 16, 1 << 16), (1024, 1024), "yx", asked(y=1 << 16, x=1 << 14))
    assert LARGEST_SHARD == 2 << 30


@pytest.mark.parametrize("text", ["", "x", "x=", "x=0", "x=-1", "x=1.5", "x=1,x=2", "x=1,,y=2", "AUTO", "=5"])
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="expected auto, keep, none"):
        parse_shard_policy(text)


# Chunks and codecs.

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
