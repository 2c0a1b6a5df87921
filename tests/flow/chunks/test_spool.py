"""Bytes that wait to be written."""

import gc
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from ozx.flow.chunks.spool import Spool
from ozx.flow.entry import BytesPart, read_part


@pytest.mark.parametrize("in_memory", [0, 10, 1 << 30])
def test_values_come_back_as_they_were(in_memory):
    spool = Spool(in_memory)
    values = [bytes([number]) * length for number, length in enumerate((3, 8, 0, (1 << 20) + 1, 5))]
    parts = []
    for value in values:
        parts.append(spool.add(value))
        assert read_part(parts[0]) == values[0]  # in between, too
    assert [read_part(part) for part in parts] == values
    assert [part.length for part in parts] == [len(value) for value in values]


def test_what_does_not_fit_into_memory_waits_in_a_file():
    spool = Spool(10)
    kinds = [isinstance(spool.add(bytes(size)), BytesPart) for size in (4, 7, 6, 1)]
    assert kinds == [True, False, True, False]


def test_threads_read_at_the_same_time():
    spool = Spool(0)
    values = [bytes([number]) * 3000 for number in range(64)]
    parts = [spool.add(value) for value in values]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read_part, parts * 4)) == values * 4


def open_below(folder):
    """Return the open files below a folder, removed ones too, where the system lists them."""
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")) if sys.platform == "linux" else ()
    return [link for link in links if os.path.lexists(link) and os.readlink(link).startswith(str(folder))]


def test_the_file_goes_with_the_last_part(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    part = Spool(0).add(b"still there")
    assert open_below(tmp_path) or sys.platform != "linux"
    assert read_part(part) == b"still there"
    del part
    gc.collect()
    assert not os.listdir(tmp_path)
    assert not open_below(tmp_path)
