"""The index of a shard, byte by byte."""

import struct

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.layout import IndexFormat, build_index, index_size, parse_index, parse_index_format

EMPTY = (1 << 64) - 1
LITTLE, BIG, PLAIN = (
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "bytes", "configuration": {"endian": "big"}},
    {"name": "bytes"},
)


def raw(*pairs, order="<", checksum=True):
    data = b"".join(struct.pack(f"{order}2Q", *pair) for pair in pairs)
    return data + google_crc32c.value(data).to_bytes(4, "little") if checksum else data


def test_an_index_is_what_the_specification_says():
    data = build_index([0, 0, 7], [7, 0, 3])
    assert data == raw((0, 7), (EMPTY, EMPTY), (7, 3))
    assert len(data) == index_size(3) == 3 * 16 + 4


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_an_index_gives_back_what_it_was_built_from(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    data = build_index(offsets, lengths)
    index = parse_index(data, (len(lengths),), sum(lengths) + len(data), "a shard")
    assert index.lengths.tolist() == lengths
    assert [o for o, n in zip(index.offsets, lengths, strict=True) if n] == [
        o for o, n in zip(offsets, lengths, strict=True) if n
    ]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("location", ["start", "end"])
def test_all_forms_are_read(order, checksum, location):
    form = IndexFormat(location, "little" if order == "<" else "big", checksum)
    room = form.size(4)
    first = room if location == "start" else 0
    data = raw((first + 5, 2), (EMPTY, EMPTY), (first, 5), (EMPTY, EMPTY), order=order, checksum=checksum)
    index = parse_index(data, (2, 2), room + 7, "a shard", form)
    assert index.offsets.tolist() == [[first + 5, 0], [first, 0]]
    assert index.lengths.tolist() == [[2, 0], [5, 0]]
    assert form.offset(4, room + 7) == (0 if location == "start" else 7)


@pytest.mark.parametrize(
    "pair",
    [
        *[(0, 11), (11, 1), (10, 1), (1 << 63, 1), (EMPTY, 1), (1, EMPTY), (EMPTY - 1, 3), (EMPTY, 0), (0, 0), (5, 0)],
        *[(0, EMPTY - 5), ((1 << 64) - 5, 10)],
    ],
)
def test_a_chunk_that_is_not_in_the_shard_is_named(pair):
    with pytest.raises(FormatError, match=r"0/c/0: expected inner chunk \(0, 1\) within bytes 0 to 10") as caught:
        parse_index(raw((0, 1), pair), (1, 2), 10 + index_size(2), "0/c/0")
    assert f"{pair[0]:,}" in str(caught.value)


def test_chunks_may_leave_gaps_but_neither_overlap_nor_reach_into_the_index():
    size = 10 + index_size(2)
    assert parse_index(raw((6, 4), (0, 3)), (2,), size, "s").lengths.tolist() == [4, 3]
    with pytest.raises(FormatError, match="overlap"):
        parse_index(raw((0, 10), (0, 10)), (2,), size, "s")
    with pytest.raises(FormatError, match=r"inner chunk \(0,\) within bytes 36 to 46"):
        parse_index(raw((0, 10), (EMPTY, EMPTY)), (2,), size, "s", IndexFormat("start"))


def test_a_damaged_index_is_refused():
    data = bytearray(raw((0, 1)))
    data[0] ^= 1
    with pytest.raises(FormatError, match="CRC-32C"):
        parse_index(bytes(data), (1,), 1 + len(data), "s")


@pytest.mark.parametrize(("length", "size"), [(19, 30), (20, 19), (0, 0)])
def test_a_shard_too_short_for_its_index_is_refused(length, size):
    with pytest.raises(FormatError, match="with an index of 20 bytes"):
        parse_index(bytes(length), (1,), size, "s")


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
