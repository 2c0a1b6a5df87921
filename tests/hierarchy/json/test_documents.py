"""Metadata documents as JSON: what is written is what any reader of JSON takes."""

import json

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.json.reading import dump_document, parse_document


@pytest.mark.parametrize("value", [1.0, 1, 2**100, 1e-7, "\ud800", "µ", None, {"a": [True, {}]}])
def test_what_is_written_reads_the_same(value):
    data = dump_document({"a": value})
    assert data.isascii()
    assert json.dumps(parse_document(data, "zarr.json")) == json.dumps({"a": value})


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
