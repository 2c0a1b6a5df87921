"""Metadata documents as JSON: what is written is what any reader of JSON takes."""

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.json.reading import dump_document


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
