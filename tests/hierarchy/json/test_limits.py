"""Metadata that would take too much memory: refused before they are read, or before they are parsed."""

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.json.reading import (
    LONGEST_DOCUMENT,
    LongDocuments,
    check_document,
    check_value_length,
    parse_document,
)


@pytest.mark.parametrize("key", ["zarr.json", "0/zarr.json", "0/.zarray", ".zattrs", ".zgroup", ".zmetadata"])
def test_what_is_metadata_goes_by_its_key(key):
    with pytest.raises(FormatError, match="at most"):
        check_value_length(LONGEST_DOCUMENT + 1, key)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a": [' + b"{}," * 1_100_000 + b"{}]}", "at most 1,200,000 values; found about 2,2"),
        (b'{"a": [' + b'"text",' * 2_000_000 + b"{}]}", "at most 1,200,000 values"),
        (b"{" + b",".join(b'"k%06d":0' % number for number in range(450_000)) + b"}", "400,000 different names"),
        (b'{"a": "' + "\U0001f52c".encode() + b"x" * (9 << 20) + b'"}', "bytes; found 37,"),
        (b'{"a": "' + "核".encode() + b"x" * (17 << 20) + b'"}', "bytes; found 35,"),
    ],
    ids=["objects", "texts", "names", "characters of four bytes", "characters of two bytes"],
)
def test_what_takes_much_memory_is_refused_before_it_is_parsed(data, found):
    with pytest.raises(FormatError, match=found):
        check_document(data, "zarr.json")


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": [' + b'{"name":0},' * 250_000 + b"{}]}",
        b'{"a": "' + b"x" * (30 << 20) + b'"}',
        b'{"a": "' + "µ".encode() + b"x" * (17 << 20) + b'"}',
    ],
    ids=["the same names", "a long text", "Latin"],
)
def test_what_is_only_long_is_parsed(data):
    assert list(parse_document(data, "zarr.json")) == ["a"]


def test_long_documents_are_counted_together():
    long = LongDocuments()
    for _ in range(3):  # each counts once
        long.check(20 << 20, "zarr.json")
    for number in range(100):
        long.check(1 << 20, f"{number}/zarr.json")
        long.check(40 << 20, f"{number}/c/0")
    long.check(12 << 20, "a/.zattrs")
    with pytest.raises(FormatError, match=r"b/zarr.json: expected metadata of at most .* in 3 documents") as caught:
        long.check(2 << 20, "b/zarr.json")
    assert caught.value.rule == "zarr/json"
    with pytest.raises(FormatError, match=r"c/.zarray: expected .* at most 33,554,432 bytes; found 33,554,433$"):
        long.check((32 << 20) + 1, "c/.zarray")
