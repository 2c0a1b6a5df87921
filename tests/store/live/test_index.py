"""The index of a file that grows: whole lines only, in any pieces, after any damage."""

import json
import os

import pytest

from ozx.store.growing_file import Slot
from ozx.store.live.index import IndexWriter, index_of

ARRAY = json.dumps({"node_type": "array", "shape": [1, 8, 8]}).encode()


@pytest.fixture
def partial(tmp_path):
    path = tmp_path / "a.ozx.partial"
    path.write_bytes(b"")
    return str(path)


def begin(partial):
    descriptor = os.open(partial, os.O_RDWR)
    try:
        return IndexWriter(partial, partial.removesuffix(".partial"), descriptor)
    finally:
        os.close(descriptor)


def slot(number):
    return Slot(b"0/c", 0, number, 10, 100 * number, 40)


def fill(writer, count=20):
    writer.show({"zarr.json": b"{}", "0/zarr.json": ARRAY})
    for number in range(count):
        writer.add_value(f"0/c/{number}/ä\udc80\n", slot(number))
        writer.resize({"0": (number + 1, 8, 8)})


@pytest.mark.posix("needs file locks")
def test_after_an_error_no_line_follows(partial, monkeypatch):
    """A missing line would let readers take a value for an empty one."""
    writer = begin(partial)
    real, calls = os.write, []

    def fails_once(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, "write", fails_once)
    fill(writer)
    monkeypatch.undo()
    assert len(calls) == 3
    with open(index_of(partial), encoding="ascii") as index:
        assert len(index.readlines()) == 3
    writer.close("finished")
    assert not os.path.exists(index_of(partial))


def test_systems_without_locks_have_no_index(partial, monkeypatch):
    monkeypatch.setattr("ozx.store.live.index.has_locks", lambda: False)
    writer = begin(partial)
    fill(writer)
    assert not os.path.exists(index_of(partial))
    writer.close("finished")
