"""Writing at a position: with `os.pwrite` and without it."""

import os

import pytest

from ozx.places.positional_writing import write_all_at, write_parts_at


@pytest.fixture(params=["posix", "portable"], autouse=True)
def calls(request, monkeypatch):
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


def test_writes_that_take_less_than_given_are_continued(descriptor, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
    if hasattr(os, "pwrite"):
        pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda file, data, offset: pwrite(file, data[:3], offset))
    write_all_at(descriptor, b"0123456789", 2)
    assert content(descriptor) == b"\0\x000123456789"


@pytest.mark.parametrize("most", [1, 3, 4, 5, 11, 12])
def test_parts_of_which_the_system_writes_only_some(descriptor, monkeypatch, most):
    def write_some(file, parts, offset):
        os.lseek(file, offset, os.SEEK_SET)
        return os.write(file, b"".join(parts)[:most])

    monkeypatch.setattr(os, "pwritev", write_some, raising=False)
    write_parts_at(descriptor, [b"abc", b"", b"defg", b"hijkl"], 2)
    assert content(descriptor)[2:] == b"abcdefghijkl"
