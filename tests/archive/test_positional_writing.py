"""Writing at a position: with `os.pwrite` and without it."""

import os

import pytest
from stores import pattern

from ozx.archive.positional_writing import write_all_at, write_parts_at


@pytest.fixture(params=["posix", "portable"], autouse=True)
def calls(request, monkeypatch):
    """With the POSIX call, where there is one, and without."""
    if request.param == "portable":
        monkeypatch.delattr(os, "pwrite", raising=False)


@pytest.fixture
def descriptor(tmp_path):
    descriptor = os.open(tmp_path / "new", os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
    yield descriptor
    os.close(descriptor)


def content(descriptor):
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 1 << 23)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_stand_where_they_were_to_go(descriptor, kind):
    write_all_at(descriptor, kind(b"second"), 6)
    write_all_at(descriptor, kind(b"first."), 0)
    write_all_at(descriptor, kind(b""), 3)
    write_all_at(descriptor, kind(b"third"), 14)
    assert content(descriptor) == b"first.second\0\0third"


def test_a_view_of_larger_items_is_written_as_bytes(descriptor):
    write_all_at(descriptor, memoryview(b"12345678").cast("I"), 0)
    assert content(descriptor) == b"12345678"


def test_writes_that_take_less_than_given_are_continued(descriptor, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
    if hasattr(os, "pwrite"):
        pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda file, data, offset: pwrite(file, data[:3], offset))
    write_all_at(descriptor, b"0123456789", 2)
    assert content(descriptor) == b"\0\x000123456789"


def test_a_failure_passes_through(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    descriptor = os.open(tmp_path / "old", os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="Bad file descriptor"):
            write_all_at(descriptor, b"new", 0)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("count", [1, 2, 1023, 1024, 1025, 3000])
def test_parts_follow_each_other(descriptor, count):
    parts = [bytes([number % 251]) * (number % 7) for number in range(count)]
    write_parts_at(descriptor, [memoryview(part) for part in parts], 5)
    assert content(descriptor)[5:] == b"".join(parts)


@pytest.mark.parametrize("most", [1, 3, 4, 5, 11, 12])
def test_parts_of_which_the_system_writes_only_some(descriptor, monkeypatch, most):
    def write_some(file, parts, offset):
        os.lseek(file, offset, os.SEEK_SET)
        return os.write(file, b"".join(parts)[:most])

    monkeypatch.setattr(os, "pwritev", write_some, raising=False)
    write_parts_at(descriptor, [b"abc", b"", b"defg", b"hijkl"], 2)
    assert content(descriptor)[2:] == b"abcdefghijkl"


@pytest.mark.parametrize("sizes", [[3_000_000], [30, 1_048_576, 1], [700_000, 348_576, 1, 1], [1_048_577, 0, 5]])
def test_a_system_call_writes_at_most_a_mebibyte(descriptor, monkeypatch, sizes):
    written = []

    def watched(call):
        def watch(*arguments):
            written.append(call(*arguments))
            return written[-1]

        return watch

    for name in ("pwrite", "pwritev"):
        if hasattr(os, name):
            monkeypatch.setattr(os, name, watched(getattr(os, name)))
    parts = [pattern(number, size) for number, size in enumerate(sizes)]
    write_parts_at(descriptor, parts, 7)
    assert content(descriptor)[7:] == b"".join(parts)
    assert all(count <= 1 << 20 for count in written)
