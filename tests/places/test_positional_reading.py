"""Reading at a position: with the POSIX calls and without them, from threads."""

import errno
import os
import random
import sys

import pytest

from ozx.errors import FormatError
from ozx.places import positional_reading
from ozx.places.positional_reading import PositionalFile, open_for_reading, vector_reader

DATA = random.Random(0).randbytes(100_000)


@pytest.fixture(params=["posix", "portable"], autouse=True)
def calls(request, monkeypatch):
    """With the POSIX calls, where there are any, and without."""
    if request.param == "portable":
        for name in ("pread", "preadv", "readv"):
            monkeypatch.delattr(os, name, raising=False)
    return request.param


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    return str(path)


@pytest.mark.parametrize("offset", [1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64])
def test_where_no_file_can_reach_there_is_nothing(path, offset):
    """Offsets in hostile archives are of 64 bits; those of the system have a sign."""
    file, buffer = PositionalFile(path), bytearray(4)
    assert file.read_at(offset, 30) == b""
    assert file.read_into_at(memoryview(buffer), offset) == 0


def test_reads_that_bring_less_than_asked_for_are_continued(path, calls, monkeypatch):
    if calls == "posix" and hasattr(os, "pread"):
        pread, preadv = os.pread, os.preadv
        monkeypatch.setattr(os, "pread", lambda file, length, offset: pread(file, min(length, 7), offset))
        monkeypatch.setattr(os, "preadv", lambda file, buffers, offset: preadv(file, [buffers[0][:7]], offset))
    file = PositionalFile(path)
    assert file.read_at(10, 100) == DATA[10:110]
    assert file.read_at(99_950, 100) == DATA[99_950:]
    for offset, length in [(10, 100), (99_950, 50)]:
        buffer = bytearray(100)
        assert file.read_into_at(memoryview(buffer), offset) == length
        assert buffer[:length] == DATA[offset : offset + length]


@pytest.mark.parametrize("most", [None, 1, 7, 64])
def test_several_buffers_are_filled_one_after_the_other(path, calls, most, monkeypatch):
    if most and calls == "posix" and hasattr(os, "preadv"):
        preadv = os.preadv

        def read_less(file, buffers, offset):
            data = bytearray(most)
            count = min(preadv(file, [data], offset), sum(map(len, buffers)))
            rest = data[:count]
            for buffer in buffers:
                taken, rest = rest[: len(buffer)], rest[len(buffer) :]
                buffer[: len(taken)] = taken
            return count

        monkeypatch.setattr(os, "preadv", read_less)
    buffer = bytearray(100)
    views = [memoryview(buffer)[start:end] for start, end in [(0, 50), (50, 54), (54, 99), (99, 100)]]
    file = PositionalFile(path)
    for offset, length in [(10, 100), (99_960, 40), (99_948, 52), (100_000, 0), (1 << 62, 0)]:
        assert file.read_vectors_at(views, offset) == length
        assert buffer[:length] == DATA[offset : offset + length]


def test_no_read_is_longer_than_the_system_takes(path, calls, monkeypatch):
    def refuse(length):
        if length > 1000:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(positional_reading, "MOST_AT_ONCE", 1000)
    if calls == "posix" and hasattr(os, "pread"):
        pread, preadv = os.pread, os.preadv
        monkeypatch.setattr(os, "pread", lambda file, length, at: refuse(length) or pread(file, length, at))
        monkeypatch.setattr(os, "preadv", lambda file, into, at: refuse(len(into[0])) or preadv(file, into, at))
    file, buffer = PositionalFile(path), bytearray(2500)
    assert file.read_at(10, 2500) == DATA[10:2510]
    assert file.read_into_at(memoryview(buffer), 10) == 2500
    assert buffer == DATA[10:2510]


def test_a_descriptor_is_read_from_its_own_position(path):
    read_into = vector_reader()
    descriptor = open_for_reading(path)
    try:
        buffer = bytearray(60_000)
        assert read_into(descriptor, [memoryview(buffer)]) == 60_000
        assert buffer == DATA[:60_000]
        assert read_into(descriptor, [memoryview(buffer)[:30_000], memoryview(buffer)[30_000:]]) in (30_000, 40_000)
        os.lseek(descriptor, 90_000, os.SEEK_SET)
        assert read_into(descriptor, [memoryview(buffer)]) == 10_000
        assert buffer[:10_000] == DATA[90_000:]
        assert read_into(descriptor, [memoryview(buffer)]) == 0
    finally:
        os.close(descriptor)


def test_nothing_is_opened_before_the_first_read(tmp_path):
    file = PositionalFile(str(tmp_path / "later"))
    with pytest.raises(FileNotFoundError):
        file.read_at(0, 1)
    (tmp_path / "later").write_bytes(b"here")
    assert file.read_at(0, 4) == b"here"
    assert file.fstat().st_size == 4


def test_a_file_that_another_thread_closes_meanwhile_has_a_descriptor_all_the_same(path):
    file = PositionalFile(path)

    class ClosingMeanwhile:
        def __enter__(self):
            pass

        def __exit__(self, *_):
            file._descriptor, file.kept = None, file._descriptor

    file._opening = ClosingMeanwhile()
    assert file.descriptor() == file.kept
    os.close(file.kept)


def test_a_directory_is_refused(tmp_path):
    file = PositionalFile(str(tmp_path))
    with pytest.raises(FormatError, match="expected a regular file; found a directory"):
        file.read_at(0, 1)
    if sys.platform == "linux":
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        assert str(tmp_path) not in [os.readlink(link) for link in links if os.path.lexists(link)]


@pytest.mark.posix("the system has no named pipes")
def test_a_named_pipe_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    file = PositionalFile(str(tmp_path / "pipe"))
    with pytest.raises(FormatError, match="found a device, pipe or socket") as caught:
        file.read_at(0, 1)
    assert caught.value.rule == "zip/special-file"
    with pytest.raises(FormatError):
        file.fstat()


def test_of_two_threads_that_open_at_once_one_opens(path):
    file = PositionalFile(path)

    class Lock:
        """Another thread was faster."""

        def __enter__(self):
            file._descriptor = open_for_reading(path)

        def __exit__(self, *_):
            pass

    file._opening = Lock()
    assert file.fstat().st_size == 100_000
    assert file.read_at(0, 3) == DATA[:3]
