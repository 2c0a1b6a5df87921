"""The sources of bytes: a file and memory give the same, and know when they changed."""

import os
import pickle

import pytest
from counting_source import CountingSource

from ozx.archive.byte_source import FileSource, MemorySource, read_exactly
from ozx.errors import FormatError

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


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    return path


def test_a_file_has_changed_when_its_size_or_its_time_differ(path):
    for change in (lambda: path.write_bytes(DATA + b"x"), lambda: os.utime(path, ns=(5, 5))):
        source = FileSource(str(path))
        source.check_unchanged()  # never used: nothing to compare with
        size = source.size()
        source.check_unchanged()
        change()
        assert source.size() == size
        with pytest.raises(FormatError, match="changed while it was read") as caught:
            source.check_unchanged()
        assert (caught.value.rule, caught.value.path) == ("zip/changed", str(path))
        source.close()


def test_a_pickled_file_remembers_what_it_looked_like(path):
    source = FileSource(str(path))
    source.size()
    pickled = pickle.dumps(source)
    path.write_bytes(b"other")
    copy = pickle.loads(pickled)
    assert copy.size() == len(DATA)
    with pytest.raises(FormatError, match="changed"):
        copy.check_unchanged()
