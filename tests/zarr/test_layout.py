"""How arrays are laid out, how they are laid out anew, and the index of a shard, byte by byte."""

import struct

import google_crc32c
import pytest
from cases.archive_builder import array_document, sharding

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.zarr.layout import IndexFormat, index_size, parse_index, parse_index_format, parse_layout, relayout_document

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}


def array(codecs=(LITTLE,), shape=(100, 200), chunks=(32, 64), **others):
    fields = {"data_type": "uint16", "attributes": {"a": 1.0}, "dimension_names": ["y", "x"]} | others
    return array_document(shape, chunks, codecs, **fields)


def test_codecs_are_written_as_every_reader_takes_them():
    new = relayout_document(array(["bytes", {**ZSTD, "must_understand": True}], data_type="uint8"), (64, 64))
    assert new["codecs"][0]["configuration"]["codecs"] == [{"name": "bytes"}, ZSTD]


@pytest.mark.parametrize("shards", [(32,), (0, 64), (48, 64), (32, 64, 1), ()])
def test_shards_are_whole_chunks(shards):
    with pytest.raises(UsageError, match="32×64"):
        relayout_document(array(), shards)


def test_a_0_d_array_is_not_sharded():
    document = array(shape=(), chunks=(), dimension_names=[])
    assert parse_layout(document, "0").grid == ()
    assert relayout_document(document, None) == document
    with pytest.raises(UsageError):
        relayout_document(document, ())


@pytest.mark.parametrize(
    "document",
    [
        array(shape=[-1, 2]),
        array(chunks=[0, 1]),
        array(chunks=[1]),
        array(codecs=[]),
        array(codecs=[5]),
        array(codecs=[sharding((0, 1))]),
        array(codecs=[sharding((5, 64))]),
        array(codecs=[sharding((32,))]),
        array(codecs=[sharding((8, 16), [])]),
        array(chunk_key_encoding=None),
    ],
    ids=range(10),
)
def test_malformed_layouts_are_refused(document):
    with pytest.raises((FormatError, UnsupportedError), match=r"0: (expected|ozx does not support)"):
        parse_layout(document, "0")


def test_more_chunks_than_can_be_counted_are_refused():
    with pytest.raises(UnsupportedError, match="fewer than"):
        parse_layout(array(shape=(1 << 62, 1 << 62), chunks=(1, 1)), "0")


def test_more_dimensions_than_can_be_counted_in_are_refused():
    with pytest.raises(UnsupportedError, match="at most 32 dimensions"):
        parse_layout(array(shape=[1] * 33, chunks=[1] * 33), "0")


def test_only_a_regular_grid_has_a_layout_whatever_else_is_understood():
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [8, 64], "chunk_shape": [8, 64]}}
    with pytest.raises(UnsupportedError, match="0: ozx does not support the chunk grid 'rectilinear'"):
        parse_layout(array(chunk_grid=grid), "0", lambda point, value: True)


@pytest.mark.parametrize(
    "changes",
    [
        {"storage_transformers": []},
        {"extensions": [{"name": "example.statistics", "must_understand": False}]},
        {"cache": {"must_understand": False}},
        {"codecs": [LITTLE, {"name": "example.hint", "must_understand": False}]},
        {"data_type": "r24"},
        {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}},
    ],
    ids=range(6),
)
def test_what_may_be_ignored_is_no_hindrance(changes):
    parse_layout(array() | changes, "0")


EMPTY = (1 << 64) - 1
BIG, PLAIN = {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "bytes"}


def raw(*pairs, order="<", checksum=True):
    data = b"".join(struct.pack(f"{order}2Q", *pair) for pair in pairs)
    return data + google_crc32c.value(data).to_bytes(4, "little") if checksum else data


def test_chunks_may_leave_gaps_but_neither_overlap_nor_reach_into_the_index():
    size = 10 + index_size(2)
    assert parse_index(raw((6, 4), (0, 3)), (2,), size, "s").lengths.tolist() == [4, 3]
    with pytest.raises(FormatError, match="overlap"):
        parse_index(raw((0, 10), (0, 10)), (2,), size, "s")
    with pytest.raises(FormatError, match=r"inner chunk \(0,\) within bytes 36 to 46"):
        parse_index(raw((0, 10), (EMPTY, EMPTY)), (2,), size, "s", IndexFormat("start"))


@pytest.mark.parametrize(
    "codecs",
    [
        [],
        None,
        "bytes",
        [PLAIN],
        ["bytes"],
        [LITTLE, {"name": "zstd"}],
        [LITTLE, "crc32c", "crc32c"],
        ["crc32c", LITTLE],
    ],
    ids=str,
)
def test_other_index_codecs_are_refused(codecs):
    with pytest.raises(UnsupportedError, match="index_codecs"):
        parse_index_format({"index_codecs": codecs}, "0")


def test_index_formats_are_read():
    assert parse_index_format({"index_codecs": [LITTLE, "crc32c"], "index_location": "start"}, "0") == IndexFormat(
        "start"
    )
    assert parse_index_format({"index_codecs": [BIG]}, "0") == IndexFormat("end", "big", has_checksum=False)
    with pytest.raises(FormatError, match="index_location"):
        parse_index_format({"index_codecs": [LITTLE], "index_location": "middle"}, "0")
