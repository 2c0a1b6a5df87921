"""JSON as Python takes it, and what other programs would say to it."""

import json

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.json.reading import parse_strictly


def faults_of(text):
    return parse_strictly(text.encode(), "zarr.json")[1]


def test_plain_json_has_no_faults():
    text = '{"a": [1, -0.5, 1e308, "\\ud83d\\udd2c", "µm", {"a": null}], "b": {"a": true}}'
    document, faults = parse_strictly(text.encode(), "zarr.json")
    assert document == json.loads(text)
    assert not faults


def test_names_that_stand_twice_are_told_once_each():
    assert faults_of('{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "a": 2}').duplicates == ["c", "a"]


def test_words_and_numbers_that_json_does_not_have():
    faults = faults_of('{"a": [NaN, Infinity, -Infinity, 1e999, -1e999, 1e308]}')
    assert faults.specials == ["NaN", "Infinity", "-Infinity"]
    assert faults.huge == ["1e999", "-1e999"]


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
    assert faults_of(text).has_lone_surrogate == is_lone


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b'{"a":' * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_sane_document_is_refused(data):
    with pytest.raises(FormatError, match=r"^zarr\.json: expected ") as caught:
        parse_strictly(data, "zarr.json")
    assert caught.value.rule == "zarr/json"


def test_a_depth_that_only_some_versions_of_python_bear():
    data = b'{"a": "\\ud83d", "b": ' + b'{"a":' * 990 + b"1" + b"}" * 991
    is_refused = is_lone = False
    try:
        is_lone = parse_strictly(data, "zarr.json")[1].has_lone_surrogate
    except FormatError as error:
        is_refused = error.rule == "zarr/json"
    assert is_refused or is_lone
