"""Bytes that wait to be written."""

import gc
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from ozx.flow.entry import open_spool, read_part


@pytest.fixture(autouse=True)
def no_memory(monkeypatch):
    monkeypatch.setattr("ozx.flow.entry._IN_MEMORY", 0)


def test_threads_read_at_the_same_time():
    keep = open_spool()
    values = [bytes([number]) * 3000 for number in range(64)]
    parts = [keep(value) for value in values]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read_part, parts * 4)) == values * 4


def open_below(folder):
    """Return the open files below a folder, removed ones too, where the system lists them."""
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")) if sys.platform == "linux" else ()
    return [link for link in links if os.path.lexists(link) and os.readlink(link).startswith(str(folder))]


def test_the_file_goes_with_the_last_part(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    part = open_spool()(b"still there")
    assert open_below(tmp_path) or sys.platform != "linux"
    assert read_part(part) == b"still there"
    del part
    gc.collect()
    assert not os.listdir(tmp_path)
    assert not open_below(tmp_path)
