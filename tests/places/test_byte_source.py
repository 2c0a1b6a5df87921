"""The sources of bytes: a file and memory give the same, and know when they changed."""

import os
import pickle

import pytest
from counting_source import CountingSource

from ozx.errors import FormatError
from ozx.places.byte_source import FileSource, MemorySource, read_exactly

DATA = bytes(range(256)) * 40


@pytest.fixture(params=["file", "file-portable", "memory"])
def source(request, tmp_path, monkeypatch):
    if request.param == "memory":
        return MemorySource(DATA)
    if request.param == "file-portable":
        for name in ("pread", "preadv"):
            monkeypatch.delattr(os, name, raising=False)
    (tmp_path / "data").write_bytes(DATA)
    return FileSource(str(tmp_path / "data"))


def test_a_pickled_source_gives_the_same(source):
    copy = pickle.loads(pickle.dumps(source))
    assert (copy.name, copy.size(), copy.read_at(100, 9)) == (source.name, source.size(), source.read_at(100, 9))


def test_a_declared_length_takes_no_memory_before_it_was_compared_with_what_is_there():
    source = CountingSource(DATA)
    with pytest.raises(FormatError):
        read_exactly(source, 0, 1 << 50, "an entry")
    assert source.reads == []


def test_a_source_that_shrank_meanwhile_is_told_of():
    source = CountingSource(DATA)
    source.size = lambda: len(DATA) + 10
    with pytest.raises(FormatError, match="an entry: expected 20 bytes at 10,230, got 10; the file shrank") as caught:
        read_exactly(source, 10_230, 20, "an entry")
    assert caught.value.rule == "zip/changed"
