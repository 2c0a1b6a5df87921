"""Metadata documents as JSON: limits of memory, what other programs would say to them, and what is written."""

import json

import pytest

from ozx.errors import FormatError
from ozx.zarr.json_reading import (
    LONGEST_DOCUMENT,
    LongDocuments,
    check_document,
    check_value_length,
    dump_document,
    parse_document,
    parse_strictly,
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


def faults_of(text):
    return parse_strictly(text.encode(), "zarr.json")[1]


def test_plain_json_has_no_faults():
    text = '{"a": [1, -0.5, 1e308, "\\ud83d\\udd2c", "µm", {"a": null}], "b": {"a": true}}'
    document, faults = parse_strictly(text.encode(), "zarr.json")
    assert document == json.loads(text)
    assert not faults


def test_names_that_stand_twice_and_words_that_json_does_not_have_are_told_once_each():
    faults = faults_of('{"a": [NaN, Infinity, -Infinity, 1e999, -1e999, 1e308], "b": {"c": 1, "c": 2, "c": 3}, "a": 2}')
    assert faults == {"names": ["c", "a"], "words": ["NaN", "Infinity", "-Infinity"], "numbers": ["1e999", "-1e999"]}


@pytest.mark.parametrize(
    ("text", "is_lone"),
    [
        ('{"a": "\\ud83d"}', True),
        ('{"\\udc00": 1}', True),
        ('{"a": "\\ud83d\\udd2c"}', False),
        ('{"a": "\\uD83D\\uDD2C"}', False),
        ('{"a": "\\\\ud83d"}', False),
        ('{"a": "\\ud7ff"}', False),
    ],
)
def test_lone_surrogates(text, is_lone):
    assert ("surrogates" in faults_of(text)) == is_lone


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"\xff", b"\xef\xbb\xbf{}", b'{"a":' * 100_000, b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_what_is_no_sane_document_is_refused(data):
    with pytest.raises(FormatError, match=r"^zarr\.json: expected ") as caught:
        parse_strictly(data, "zarr.json")
    assert caught.value.rule == "zarr/json"


def test_a_depth_that_only_some_versions_of_python_bear():
    data = b'{"a": "\\ud83d", "b": ' + b'{"a":' * 990 + b"1" + b"}" * 991
    is_refused = is_lone = False
    try:
        is_lone = "surrogates" in parse_strictly(data, "zarr.json")[1]
    except FormatError as error:
        is_refused = error.rule == "zarr/json"
    assert is_refused or is_lone


def test_no_bare_words_are_written():
    with pytest.raises(FormatError, match="JSON") as caught:
        dump_document({"a": float("nan")})
    assert caught.value.rule == "zarr/json"


def test_nested_too_deep():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(FormatError, match="depth"):
        dump_document({"a": deep})
