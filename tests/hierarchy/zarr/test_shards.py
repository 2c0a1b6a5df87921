"""The index of a shard, byte by byte."""

import struct

import google_crc32c
import pytest

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.layout import IndexFormat, index_size, parse_index, parse_index_format

EMPTY = (1 << 64) - 1
LITTLE, BIG, PLAIN = (
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "bytes", "configuration": {"endian": "big"}},
    {"name": "bytes"},
)


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
